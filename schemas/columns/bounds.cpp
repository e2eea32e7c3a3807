#include "schemas/columns/bounds.h"

#include <array>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/bit_writer.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {
namespace {

constexpr std::size_t kChunkValues = kPatchedChunkValues;

std::size_t next_chunk(std::size_t done, std::size_t count) {
    return count - done < kChunkValues ? count - done : kChunkValues;
}

void add(std::span<const std::uint64_t> values, ValueBounds& bounds) {
    std::uint64_t min = bounds.min;
    std::uint64_t max = bounds.max;
    for (const std::uint64_t value : values) {
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    bounds = {min, max};
}

class BoundsReader {
public:
    explicit BoundsReader(std::span<const std::byte> bytes_untrusted) : reader_{bytes_untrusted} {}

    [[nodiscard]] BitReader& reader() { return reader_; }
    [[nodiscard]] const ValueBounds& bounds() const { return bounds_; }

    void frame_of_reference(std::size_t count) {
        for (std::size_t done = 0; done < count && !reader_.failed(); done += kChunkValues) {
            const auto values = std::span{chunk_}.first(next_chunk(done, count));
            read_frame(values);
            add(values, bounds_);
        }
    }

    void delta(std::size_t count) {
        if (count == 0) {
            return;
        }
        std::uint64_t value = reader_.varint();
        bounds_ = {value, value};
        for (std::size_t done = 0; done < count - 1 && !reader_.failed(); done += kChunkValues) {
            const auto values = std::span{chunk_}.first(next_chunk(done, count - 1));
            read_frame(values);
            for (auto& difference : values) {
                value += unzigzag(difference);
                difference = value;
            }
            add(values, bounds_);
        }
    }

    void runs(std::size_t count) {
        for (std::size_t done = 0; done < count && !reader_.failed();) {
            const std::uint64_t length = reader_.varint();
            const std::uint64_t value = reader_.varint();
            if (length == 0 || length > count - done) {
                reader_.fail(ErrorCode::kInvalid, length);
                return;
            }
            add({&value, 1}, bounds_);
            done += length;
        }
    }

    void patched(std::size_t count) {
        std::uint64_t previous = 0;
        for (std::size_t done = 0; done < count && !reader_.failed(); done += kChunkValues) {
            const auto values = std::span{chunk_}.first(next_chunk(done, count));
            read_patched_chunk(reader_, values, previous);
            add(values, bounds_);
        }
    }

    void dictionary(std::size_t count) {
        if (count == 0) {
            return;
        }
        std::array<bool, kDictionaryValuesMax> used{};
        DictionaryRuns runs{reader_, count};
        while (runs.next()) {
            for (const std::uint64_t index : runs.indices()) {
                used[index] = true;
            }
        }
        for (std::size_t i = 0; i < runs.values().size(); ++i) {
            if (used[i]) {
                add(runs.values().subspan(i, 1), bounds_);
            }
        }
    }

private:
    void read_frame(std::span<std::uint64_t> values) {
        const unsigned width = reader_.byte();
        const std::uint64_t minimum = reader_.varint();
        reader_.packed(width, values);
        for (auto& value : values) {
            value += minimum;
        }
    }

    BitReader reader_;
    ValueBounds bounds_;
    std::array<std::uint64_t, kChunkValues> chunk_;
};

}  // namespace

Checked<ValueBounds> bounds_of_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                                        std::size_t value_count) {
    BoundsReader column{bytes_untrusted};
    switch (codec) {
        case Codec::kFrameOfReference: column.frame_of_reference(value_count); break;
        case Codec::kDelta: column.delta(value_count); break;
        case Codec::kRuns: column.runs(value_count); break;
        case Codec::kPatched: column.patched(value_count); break;
        case Codec::kDictionary: column.dictionary(value_count); break;
        default: return Fault{ErrorCode::kUnsupported, 0, static_cast<std::uint64_t>(codec)};
    }
    const BitReader& reader = column.reader();
    if (reader.failed()) {
        return reader.fault();
    }
    if (reader.left_bytes() != 0) {
        return Fault{ErrorCode::kInvalid, bytes_untrusted.size() - reader.left_bytes(), reader.left_bytes()};
    }
    return column.bounds();
}

}  // namespace perfleet
