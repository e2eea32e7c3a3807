// An image's symbols in the store: the content of `ImageType::kElfSymbols` (schemas/wire/README.md). These are zstd
// frames of the parts of its ELF file and of its separate debug file that name functions, and of the debug information
// of either.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "query-engine/symbol/elf_file.h"
#include "schemas/vocabulary/error.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// Uncompresses the first part of what a collector sent. `packed` is untrusted; `name` stands for it in messages.
// Errors: kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_symbols(std::string_view packed, const std::string& name);

struct KeptSymbols {
    std::unique_ptr<ElfFile> file;
    std::unique_ptr<ElfFile> debug_file;  // null: none was kept
};

// `packed` is untrusted. `name` stands for the file's path in messages. Errors: kCorrupt, kTooLarge, kInvalid (no ELF
// file).
[[nodiscard]] Result<KeptSymbols> open_kept_symbols(std::string_view packed, const std::string& name);

// The ELF file with the debug information; empty: none was kept. Errors: kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_lines(std::string_view packed, const std::string& name);

// Whether an import made the image's symbols.
[[nodiscard]] bool has_made_names(const ImageDefinition& image);

// The second part (schemas/pprof/kept_sources.h) of a content of `ImageType::kKernelSymbols` that an import made;
// empty: none. Errors: kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_sources(std::string_view packed, const std::string& name);

}  // namespace perfleet
