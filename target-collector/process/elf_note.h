// Finds the GNU build-id of an ELF file, or a content hash for a file without one. A small parser with limits on
// everything, because it reads any program that a host runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/process/image_table.h"

namespace perfleet {

// Limit of the notes of a file or the kernel.
inline constexpr std::size_t kNotesSizeBytesMax = 64U << 10U;

// The build-id in a sequence of ELF notes, as in PT_NOTE or /sys/kernel/notes; empty when there is none. Borrows
// `notes`.
[[nodiscard]] std::span<const std::byte> build_id_in_notes(std::span<const std::byte> notes);

// The build-id of an ELF image in memory, such as the vdso.
[[nodiscard]] std::span<const std::byte> build_id_in_memory(std::span<const std::byte> elf);

// The build-id of an open regular file. Size 0: none.
[[nodiscard]] ImageContentId build_id_of_file(int fd);

// The build-id of an open regular file; without one, the FNV-1a-128 hash of its size (8 bytes, little-endian) and its
// first kHashedBytesMax bytes. Size 0 if it can't be read.
[[nodiscard]] ImageContentId content_id_of_file(int fd, std::uint64_t file_size_bytes);

}  // namespace perfleet
