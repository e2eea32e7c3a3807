// Working memory of encoders. The caller supplies it, because small targets have no stack of that size.
//
//   differences | run lengths | indices: 256 words each, of one chunk
//   distinct values: a word each | their hash table: four 16-bit slots a word
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/bit_width.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {

// A column with more distinct values takes another codec than kDictionary.
inline constexpr std::size_t kDictionaryValuesMax = 1024;

// Distinct values of columns of at most `value_count` values. The workspace grows with `value_count`, up to 2,304
// words.
[[nodiscard]] constexpr std::size_t dictionary_values_max(std::size_t value_count) {
    return value_count < kDictionaryValuesMax ? value_count : kDictionaryValuesMax;
}
[[nodiscard]] constexpr std::size_t dictionary_slot_words(std::size_t value_count) {
    constexpr std::size_t kSlotsPerWord = 4;
    const std::size_t value_count_max = dictionary_values_max(value_count) < 2 ? 2 : dictionary_values_max(value_count);
    return (std::size_t{1} << bit_width(2 * value_count_max - 1)) / kSlotsPerWord;  // a power of two
}
[[nodiscard]] constexpr std::size_t encode_workspace_words(std::size_t value_count) {
    return 3 * kPatchedChunkValues + dictionary_values_max(value_count) + dictionary_slot_words(value_count);
}

static_assert(encode_workspace_words(kDictionaryValuesMax) == 2'304);

struct EncodeWorkspace {
    // `words`: encode_workspace_words(value_count) at least. Borrowed.
    EncodeWorkspace(std::span<std::uint64_t> words, std::size_t value_count)
        : differences{words.first<kPatchedChunkValues>()},
          lengths{words.subspan<kPatchedChunkValues, kPatchedChunkValues>()},
          indices{words.subspan<2 * kPatchedChunkValues, kPatchedChunkValues>()},
          distinct{words.subspan(3 * kPatchedChunkValues, dictionary_values_max(value_count))},
          slot_words{words.subspan(3 * kPatchedChunkValues + distinct.size(), dictionary_slot_words(value_count))} {}

    PatchedChunkBuffer differences;
    PatchedChunkBuffer lengths;
    PatchedChunkBuffer indices;
    std::span<std::uint64_t> distinct;
    std::span<std::uint64_t> slot_words;
};

}  // namespace perfleet
