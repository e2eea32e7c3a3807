#include "schemas/columns/codec.h"

#include <array>
#include <bit>
#include <cstring>

namespace perfleet {
namespace {

constexpr std::size_t kChunkValues = 256;
constexpr unsigned kVarintBytesMax = 10;
constexpr unsigned kWidthOfOneLoadMax = 57;  // with up to 7 bits before it

constexpr std::uint64_t zigzag(std::uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }

constexpr std::uint64_t unzigzag(std::uint64_t code) { return (code >> 1) ^ (0 - (code & 1)); }

constexpr std::size_t varint_size_bytes(std::uint64_t value) {
    return static_cast<std::size_t>(std::bit_width(value | 1) + 6) / 7;
}

constexpr std::size_t packed_size_bytes(std::size_t value_count, unsigned width) {
    return (value_count * width + 7) / 8;
}

constexpr std::uint64_t low_bits(unsigned width) { return width == 64 ? ~0ULL : (1ULL << width) - 1; }

// Appends to memory whose size was checked before.
class Writer {
public:
    explicit Writer(std::byte* at) : at_{at} {}

    void byte(std::uint8_t value) { *at_++ = static_cast<std::byte>(value); }

    void varint(std::uint64_t value) {
        while (value >= 0x80) {
            byte(static_cast<std::uint8_t>(value | 0x80));
            value >>= 7;
        }
        byte(static_cast<std::uint8_t>(value));
    }

    // Up to 64 bits a value, low bit first.
    template <class Next>
    void packed(std::size_t value_count, unsigned width, Next next) {
        std::uint64_t pending = 0;
        unsigned pending_bits = 0;
        for (std::size_t i = 0; i < value_count; ++i) {
            const std::uint64_t value = next(i);
            pending |= value << pending_bits;
            if (pending_bits + width >= 64) {
                store_u64(pending);
                const unsigned used = 64 - pending_bits;
                pending = used == 64 ? 0 : value >> used;
                pending_bits = pending_bits + width - 64;
            } else {
                pending_bits += width;
            }
        }
        for (; pending_bits > 0; pending_bits -= pending_bits < 8 ? pending_bits : 8) {
            byte(static_cast<std::uint8_t>(pending));
            pending >>= 8;
        }
    }

    [[nodiscard]] std::byte* at() const { return at_; }

private:
    void store_u64(std::uint64_t value) {
        if constexpr (std::endian::native == std::endian::little) {
            std::memcpy(at_, &value, 8);
            at_ += 8;
        } else {
            for (unsigned i = 0; i < 8; ++i) {
                byte(static_cast<std::uint8_t>(value >> (8 * i)));
            }
        }
    }

    std::byte* at_;
};

// Reads untrusted bytes; after a fault everything reads as zero.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_{bytes} {}

    std::uint8_t byte() {
        if (offset_ >= bytes_.size()) {
            fail(ErrorCode::kTruncated, 0);
            return 0;
        }
        return static_cast<std::uint8_t>(bytes_[offset_++]);
    }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < kVarintBytesMax; ++i) {
            const std::uint8_t part = byte();
            if (i == kVarintBytesMax - 1 && part > 1) {
                break;
            }
            value |= static_cast<std::uint64_t>(part & 0x7f) << (7 * i);
            if ((part & 0x80) == 0) {
                return value;
            }
        }
        fail(ErrorCode::kInvalid, value);
        return 0;
    }

    std::span<const std::byte> take(std::size_t size_bytes) {
        if (size_bytes > bytes_.size() - offset_) {
            fail(ErrorCode::kTruncated, size_bytes);
            return {};
        }
        const auto part = bytes_.subspan(offset_, size_bytes);
        offset_ += size_bytes;
        return part;
    }

    void fail(ErrorCode code, std::uint64_t value) {
        if (!failed_) {
            failed_ = true;
            fault_ = Fault{code, offset_, value};
        }
    }

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] Fault fault() const { return fault_; }
    [[nodiscard]] std::size_t left_bytes() const { return bytes_.size() - offset_; }

private:
    std::span<const std::byte> bytes_;
    std::size_t offset_ = 0;
    bool failed_ = false;
    Fault fault_{};
};

