// Visits a column's values as the codec stores them: up to 256 at a time, or as runs of equal values, without an array
// of all of them.
//
// Freestanding. See codec.h for the codecs and for faults; values visited before a fault are invalid.
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

// Reads all `value_count` values of a column into a sink, in the form that the codec has. Faults as those of
// decode_integers. The sink has
//   std::span<std::uint64_t> room(std::size_t count)         space for the next values, at most 256
//   void values(std::span<const std::uint64_t> values)       these values are next
//   void run(std::uint64_t length, std::uint64_t value)      `length` equal values are next
// and may have
//   bool passes_over(std::uint64_t min, std::uint64_t max)   true: skip the next values, which are in [min, max]
template <class Sink>
class ColumnReader {
public:
    ColumnReader(std::span<const std::byte> bytes_untrusted, std::size_t value_count, Sink& sink)
        : reader_{bytes_untrusted}, size_bytes_{bytes_untrusted.size()}, value_count_{value_count}, sink_{sink} {}

    [[nodiscard]] Checked<Done> read(Codec codec) {
        switch (codec) {
            case Codec::kFrameOfReference: frame_of_reference(); break;
            case Codec::kDelta: delta(); break;
            case Codec::kRuns: runs(); break;
            case Codec::kPatched: patched(); break;
            case Codec::kDictionary: dictionary(); break;
            default: return Fault{ErrorCode::kUnsupported, 0, static_cast<std::uint64_t>(codec)};
        }
        if (reader_.failed()) {
            return reader_.fault();
        }
        if (reader_.left_bytes() != 0) {
            return Fault{ErrorCode::kInvalid, size_bytes_ - reader_.left_bytes(), reader_.left_bytes()};
        }
        return Done{};
    }

private:
    void frame_of_reference() {
        if constexpr (requires { sink_.passes_over(std::uint64_t{}, std::uint64_t{}); }) {
            for (std::size_t done = 0; done < value_count_ && !reader_.failed(); done += kPatchedChunkValues) {
                const std::size_t left = value_count_ - done;
                read_or_pass_frame(left < kPatchedChunkValues ? left : kPatchedChunkValues);
            }
        } else {
            for_each_chunk(value_count_, [&](std::span<std::uint64_t> values) { read_frame(values); });
        }
    }

    void read_or_pass_frame(std::size_t count) {
        const unsigned width = reader_.byte();
        const std::uint64_t minimum = reader_.varint();
        const std::uint64_t spread = width < 64 ? low_bits(width) : ~std::uint64_t{0};
        if (!reader_.failed() && minimum <= ~spread && sink_.passes_over(minimum, minimum + spread)) {
            reader_.pass_packed(width, count);
            return;
        }
        const std::span<std::uint64_t> values = sink_.room(count);
        read_packed(width, minimum, values);
        if (!reader_.failed()) {
            sink_.values(values);
        }
    }

    void delta() {
        if (value_count_ == 0) {
            return;
        }
        std::uint64_t value = reader_.varint();
        sink_.run(std::uint64_t{1}, value);
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
            sink_.run(length, value);
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
                sink_.run(runs.lengths()[i], runs.values()[runs.indices()[i]]);
            }
        }
    }

    template <class Read>
    void for_each_chunk(std::size_t count, const Read& read) {
        for (std::size_t done = 0; done < count && !reader_.failed(); done += kPatchedChunkValues) {
            const std::size_t left = count - done;
            const std::span<std::uint64_t> values = sink_.room(left < kPatchedChunkValues ? left : kPatchedChunkValues);
            read(values);
            if (!reader_.failed()) {
                sink_.values(values);
            }
        }
    }

    void read_frame(std::span<std::uint64_t> values) {
        const unsigned width = reader_.byte();
        const std::uint64_t minimum = reader_.varint();
        read_packed(width, minimum, values);
    }

    void read_packed(unsigned width, std::uint64_t minimum, std::span<std::uint64_t> values) {
        reader_.packed(width, values);
        for (auto& value : values) {
            value += minimum;
        }
    }

    BitReader reader_;
    std::size_t size_bytes_;
    std::size_t value_count_;
    Sink& sink_;
};

// Calls on_values(std::span<const std::uint64_t>) with at most 256 values at a
// time, or on_run(length, value) with as many equal ones: see ColumnReader.
template <class OnValues, class OnRun>
[[nodiscard]] Checked<Done> visit_column(Codec codec, std::span<const std::byte> bytes_untrusted,
                                         std::size_t value_count, const OnValues& on_values, const OnRun& on_run) {
    class Sink {
    public:
        Sink(const OnValues& on_values, const OnRun& on_run) : on_values_{on_values}, on_run_{on_run} {}

        std::span<std::uint64_t> room(std::size_t count) { return std::span{chunk_}.first(count); }
        void values(std::span<const std::uint64_t> values) { on_values_(values); }
        void run(std::uint64_t length, std::uint64_t value) { on_run_(length, value); }

    private:
        const OnValues& on_values_;
        const OnRun& on_run_;
        std::array<std::uint64_t, kPatchedChunkValues> chunk_;
    };
    Sink sink{on_values, on_run};
    return ColumnReader{bytes_untrusted, value_count, sink}.read(codec);
}

}  // namespace perfleet
