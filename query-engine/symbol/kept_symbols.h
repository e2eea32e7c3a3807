// The symbols of an image as they were kept with a session: the content of `ImageType::kElfSymbols`
// (schemas/wire/README.md), a zstd frame of the part of its ELF file that names functions, and maybe one more of
// its separate debug file.
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

}  // namespace perfleet