std::uint64_t load_u64(const std::byte* at) {
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&value, at, 8);
    } else {
        for (unsigned i = 0; i < 8; ++i) {
            value |= static_cast<std::uint64_t>(at[i]) << (8 * i);
        }
    }
    return value;
}

std::uint64_t load_bits(std::span<const std::byte> bytes, std::size_t bit, unsigned width) {
    const std::size_t first = bit / 8;
    const unsigned shift = bit % 8;
    if (first + 8 <= bytes.size()) {
        std::uint64_t value = load_u64(bytes.data() + first) >> shift;
        if (shift + width > 64) {
            value |= static_cast<std::uint64_t>(bytes[first + 8]) << (64 - shift);
        }
        return value & low_bits(width);
    }
    std::uint64_t value = 0;
    for (std::size_t i = first; i < bytes.size(); ++i) {
        value |= static_cast<std::uint64_t>(bytes[i]) << (8 * (i - first));
    }
    return (value >> shift) & low_bits(width);
}

// Frame of reference over values given by index, so that deltas need no second array.
template <class ValueAt>
struct FrameOfReference {
    std::size_t value_count;
    ValueAt value_at;

    struct Chunk {
        std::uint64_t minimum;
        unsigned width;
    };

    [[nodiscard]] Chunk chunk(std::size_t begin, std::size_t end) const {
        std::uint64_t minimum = value_at(begin);
        std::uint64_t maximum = minimum;
        for (std::size_t i = begin + 1; i < end; ++i) {
            const std::uint64_t value = value_at(i);
            minimum = value < minimum ? value : minimum;
            maximum = value > maximum ? value : maximum;
        }
        return {minimum, static_cast<unsigned>(std::bit_width(maximum - minimum))};
    }

    // Exact up to `enough`; past it anything greater, for then another codec is taken.
    [[nodiscard]] std::size_t size_bytes(std::size_t enough) const {
        std::size_t size = 0;
        for (std::size_t begin = 0; begin < value_count && size <= enough; begin += kChunkValues) {
            const std::size_t end = begin + kChunkValues < value_count ? begin + kChunkValues : value_count;
            const Chunk part = chunk(begin, end);
            size += 1 + varint_size_bytes(part.minimum) + packed_size_bytes(end - begin, part.width);
        }
        return size;
    }

    void write(Writer& writer) const {
        for (std::size_t begin = 0; begin < value_count; begin += kChunkValues) {
            const std::size_t end = begin + kChunkValues < value_count ? begin + kChunkValues : value_count;
            const Chunk part = chunk(begin, end);
            writer.byte(static_cast<std::uint8_t>(part.width));
            writer.varint(part.minimum);
            if (part.width > 0) {
                writer.packed(end - begin, part.width,
                              [&](std::size_t i) { return value_at(begin + i) - part.minimum; });
            }
        }
    }
};
template <class ValueAt>
FrameOfReference(std::size_t, ValueAt) -> FrameOfReference<ValueAt>;

void read_frame_of_reference(Reader& reader, std::span<std::uint64_t> values) {
    for (std::size_t begin = 0; begin < values.size() && !reader.failed(); begin += kChunkValues) {
        const std::size_t count = begin + kChunkValues < values.size() ? kChunkValues : values.size() - begin;
        const unsigned width = reader.byte();
        const std::uint64_t minimum = reader.varint();
        if (width > 64) {
            reader.fail(ErrorCode::kInvalid, width);
            return;
        }
        const auto packed = reader.take(packed_size_bytes(count, width));
        if (reader.failed()) {
            return;
        }
        const auto out = values.subspan(begin, count);
        if (width == 0) {
            for (auto& value : out) {
                value = minimum;
            }
            continue;
        }
        std::size_t bit = 0;
        std::size_t i = 0;
        if (width <= kWidthOfOneLoadMax) {
            // All but the last few values lie in the 8 bytes that begin with their first bit's.
            const std::uint64_t mask = low_bits(width);
            for (; i < count && bit / 8 + 8 <= packed.size(); ++i, bit += width) {
                out[i] = minimum + ((load_u64(packed.data() + bit / 8) >> (bit % 8)) & mask);
            }
        }
        for (; i < count; ++i, bit += width) {
            out[i] = minimum + load_bits(packed, bit, width);
        }
        if (bit % 8 != 0 && (static_cast<unsigned>(packed.back()) >> (bit % 8)) != 0) {
            reader.fail(ErrorCode::kInvalid, static_cast<std::uint64_t>(packed.back()));
        }
    }
}

