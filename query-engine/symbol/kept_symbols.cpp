#include "query-engine/symbol/kept_symbols.h"

#include <elf.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

Error damaged(const std::string& name) { return {ErrorCode::kCorrupt, name + ": its kept symbols are damaged"}; }

// Takes one frame off the front.
Result<std::string> take_frame(std::string_view& packed, const std::string& name) {
    const unsigned long long size_bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
    const std::size_t packed_size_bytes = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
    if (size_bytes == ZSTD_CONTENTSIZE_UNKNOWN || size_bytes == ZSTD_CONTENTSIZE_ERROR ||
        ZSTD_isError(packed_size_bytes) != 0) {
        return damaged(name);
    }
    if (size_bytes > limits::kSymbolsSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, name + ": its kept symbols are larger than 64 MiB"};
    }
    std::string bytes(static_cast<std::size_t>(size_bytes), '\0');
    if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed_size_bytes) != bytes.size()) {
        return damaged(name);
    }
    packed.remove_prefix(packed_size_bytes);
    return bytes;
}

Result<std::unique_ptr<ElfFile>> take_file(std::string_view& packed, const std::string& name) {
    Result<std::string> bytes = take_frame(packed, name);
    return bytes.ok() ? ElfFile::from_memory(*std::move(bytes), name)
                      : Result<std::unique_ptr<ElfFile>>{std::move(bytes).error()};
}

// The frame after `frames_before` others; empty if there is none.
Result<std::string> unpacked_frame(std::string_view packed, const std::string& name, int frames_before) {
    for (int i = 0; i < frames_before && !packed.empty(); ++i) {
        const std::size_t packed_size_bytes = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
        if (ZSTD_isError(packed_size_bytes) != 0) {
            return damaged(name);
        }
        packed.remove_prefix(packed_size_bytes);
    }
    return packed.empty() ? Result<std::string>{std::string{}} : take_frame(packed, name);
}

// Empty if it isn't in the file.
std::string_view raw_section(const ElfFile& file, const ElfSection& section) {
    const std::string_view bytes = file.bytes();
    return section.type == SHT_NOBITS || section.type == SHT_NULL || section.file_offset > bytes.size() ||
                   section.size_bytes > bytes.size() - section.file_offset
               ? std::string_view{}
               : bytes.substr(section.file_offset, section.size_bytes);
}

constexpr std::size_t kPartsMax = 3;
constexpr std::size_t kDebugFileSizeBytesMax = kPartsMax * limits::kSymbolsSizeBytesMax;

using Parts = std::vector<std::unique_ptr<ElfFile>>;

struct Filling {
    std::size_t section = 0;  // of the file that is filled
    std::uint32_t type = 0;
    std::string_view bytes;  // empty: only the type changes
};

// Of loaded sections debug files have notes alone. Debuggers warn of others that lie in no segment.
bool is_loaded_content(const ElfSection& section) {
    return (section.flags & SHF_ALLOC) != 0 && section.type != SHT_NOTE && section.type != SHT_NOBITS;
}

// What other parts have of the sections that `base` lacks. Parts of one file have the same sections.
std::vector<Filling> fillings_of(const Parts& parts, const ElfFile& base) {
    std::vector<Filling> fillings;
    std::vector<bool> is_filled(base.sections().size());
    for (std::size_t i = 0; i < is_filled.size(); ++i) {
        if (is_loaded_content(base.sections()[i])) {
            fillings.push_back({i, SHT_NOBITS, {}});
        }
    }
    for (const auto& part : parts) {
        if (part.get() == &base) {
            continue;
        }
        for (std::size_t i = 1; i < std::min(is_filled.size(), part->sections().size()); ++i) {
            const ElfSection& lacking = base.sections()[i];
            const ElfSection& section = part->sections()[i];
            const std::string_view bytes = raw_section(*part, section);
            if (lacking.type == SHT_NOBITS && !is_loaded_content(section) && !is_filled[i] && !bytes.empty() &&
                section.name == lacking.name && section.address == lacking.address &&
                section.size_bytes == lacking.size_bytes && section.flags == lacking.flags) {
                is_filled[i] = true;
                fillings.push_back({i, section.type, bytes});
            }
        }
    }
    return fillings;
}

template <class Value>
bool copy_from(std::string_view bytes, std::uint64_t offset, Value& value) {
    if (offset > bytes.size() || sizeof value > bytes.size() - offset) {
        return false;
    }
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return true;
}

template <class Header, class Section>
Result<std::string> filled(const ElfFile& base, const std::vector<Filling>& fillings) {
    constexpr std::size_t kAlignment = 16;
    std::string file{base.bytes()};
    Header header{};
    if (!copy_from(file, 0, header) || header.e_ident[EI_DATA] != ELFDATA2LSB) {
        return damaged(base.path());
    }
    for (const Filling& filling : fillings) {
        const std::uint64_t at = header.e_shoff + filling.section * sizeof(Section);
        Section section{};
        if (!copy_from(file, at, section)) {
            return damaged(base.path());
        }
        if (!filling.bytes.empty()) {
            file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment);
            section.sh_offset = static_cast<decltype(section.sh_offset)>(file.size());
        }
        if (filling.bytes.size() > kDebugFileSizeBytesMax - std::min(kDebugFileSizeBytesMax, file.size())) {
            return Error{ErrorCode::kTooLarge, base.path() + ": its kept symbols overlap"};
        }
        section.sh_type = filling.type;
        std::memcpy(file.data() + at, &section, sizeof section);
        file += filling.bytes;
    }
    return file;
}

