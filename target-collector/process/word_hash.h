// A fast hash of 64-bit words, for tables in memory only: never sent, never stored.
#pragma once

#include <cstdint>

namespace perfleet {

// Both halves of the 128-bit product, folded: every input bit reaches every output bit.
[[nodiscard]] inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

[[nodiscard]] inline std::uint64_t hash_words(std::uint64_t a, std::uint64_t b) {
    return fold_multiply(a ^ 0x9e3779b97f4a7c15ULL, b ^ 0xd1b54a32d192ed03ULL);
}

}  // namespace perfleet
