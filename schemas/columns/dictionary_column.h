// Codec kDictionary: the distinct values of a column once, and which of them each run of rows has. The layout stands in
// codec.h.
//
// Freestanding; decoding takes 12 KiB of stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/bit_writer.h"
#include "schemas/columns/encode_workspace.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {

// Writes the column if it has few enough distinct values and takes no more than `size_bytes_max`. False: what was
// written is of no use. `values` isn't empty.
[[nodiscard]] bool write_dictionary_column(std::span<const std::uint64_t> values, std::size_t size_bytes_max,
                                           const EncodeWorkspace& workspace, BitWriter& writer);

// The runs of such a column of `value_count` values, which isn't 0, some at a time. See BitReader for faults.
class DictionaryRuns {
public:
    // Reads the distinct values. Borrows the reader.
    DictionaryRuns(BitReader& reader, std::size_t value_count);

    // Reads the next runs; false behind the last, and after a fault.
    [[nodiscard]] bool next();

    // Of the runs at hand: lengths from 1, which add up to no more than `value_count` over all of them, and indices
    // into values().
    [[nodiscard]] std::span<const std::uint64_t> lengths() const { return std::span{lengths_}.first(count_); }
    [[nodiscard]] std::span<const std::uint64_t> indices() const { return std::span{indices_}.first(count_); }
    [[nodiscard]] std::span<const std::uint64_t> values() const { return std::span{values_}.first(distinct_count_); }

private:
    BitReader& reader_;
    std::size_t value_count_;
    std::size_t done_ = 0;  // values of the runs so far
    std::size_t run_count_ = 0;
    std::size_t run_ = 0;    // of the next
    std::size_t count_ = 0;  // of runs at hand
    std::size_t distinct_count_ = 0;
    std::uint64_t previous_length_ = 0;
    std::uint64_t previous_index_ = 0;
    std::array<std::uint64_t, kDictionaryValuesMax> values_;
    std::array<std::uint64_t, kPatchedChunkValues> lengths_;
    std::array<std::uint64_t, kPatchedChunkValues> indices_;
};

}  // namespace perfleet
