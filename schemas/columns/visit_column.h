// A column's values as they stand in its codec: some at a time, or as runs of one value, without an array of all.
//
// Freestanding. See codec.h for the codecs and for faults; what was visited before a fault is of no use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/bit_writer.h"
#include "schemas/columns/codec.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {

// Reads the column's chunks one after the other; see visit_column.
template <class OnValues, class OnRun>
class ColumnVisit {
public:
    ColumnVisit(std::span<const std::byte> bytes_untrusted, std::size_t value_count, const OnValues& on_values,
                const OnRun& on_run)
        : reader_{bytes_untrusted}, value_count_{value_count}, on_values_{on_values}, on_run_{on_run} {}

    void frame_of_reference() {
        for_each_chunk(value_count_, [&](std::span<std::uint64_t> values) { read_frame(values); });
    }

    void delta() {
        if (value_count_ == 0) {
            return;
        }
        std::uint64_t value = reader_.varint();
        on_run_(std::uint64_t{1}, value);
        for_each_chunk(value_count_ - 1, [&](std::span<std::uint64_t> values) {
            read_frame(values);
            for (auto& difference : values) {
                value += unzigzag(difference);
                difference = value;
            }
        });
    }

    void runs() {
        for (std::size_t done = 0; done < value_count_ && !reader_.failed();) {
            const std::uint64_t length = reader_.varint();
            const std::uint64_t value = reader_.varint();
            if (length == 0 || length > value_count_ - done) {
                reader_.fail(ErrorCode::kInvalid, length);
                return;
            }
            on_run_(length, value);
            done += length;
        }
    }

    void patched() {
        std::uint64_t previous = 0;
        for_each_chunk(value_count_,
                       [&](std::span<std::uint64_t> values) { read_patched_chunk(reader_, values, previous); });
    }

    void dictionary() {
        if (value_count_ == 0) {
            return;
        }
        DictionaryRuns runs{reader_, value_count_};
        while (runs.next()) {
            for (std::size_t i = 0; i < runs.indices().size(); ++i) {
                on_run_(runs.lengths()[i], runs.values()[runs.indices()[i]]);
            }
        }
    }

    [[nodiscard]] const BitReader& reader() const { return reader_; }

private:
    template <class Read>
    void for_each_chunk(std::size_t count, const Read& read) {
        for (std::size_t done = 0; done < count && !reader_.failed(); done += kPatchedChunkValues) {
            const std::size_t left = count - done;
            const auto values = std::span{chunk_}.first(left < kPatchedChunkValues ? left : kPatchedChunkValues);
            read(values);
            if (!reader_.failed()) {
                on_values_(std::span<const std::uint64_t>{values});
            }
        }
    }

    void read_frame(std::span<std::uint64_t> values) {
        const unsigned width = reader_.byte();
        const std::uint64_t minimum = reader_.varint();
        reader_.packed(width, values);
        for (auto& value : values) {
            value += minimum;
        }
    }

    BitReader reader_;
    std::size_t value_count_;
    const OnValues& on_values_;
    const OnRun& on_run_;
    std::array<std::uint64_t, kPatchedChunkValues> chunk_;
};

// Calls on_values(std::span<const std::uint64_t>) with at most 256 values at a time, or on_run(length, value) with as
// many equal ones, until all `value_count` were there: whichever the codec has. Faults as those of decode_integers.
template <class OnValues, class OnRun>
[[nodiscard]] Checked<Done> visit_column(Codec codec, std::span<const std::byte> bytes_untrusted,
                                         std::size_t value_count, const OnValues& on_values, const OnRun& on_run) {
    ColumnVisit column{bytes_untrusted, value_count, on_values, on_run};
    switch (codec) {
        case Codec::kFrameOfReference: column.frame_of_reference(); break;
        case Codec::kDelta: column.delta(); break;
        case Codec::kRuns: column.runs(); break;
        case Codec::kPatched: column.patched(); break;
        case Codec::kDictionary: column.dictionary(); break;
        default: return Fault{ErrorCode::kUnsupported, 0, static_cast<std::uint64_t>(codec)};
    }
    const BitReader& reader = column.reader();
    if (reader.failed()) {
        return reader.fault();
    }
    if (reader.left_bytes() != 0) {
        return Fault{ErrorCode::kInvalid, bytes_untrusted.size() - reader.left_bytes(), reader.left_bytes()};
    }
    return Done{};
}

}  // namespace perfleet
