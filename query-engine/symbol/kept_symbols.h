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

// Of all parts together; 0 where they are damaged.
[[nodiscard]] std::size_t unpacked_size_bytes(std::string_view packed);

// A separate debug file, as `objcopy --only-keep-debug` makes it, from all parts kept of a build: one of them, with the
// sections that others have of the same file. `build_id` is raw. Errors: kNotFound (no more is kept than the program
// itself has, or a part is of another build), kCorrupt, kTooLarge, kInvalid.
[[nodiscard]] Result<std::string> debug_file_of(std::string_view packed, std::string_view build_id,
                                                const std::string& name);

// The raw bytes of a section in such a file. Errors: kNotFound (none, or one without content), kInvalid.
[[nodiscard]] Result<std::string> section_of(std::string file, std::string_view section_name, const std::string& name);

// Whether an import made the image's symbols.
[[nodiscard]] bool has_made_names(const ImageDefinition& image);

// The second part (schemas/pprof/kept_sources.h) of a content of `ImageType::kKernelSymbols` that an import made;
// empty: none. Errors: kCorrupt, kTooLarge.
[[nodiscard]] Result<std::string> unpacked_sources(std::string_view packed, const std::string& name);

}  // namespace perfleet
