#include "target-collector/source/linux/image/python_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace perfleet {
namespace {

constexpr std::size_t kPythonSectionsMax = 4'096;
constexpr std::size_t kPythonSegmentsMax = 256;
constexpr std::size_t kPythonSymbolsSizeBytesMax = 16U << 20;
constexpr std::size_t kPythonNamesSizeBytesMax = 16U << 20;

template <class Value>
std::span<std::byte> value_bytes(Value& value) {
    return std::as_writable_bytes(std::span{&value, 1});
}

}  // namespace

std::optional<PythonSymbols> python_symbols_of(const ReadFile& read) {
    Elf64_Ehdr header{};
    if (!read(0, value_bytes(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_phnum > kPythonSegmentsMax || header.e_shnum > kPythonSectionsMax ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_shentsize != sizeof(Elf64_Shdr)) {
        return std::nullopt;
    }
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    if (!read(header.e_phoff, std::as_writable_bytes(std::span{segments})) ||
        !read(header.e_shoff, std::as_writable_bytes(std::span{sections}))) {
        return std::nullopt;
    }
    const auto dynamic = std::find_if(sections.begin(), sections.end(),
                                      [](const Elf64_Shdr& section) { return section.sh_type == SHT_DYNSYM; });
    const auto code = std::find_if(segments.begin(), segments.end(), [](const Elf64_Phdr& segment) {
        return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    });
    if (dynamic == sections.end() || code == segments.end() || dynamic->sh_link >= sections.size() ||
        dynamic->sh_size > kPythonSymbolsSizeBytesMax ||
        sections[dynamic->sh_link].sh_size > kPythonNamesSizeBytesMax) {
        return std::nullopt;
    }
    std::vector<Elf64_Sym> symbols(dynamic->sh_size / sizeof(Elf64_Sym));
    std::string names(sections[dynamic->sh_link].sh_size, '\0');
    if (!read(dynamic->sh_offset, std::as_writable_bytes(std::span{symbols})) ||
        !read(sections[dynamic->sh_link].sh_offset, std::as_writable_bytes(std::span{names}))) {
        return std::nullopt;
    }
    PythonSymbols found;
    std::uint64_t version_at = 0;
    for (const Elf64_Sym& symbol : symbols) {
        if (symbol.st_name >= names.size() || symbol.st_shndx == SHN_UNDEF) {
            continue;
        }
        const char* const name = names.c_str() + symbol.st_name;
        found.runtime = std::strcmp(name, "_PyRuntime") == 0 ? symbol.st_value : found.runtime;
        version_at = std::strcmp(name, "Py_Version") == 0 ? symbol.st_value : version_at;
    }
    constexpr std::uint64_t kVersion = 0x030b;  // upper half of PY_VERSION_HEX
    std::uint64_t version = 0;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_LOAD && version_at >= segment.p_vaddr &&
            version_at - segment.p_vaddr < segment.p_filesz) {
            (void)read(version_at - segment.p_vaddr + segment.p_offset, value_bytes(version));
        }
    }
    if (found.runtime == 0 || version >> 16U != kVersion) {
        return std::nullopt;
    }
    found.code_offset = code->p_offset;
    found.code_address = code->p_vaddr;
    return found;
}

}  // namespace perfleet
