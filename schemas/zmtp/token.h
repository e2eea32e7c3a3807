// Bearer tokens: random words that their owner keeps, and their hashes, which servers keep.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

using TokenHash = std::array<unsigned char, 32>;  // SHA-256; tokens have 256 random bits, so it needs no salt

// "perfleet_" and 64 hexadecimal digits from the operating system. Errors: kUnsupported (no random numbers).
[[nodiscard]] Result<std::string> make_token();

[[nodiscard]] TokenHash hash_of_token(std::string_view token);

// The time that it takes doesn't depend on the hashes.
[[nodiscard]] bool is_same_hash(const TokenHash& a, const TokenHash& b);

}  // namespace perfleet
