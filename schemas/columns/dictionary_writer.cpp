#include "schemas/columns/bit_width.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {
namespace {

constexpr std::size_t kGiveUpStep = 256;  // runs

// Numbers distinct values in the order of their first occurrence.
class ValueNumbers {
public:
    static constexpr std::uint32_t kFull = ~0U;

    explicit ValueNumbers(const EncodeWorkspace& workspace)
        : values_{workspace.distinct}, slot_words_{workspace.slot_words} {
        for (std::uint64_t& word : slot_words_) {
            word = 0;
        }
    }

    // kFull: a new value for which there is no space.
    std::uint32_t number_of(std::uint64_t value) {
        std::size_t slot = (value * 0x9e37'79b9'7f4a'7c15ULL) >> hash_shift_;
        for (std::uint32_t number = at(slot); number != 0; number = at(slot)) {
            if (values_[number - 1] == value) {
                return number - 1;
            }
            slot = (slot + 1) % (slot_words_.size() * kSlotsPerWord);
        }
        if (count_ == values_.size()) {
            return kFull;
        }
        values_[count_++] = value;
        slot_words_[slot / kSlotsPerWord] |= std::uint64_t{count_} << slot % kSlotsPerWord * kSlotBits;
        return static_cast<std::uint32_t>(count_ - 1);
    }

    [[nodiscard]] std::span<const std::uint64_t> values() const { return values_.first(count_); }

private:
    static constexpr std::size_t kSlotBits = 16;
    static constexpr std::size_t kSlotsPerWord = 64 / kSlotBits;

    // The number + 1, or 0 if the slot is free.
    [[nodiscard]] std::uint32_t at(std::size_t slot) const {
        return static_cast<std::uint16_t>(slot_words_[slot / kSlotsPerWord] >> slot % kSlotsPerWord * kSlotBits);
    }

    std::span<std::uint64_t> values_;  // the first count_ are set
    std::span<std::uint64_t> slot_words_;
    unsigned hash_shift_ = 65U - bit_width(slot_words_.size() * kSlotsPerWord);
    std::size_t count_ = 0;
};

class BoundedChunks {
public:
    BoundedChunks(BitWriter& writer, std::size_t size_bytes_max, PatchedChunkBuffer differences)
        : writer_{writer}, left_bytes_{size_bytes_max}, differences_{differences} {}

    [[nodiscard]] bool varint(std::uint64_t value) {
        if (varint_size_bytes(value) > left_bytes_) {
            return false;
        }
        left_bytes_ -= varint_size_bytes(value);
        writer_.varint(value);
        return true;
    }

    [[nodiscard]] bool chunk(std::span<const std::uint64_t> values, std::uint64_t& previous) {
        const std::byte* const begin = writer_.at();
        if (!write_patched_chunk(values, previous, left_bytes_, differences_, writer_)) {
            return false;
        }
        left_bytes_ -= static_cast<std::size_t>(writer_.at() - begin);
        return true;
    }

private:
    BitWriter& writer_;
    std::size_t left_bytes_;
    PatchedChunkBuffer differences_;
};

std::size_t run_end(std::span<const std::uint64_t> values, std::size_t begin) {
    std::size_t end = begin + 1;
    while (end < values.size() && values[end] == values[begin]) {
        ++end;
    }
    return end;
}

}  // namespace

bool write_dictionary_column(std::span<const std::uint64_t> values, std::size_t size_bytes_max,
                             const EncodeWorkspace& workspace, BitWriter& writer) {
    ValueNumbers numbers{workspace};
    std::size_t run_count = 0;
    for (std::size_t begin = 0; begin < values.size(); begin = run_end(values, begin)) {
        if (numbers.number_of(values[begin]) == ValueNumbers::kFull) {
            return false;
        }
        ++run_count;
        if (run_count % kGiveUpStep == 0 && numbers.values().size() * 4 > run_count * 3) {
            return false;  // too many distinct values
        }
    }
    // Run lengths don't pay if most of them are 1.
    const bool has_lengths = run_count * 4 <= values.size() * 3;

    BoundedChunks out{writer, size_bytes_max, workspace.differences};
    const auto distinct = numbers.values();
    if (!out.varint(distinct.size())) {
        return false;
    }
    std::uint64_t previous_value = 0;
    for (std::size_t i = 0; i < distinct.size(); i += kPatchedChunkValues) {
        const std::size_t count = distinct.size() - i < kPatchedChunkValues ? distinct.size() - i : kPatchedChunkValues;
        if (!out.chunk(distinct.subspan(i, count), previous_value)) {
            return false;
        }
    }
    if (!out.varint(has_lengths ? run_count : values.size())) {
        return false;
    }
    const PatchedChunkBuffer lengths = workspace.lengths;
    const PatchedChunkBuffer indices = workspace.indices;
    std::uint64_t previous_length = 0;
    std::uint64_t previous_index = 0;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < values.size();) {
        const std::size_t end = has_lengths ? run_end(values, begin) : begin + 1;
        lengths[count] = end - begin;
        indices[count] = numbers.number_of(values[begin]);
        ++count;
        begin = end;
        if (count == kPatchedChunkValues || begin == values.size()) {
            if ((has_lengths && !out.chunk(lengths.first(count), previous_length)) ||
                !out.chunk(indices.first(count), previous_index)) {
                return false;
            }
            count = 0;
        }
    }
    return true;
}

}  // namespace perfleet
