#include "schemas/columns/dictionary_column.h"

namespace perfleet {

DictionaryRuns::DictionaryRuns(BitReader& reader, std::size_t value_count)
    : reader_{reader}, value_count_{value_count} {
    const std::uint64_t distinct_count = reader_.varint();
    if (distinct_count == 0 || distinct_count > values_.size()) {
        reader_.fail(ErrorCode::kInvalid, distinct_count);
        return;
    }
    distinct_count_ = distinct_count;
    std::uint64_t previous_value = 0;
    for (std::size_t i = 0; i < distinct_count && !reader_.failed(); i += kPatchedChunkValues) {
        const std::size_t count = distinct_count - i < kPatchedChunkValues ? distinct_count - i : kPatchedChunkValues;
        read_patched_chunk(reader_, std::span{values_}.subspan(i, count), previous_value);
    }
    const std::uint64_t run_count = reader_.varint();
    if (run_count == 0 || run_count > value_count_) {
        reader_.fail(ErrorCode::kInvalid, run_count);
        return;
    }
    run_count_ = run_count;
    lengths_.fill(1);
}

bool DictionaryRuns::next() {
    count_ = 0;
    if (reader_.failed()) {
        return false;
    }
    if (run_ == run_count_) {
        if (done_ != value_count_) {
            reader_.fail(ErrorCode::kInvalid, done_);
        }
        return false;
    }
    const std::size_t count = run_count_ - run_ < kPatchedChunkValues ? run_count_ - run_ : kPatchedChunkValues;
    if (run_count_ != value_count_) {
        read_patched_chunk(reader_, std::span{lengths_}.first(count), previous_length_);
    }
    read_patched_chunk(reader_, std::span{indices_}.first(count), previous_index_);
    for (std::size_t i = 0; i < count && !reader_.failed(); ++i) {
        if (indices_[i] >= distinct_count_ || lengths_[i] == 0 || lengths_[i] > value_count_ - done_) {
            reader_.fail(ErrorCode::kInvalid, indices_[i] >= distinct_count_ ? indices_[i] : lengths_[i]);
            return false;
        }
        done_ += lengths_[i];
    }
    run_ += count;
    count_ = count;
    return !reader_.failed();
}

}  // namespace perfleet
