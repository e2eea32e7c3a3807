// One chunk of codec kPatched: at most 256 values, as small differences from a centre or from the value before; the few
// values that differ more are stored beside them. Layout: codec.h.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/bit_writer.h"

namespace perfleet {

inline constexpr std::size_t kPatchedChunkValues = 256;
using PatchedChunkBuffer = std::span<std::uint64_t, kPatchedChunkValues>;
inline constexpr unsigned kPatchedDifferencesBit = 0x80;  // of a chunk's first byte

// Writes at most kPatchedChunkValues values if they take at most `size_bytes_max`; false: nothing was written.
// `previous` is the value before the chunk (0 at the start of a stream) and is set to the chunk's last one.
// `differences` is working memory.
[[nodiscard]] bool write_patched_chunk(std::span<const std::uint64_t> values, std::uint64_t& previous,
                                       std::size_t size_bytes_max, PatchedChunkBuffer differences, BitWriter& writer);

// The number of bytes that write_patched_chunk would write.
[[nodiscard]] std::size_t patched_chunk_size_bytes(std::span<const std::uint64_t> values, std::uint64_t previous,
                                                   PatchedChunkBuffer differences);

// Fills `values`; see BitReader for faults. `previous` as in write_patched_chunk.
void read_patched_chunk(BitReader& reader, std::span<std::uint64_t> values, std::uint64_t& previous);

}  // namespace perfleet
