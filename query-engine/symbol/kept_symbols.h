// The symbols of an image as the store keeps them: the content of `ImageType::kElfSymbols` (schemas/wire/README.md),
// zstd frames of the part of its ELF file that names functions, of that of its separate debug file, and of the debug
// information of either.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "query-engine/symbol/elf_file.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kKeptSymbolsSizeBytesMax = 64U << 20;  // unpacked

// What a collector packed, the first part of it. `packed` is untrusted; `name` stands for it in messages. Errors:
// kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_symbols(std::string_view packed, const std::string& name);

struct KeptSymbols {
    std::unique_ptr<ElfFile> file;
    std::unique_ptr<ElfFile> debug_file;  // of its separate debug file; null: there is none
};

// `packed` is untrusted. `name` stands for the file's path in messages. Errors: kCorrupt, kTooLarge, kInvalid (no ELF
// file).
[[nodiscard]] Result<KeptSymbols> open_kept_symbols(std::string_view packed, const std::string& name);

// The ELF file with the debug information; empty: none was kept. Errors: kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_lines(std::string_view packed, const std::string& name);

// Of a content of `ImageType::kKernelSymbols` that an import made: its second part (kept_sources.h); empty: there is
// none. Errors: kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_sources(std::string_view packed, const std::string& name);

}  // namespace perfleet
