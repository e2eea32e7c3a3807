// Finds the GNU build-id of an ELF file, and what names a file without one. A small reader of its own, with a bound on
// everything, for it reads whatever programs a host runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "target-collector/process/image_table.h"

namespace perfleet {

// Read of the notes of one file, or of the kernel.
inline constexpr std::size_t kNotesSizeBytesMax = 64U << 10U;

// The build-id in a sequence of ELF notes, as in PT_NOTE or /sys/kernel/notes; empty when there is none. Borrows
// `notes`.
[[nodiscard]] std::span<const std::byte> build_id_in_notes(std::span<const std::byte> notes);

// Of an ELF image in memory, as the vdso.
[[nodiscard]] std::span<const std::byte> build_id_in_memory(std::span<const std::byte> elf);

// Of an open regular file. Size 0: it has none.
[[nodiscard]] ImageContentId build_id_of_file(int fd);

// Of an open regular file: its build-id; without one, the FNV-1a-128 of its size (8 bytes, little-endian) and its first
// kHashedBytesMax bytes. Size 0 when it can't be read.
[[nodiscard]] ImageContentId content_id_of_file(int fd, std::uint64_t file_size_bytes);

}  // namespace perfleet
