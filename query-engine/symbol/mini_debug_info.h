// MiniDebugInfo: symbols that .dynsym lacks, in a stripped file's section .gnu_debugdata: an ELF file compressed by xz,
// as in Fedora's packages.
#pragma once

#include <cstddef>
#include <memory>

#include "query-engine/symbol/elf_file.h"

namespace perfleet {

inline constexpr std::size_t kMiniDebugInfoSizeBytesMax = 64U << 20;         // uncompressed
inline constexpr std::size_t kMiniDebugInfoMemorySizeBytesMax = 128U << 20;  // of the decoder

// The file is untrusted. Errors: kNotFound (it has none), kCorrupt, kTooLarge, kInvalid (no ELF file).
[[nodiscard]] Result<std::unique_ptr<ElfFile>> open_mini_debug_info(const ElfFile& file);

}  // namespace perfleet
