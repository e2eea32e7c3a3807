#include "schemas/zmtp/token.h"

#include <sodium.h>

#include "schemas/text/hex.h"

namespace perfleet {

Result<std::string> make_token() {
    if (sodium_init() < 0) {
        return Error{ErrorCode::kUnsupported, "can't make a token: the system gives no random numbers"};
    }
    std::string bytes(TokenHash{}.size(), '\0');
    randombytes_buf(bytes.data(), bytes.size());
    return "perfleet_" + hex_of(bytes);
}

TokenHash hash_of_token(std::string_view token) {
    TokenHash hash{};
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(token.data()), token.size());
    return hash;
}

bool is_same_hash(const TokenHash& a, const TokenHash& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace perfleet
