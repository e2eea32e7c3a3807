/* What of libsodium secret_box.cpp needs beside its portable sources as they are. Two functions are static in them, behind
   its choice of implementations, which would bring the tables of the base point. */
#include "crypto_onetimeauth/poly1305/donna/poly1305_donna.c"
#include "crypto_scalarmult/curve25519/ref10/x25519_ref10.c"

int crypto_onetimeauth_poly1305(unsigned char *out, const unsigned char *in, unsigned long long size,
                                const unsigned char *key) {
    return crypto_onetimeauth_poly1305_donna(out, in, size, key);
}

int crypto_scalarmult_curve25519(unsigned char *out, const unsigned char *secret, const unsigned char *point) {
    return crypto_scalarmult_curve25519_ref10(out, secret, point);
}

/* Linking needs it; only functions that nobody calls use it. */
int sodium_is_zero(const unsigned char *bytes, const size_t size) {
    volatile unsigned char all = 0;
    for (size_t i = 0; i < size; ++i) {
        all |= bytes[i];
    }
    return all == 0;
}

void sodium_memzero(void *bytes, size_t size) {
    volatile unsigned char *at = bytes;
    while (size-- > 0) {
        *at++ = 0;
    }
}
