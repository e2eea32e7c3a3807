// A fast hash of 64-bit words, for tables in memory: never travels, never stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

[[nodiscard]] inline std::uint64_t hash_words(std::span<const std::uint64_t> words, std::uint64_t seed) {
    std::uint64_t hash = seed ^ (words.size() * 0x9e3779b97f4a7c15ULL);
    std::size_t i = 0;
    for (; i + 2 <= words.size(); i += 2) {
        hash = fold_multiply(words[i] ^ hash, words[i + 1] ^ 0xd1b54a32d192ed03ULL);
    }
    if (i < words.size()) {
        hash = fold_multiply(words[i] ^ hash, 0xaef17502108ef2d9ULL);
    }
    return fold_multiply(hash ^ 0x9e3779b97f4a7c15ULL, 0xe7037ed1a0b428dbULL);
}

}  // namespace perfleet