struct Runs {
    std::span<const std::uint64_t> values;

    // Visits (length, value) of each run for as long as the visitor wants more.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t begin = 0; begin < values.size();) {
            std::size_t end = begin + 1;
            while (end < values.size() && values[end] == values[begin]) {
                ++end;
            }
            if (!visit(end - begin, values[begin])) {
                return;
            }
            begin = end;
        }
    }

    // As above.
    [[nodiscard]] std::size_t size_bytes(std::size_t enough) const {
        std::size_t size = 0;
        each([&](std::size_t length, std::uint64_t value) {
            size += varint_size_bytes(length) + varint_size_bytes(value);
            return size <= enough;
        });
        return size;
    }
};

void read_runs(Reader& reader, std::span<std::uint64_t> values) {
    std::size_t done = 0;
    while (done < values.size() && !reader.failed()) {
        const std::uint64_t length = reader.varint();
        const std::uint64_t value = reader.varint();
        if (length == 0 || length > values.size() - done) {
            reader.fail(ErrorCode::kInvalid, length);
            return;
        }
        for (std::uint64_t i = 0; i < length; ++i) {
            values[done++] = value;
        }
    }
}

}  // namespace

Checked<Encoded> encode_integers(std::span<const std::uint64_t> values, std::span<std::byte> out) {
    if (out.size() < encoded_size_bytes_max(values.size())) {
        return Fault{ErrorCode::kFull, out.size(), values.size()};
    }
    if (values.empty()) {
        return Encoded{Codec::kFrameOfReference, 0};
    }
    const FrameOfReference plain{values.size(), [&](std::size_t i) { return values[i]; }};
    const FrameOfReference delta{values.size() - 1, [&](std::size_t i) { return zigzag(values[i + 1] - values[i]); }};
    const Runs runs{values};
    // At equal size the first of plain, delta, runs is taken.
    const std::size_t plain_size = plain.size_bytes(encoded_size_bytes_max(values.size()));
    const std::size_t runs_size = runs.size_bytes(plain_size);
    const std::size_t least_size = plain_size < runs_size ? plain_size : runs_size;
    const std::size_t delta_size = varint_size_bytes(values[0]) + delta.size_bytes(least_size);

    Writer writer{out.data()};
    Codec codec = Codec::kFrameOfReference;
    if (plain_size <= delta_size && plain_size <= runs_size) {
        plain.write(writer);
    } else if (delta_size <= runs_size) {
        codec = Codec::kDelta;
        writer.varint(values[0]);
        delta.write(writer);
    } else {
        codec = Codec::kRuns;
        runs.each([&](std::size_t length, std::uint64_t value) {
            writer.varint(length);
            writer.varint(value);
            return true;
        });
    }
    return Encoded{codec, static_cast<std::size_t>(writer.at() - out.data())};
}

Checked<Done> decode_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                              std::span<std::uint64_t> values) {
    Reader reader{bytes_untrusted};
    switch (codec) {
        case Codec::kFrameOfReference: read_frame_of_reference(reader, values); break;
        case Codec::kDelta: {
            if (values.empty()) {
                break;
            }
            std::uint64_t value = reader.varint();
            read_frame_of_reference(reader, values.subspan(1));
            values[0] = value;
            for (auto& difference : values.subspan(1)) {
                value += unzigzag(difference);
                difference = value;
            }
            break;
        }
        case Codec::kRuns: read_runs(reader, values); break;
        default: return Fault{ErrorCode::kUnsupported, 0, static_cast<std::uint64_t>(codec)};
    }
    if (reader.failed()) {
        return reader.fault();
    }
    if (reader.left_bytes() != 0) {
        return Fault{ErrorCode::kInvalid, bytes_untrusted.size() - reader.left_bytes(), reader.left_bytes()};
    }
    return Done{};
}

}  // namespace perfleet
