// Codec kDictionary: stores each distinct value of a column once, and for each run of rows the index of its value.
// Layout: codec.h.
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

// Writes the column if it has few enough distinct values and takes at most `size_bytes_max`. False: the bytes written
// are invalid. `values` must not be empty.
[[nodiscard]] bool write_dictionary_column(std::span<const std::uint64_t> values, std::size_t size_bytes_max,
                                           const EncodeWorkspace& workspace, BitWriter& writer);

// Reads the runs of such a column of `value_count` values (not 0), a few at a time. See BitReader for faults.
class DictionaryRuns {
public:
    // Reads the distinct values. Borrows the reader.
    DictionaryRuns(BitReader& reader, std::size_t value_count);

    // Reads the next runs; false after the last, and after a fault.
    [[nodiscard]] bool next();

    // The current runs: lengths from 1, which sum to at most `value_count` over all runs, and indices into values().
    [[nodiscard]] std::span<const std::uint64_t> lengths() const { return std::span{lengths_}.first(count_); }
    [[nodiscard]] std::span<const std::uint64_t> indices() const { return std::span{indices_}.first(count_); }
    [[nodiscard]] std::span<const std::uint64_t> values() const { return std::span{values_}.first(distinct_count_); }

private:
    BitReader& reader_;
    std::size_t value_count_;
    std::size_t done_ = 0;  // values of the runs read so far
    std::size_t run_count_ = 0;
    std::size_t run_ = 0;    // index of the next run
    std::size_t count_ = 0;  // current runs
    std::size_t distinct_count_ = 0;
    std::uint64_t previous_length_ = 0;
    std::uint64_t previous_index_ = 0;
    std::array<std::uint64_t, kDictionaryValuesMax> values_;
    std::array<std::uint64_t, kPatchedChunkValues> lengths_;
    std::array<std::uint64_t, kPatchedChunkValues> indices_;
};

}  // namespace perfleet
