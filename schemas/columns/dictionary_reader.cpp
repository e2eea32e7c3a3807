#include <array>

#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {

void read_dictionary_column(BitReader& reader, std::span<std::uint64_t> values) {
    std::array<std::uint64_t, kDictionaryValuesMax> distinct;
    const std::uint64_t distinct_count = reader.varint();
    if (distinct_count == 0 || distinct_count > distinct.size()) {
        reader.fail(ErrorCode::kInvalid, distinct_count);
        return;
    }
    std::uint64_t previous_value = 0;
    for (std::size_t i = 0; i < distinct_count && !reader.failed(); i += kPatchedChunkValues) {
        const std::size_t count = distinct_count - i < kPatchedChunkValues ? distinct_count - i : kPatchedChunkValues;
        read_patched_chunk(reader, std::span{distinct}.subspan(i, count), previous_value);
    }
    const std::uint64_t run_count = reader.varint();
    if (run_count == 0 || run_count > values.size()) {
        reader.fail(ErrorCode::kInvalid, run_count);
    }
    const bool has_lengths = run_count != values.size();
    std::array<std::uint64_t, kPatchedChunkValues> lengths;
    std::array<std::uint64_t, kPatchedChunkValues> indices;
    lengths.fill(1);
    std::uint64_t previous_length = 0;
    std::uint64_t previous_index = 0;
    std::size_t done = 0;
    for (std::size_t run = 0; run < run_count && !reader.failed(); run += kPatchedChunkValues) {
        const std::size_t count = run_count - run < kPatchedChunkValues ? run_count - run : kPatchedChunkValues;
        if (has_lengths) {
            read_patched_chunk(reader, std::span{lengths}.first(count), previous_length);
        }
        read_patched_chunk(reader, std::span{indices}.first(count), previous_index);
        if (reader.failed()) {
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (indices[i] >= distinct_count || lengths[i] == 0 || lengths[i] > values.size() - done) {
                reader.fail(ErrorCode::kInvalid, indices[i] >= distinct_count ? indices[i] : lengths[i]);
                return;
            }
            const std::uint64_t value = distinct[indices[i]];
            for (std::uint64_t left = lengths[i]; left > 0; --left) {
                values[done++] = value;
            }
        }
    }
    if (!reader.failed() && done != values.size()) {
        reader.fail(ErrorCode::kInvalid, done);
    }
}

}  // namespace perfleet