// Else the program itself has as much.
bool is_of_debug_file(const ElfSection& section) {
    return section.type == SHT_SYMTAB || section.name == ".debug_info" || section.name == ".zdebug_info";
}

// Sections with content, once the file is filled.
std::size_t content_count(const ElfFile& file, const std::vector<Filling>& fillings) {
    const auto own = std::ranges::count_if(file.sections(), [&](const ElfSection& section) {
        return !is_loaded_content(section) && !raw_section(file, section).empty();
    });
    return static_cast<std::size_t>(
        own + std::ranges::count_if(fillings, [](const Filling& filling) { return !filling.bytes.empty(); }));
}

}  // namespace

std::size_t unpacked_size_bytes(std::string_view packed) {
    std::size_t size_bytes = 0;
    for (std::size_t i = 0; i < kPartsMax && !packed.empty(); ++i) {
        const unsigned long long part_size_bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
        const std::size_t packed_size_bytes = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
        if (ZSTD_isError(packed_size_bytes) != 0 || part_size_bytes > limits::kSymbolsSizeBytesMax) {
            return 0;
        }
        size_bytes += part_size_bytes;
        packed.remove_prefix(packed_size_bytes);
    }
    return size_bytes;
}

Result<std::string> debug_file_of(std::string_view packed, std::string_view build_id, const std::string& name) {
    Parts parts;
    for (std::size_t i = 0; i < kPartsMax && !packed.empty(); ++i) {
        auto bytes = PERFLEET_TRY(take_frame(packed, name));
        if (bytes.empty()) {
            continue;  // no debug file was kept
        }
        auto part = PERFLEET_TRY(ElfFile::from_memory(std::move(bytes), name));
        if (build_id.empty() || part->build_id() != build_id) {
            return Error{ErrorCode::kNotFound, name + ": its kept symbols are of another build-id"};
        }
        parts.push_back(std::move(part));
    }
    const ElfFile* fullest = nullptr;
    std::vector<Filling> fillings;
    std::size_t most = 0;
    for (const auto& part : parts) {
        auto own = fillings_of(parts, *part);
        if (const std::size_t count = content_count(*part, own); fullest == nullptr || count > most) {
            fullest = part.get();
            fillings = std::move(own);
            most = count;
        }
    }
    if (fullest == nullptr) {
        return damaged(name);
    }
    if (std::ranges::none_of(parts, [](const auto& part) {
            return std::ranges::any_of(part->sections(), [&](const ElfSection& section) {
                return is_of_debug_file(section) && !raw_section(*part, section).empty();
            });
        })) {
        return Error{ErrorCode::kNotFound, name + ": only its dynamic symbols are kept"};
    }
    return fullest->bytes()[EI_CLASS] == ELFCLASS64 ? filled<Elf64_Ehdr, Elf64_Shdr>(*fullest, fillings)
                                                    : filled<Elf32_Ehdr, Elf32_Shdr>(*fullest, fillings);
}

Result<std::string> section_of(std::string file, std::string_view section_name, const std::string& name) {
    const auto elf = PERFLEET_TRY(ElfFile::from_memory(std::move(file), name));
    const auto found = elf->find_section(section_name);
    const std::string_view bytes = found ? raw_section(*elf, elf->sections()[*found]) : std::string_view{};
    return bytes.empty()
               ? Result<std::string>{Error{ErrorCode::kNotFound,
                                           name + ": its kept symbols have no section " + std::string{section_name}}}
               : std::string{bytes};
}

Result<std::string> unpacked_symbols(std::string_view packed, const std::string& name) {
    return take_frame(packed, name);
}

Result<KeptSymbols> open_kept_symbols(std::string_view packed, const std::string& name) {
    KeptSymbols symbols;
    for (auto* file : {&symbols.file, &symbols.debug_file}) {
        const bool is_first = file == &symbols.file;
        if (!is_first && (packed.empty() || ZSTD_getFrameContentSize(packed.data(), packed.size()) == 0)) {
            break;
        }
        auto opened = PERFLEET_TRY(take_file(packed, name));
        *file = std::move(opened);
    }
    return symbols;
}

Result<std::string> unpacked_lines(std::string_view packed, const std::string& name) {
    return unpacked_frame(packed, name, 2);
}

bool has_made_names(const ImageDefinition& image) {
    return (image.flags & image_flags::kContentHash) != 0 && (image.flags & image_flags::kFileOffset) == 0 &&
           !image.build_id.empty();
}

Result<std::string> unpacked_sources(std::string_view packed, const std::string& name) {
    return unpacked_frame(packed, name, 1);
}

}  // namespace perfleet
