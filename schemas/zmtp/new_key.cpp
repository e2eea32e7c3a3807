#include "schemas/zmtp/new_key.h"

#include <sodium.h>

#include <utility>

namespace perfleet {

Result<SecretKey> make_secret_key(std::string name) {
    if (sodium_init() < 0) {
        return Error{ErrorCode::kUnsupported, "can't make a key: the system gives no random numbers"};
    }
    PublicKey public_key;
    PublicKey secret_key;
    crypto_box_keypair(public_key.bytes.data(), secret_key.bytes.data());
    SecretKey key{std::move(name), encode_public_key(public_key), encode_public_key(secret_key)};
    sodium_memzero(secret_key.bytes.data(), secret_key.bytes.size());
    return key;
}

}  // namespace perfleet
