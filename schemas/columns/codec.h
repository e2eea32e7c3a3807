// The column codecs: how one column of one series becomes bytes. The wire and the store have the same bytes.
//
// Freestanding: works in the caller's memory, without heap or exceptions. Encoders are exact for every input; decoders
// take untrusted bytes, never read outside them, and refuse what doesn't decode to exactly the stated number of values.
//
//   kFrameOfReference   chunks of 256 values (the last may be shorter), each:
//                         u8 width (0..64) | varint minimum | ceil(n × width / 8) bytes: (value − minimum), low bit
//                         first; the bits left over in the last byte are 0
//   kDelta              varint first value | then the n − 1 zigzag differences (mod 2^64) as kFrameOfReference
//   kRuns               runs as (varint run length, varint value) until n values are there
//   kBytes              the bytes of a byte column as they are
//   kPatched            chunks of 256 values (the last may be shorter), each:
//                         u8 width (0..64), + 128: of differences from the value before (before the first: 0)
//                         u8 number of exceptions | varint centre (zigzag, if of differences)
//                         n × width bits: low bits of zigzag(value or difference − centre), packed as above
//                         if there are exceptions: their places in the chunk, u8 each, ascending
//                                                  u8 width | their bits above, packed, none of them 0
//   kDictionary         varint number of distinct values (1..1024) | these, as kPatched in the order of their first use
//                       varint number of runs | for each 256 runs (the last: what is left):
//                         a kPatched chunk of run lengths (none if there are as many runs as values: each is 1)
//                         a kPatched chunk of indices into the distinct values
//                       (lengths and indices are two streams: each chunk goes on from its own stream's last value)
//
// A varint is LEB128, at most 10 bytes. The numbers of the codecs must never change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/encode_workspace.h"
#include "schemas/vocabulary/result.h"

namespace perfleet {

enum class Codec : std::uint8_t {
    kFrameOfReference = 1,
    kDelta = 2,
    kRuns = 3,
    kBytes = 4,
    kPatched = 5,
    kDictionary = 6,
};
inline constexpr Codec kNewestCodec = Codec::kDictionary;
inline constexpr Codec kCommonCodec = Codec::kBytes;  // for fast tests of each codec

// Upper bound of the size of `value_count` values in any codec that encode_integers may choose.
[[nodiscard]] constexpr std::size_t encoded_size_bytes_max(std::size_t value_count) {
    const std::size_t chunk_count = (value_count + 255) / 256;
    return 10 + chunk_count * 11 + value_count * 8;
}

struct Encoded {
    Codec codec{};
    std::size_t size_bytes = 0;
};

// Writes `values` into `out` with the codec that takes the fewest bytes, of those up to `newest`. Fails with kFull if
// `out` has fewer than encoded_size_bytes_max(values.size()) bytes or `workspace` fewer than
// encode_workspace_words(values.size()) words. The order of preference at equal size is fixed, so equal values give
// equal bytes.
[[nodiscard]] Checked<Encoded> encode_integers(std::span<const std::uint64_t> values, std::span<std::byte> out,
                                               std::span<std::uint64_t> workspace, Codec newest = kNewestCodec);
// The same with a workspace of 18 KiB on the stack: for hosts.
[[nodiscard]] inline Checked<Encoded> encode_integers(std::span<const std::uint64_t> values, std::span<std::byte> out,
                                                      Codec newest = kNewestCodec) {
    std::array<std::uint64_t, encode_workspace_words(kDictionaryValuesMax)> workspace;
    return encode_integers(values, out, workspace, newest);
}

// Fills `values` entirely from `bytes_untrusted`, which must end exactly there. Faults: kUnsupported (codec),
// kTruncated, kInvalid (bytes left over, width or varint out of range); `where` is the offset.
[[nodiscard]] Checked<Done> decode_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                                            std::span<std::uint64_t> values);

}  // namespace perfleet
