#include "schemas/columns/bit_reader.h"
#include "schemas/columns/bit_writer.h"
#include "schemas/columns/codec.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {
namespace {

constexpr std::size_t kChunkValues = 256;

void read_frame_of_reference(BitReader& reader, std::span<std::uint64_t> values) {
    for (std::size_t begin = 0; begin < values.size() && !reader.failed(); begin += kChunkValues) {
        const std::size_t count = begin + kChunkValues < values.size() ? kChunkValues : values.size() - begin;
        const unsigned width = reader.byte();
        const std::uint64_t minimum = reader.varint();
        const auto out = values.subspan(begin, count);
        reader.packed(width, out);
        for (auto& value : out) {
            value += minimum;
        }
    }
}

void read_patched(BitReader& reader, std::span<std::uint64_t> values) {
    std::uint64_t previous = 0;
    for (std::size_t begin = 0; begin < values.size() && !reader.failed(); begin += kPatchedChunkValues) {
        const std::size_t count =
            values.size() - begin < kPatchedChunkValues ? values.size() - begin : kPatchedChunkValues;
        read_patched_chunk(reader, values.subspan(begin, count), previous);
    }
}

void read_runs(BitReader& reader, std::span<std::uint64_t> values) {
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

Checked<Done> decode_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                              std::span<std::uint64_t> values) {
    BitReader reader{bytes_untrusted};
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
        case Codec::kPatched: read_patched(reader, values); break;
        case Codec::kDictionary:
            if (!values.empty()) {
                read_dictionary_column(reader, values);
            }
            break;
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
