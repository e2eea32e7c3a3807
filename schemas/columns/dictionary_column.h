// Codec kDictionary: the distinct values of a column once, and which of them each run of rows has. The layout stands in
// codec.h.
//
// Freestanding; encoding takes about 20 KiB of stack, decoding 12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/bit_writer.h"

namespace perfleet {

// A column with more distinct values takes another codec.
inline constexpr std::size_t kDictionaryValuesMax = 1024;

// Writes the column if it has few enough distinct values and takes no more than `size_bytes_max`. False: what was
// written is of no use. `values` isn't empty.
[[nodiscard]] bool write_dictionary_column(std::span<const std::uint64_t> values, std::size_t size_bytes_max,
                                           BitWriter& writer);

// Fills `values`, which isn't empty; see BitReader for faults.
void read_dictionary_column(BitReader& reader, std::span<std::uint64_t> values);

}  // namespace perfleet
