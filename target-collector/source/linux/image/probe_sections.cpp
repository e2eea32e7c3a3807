#include "target-collector/source/linux/image/probe_sections.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace perfleet {
namespace {

constexpr std::string_view kProbeSection = "perfleet_probes";
constexpr std::string_view kDoorSection = "perfleet_door";
constexpr std::size_t kElfSectionsMax = 4'096;

template <class T>
std::optional<T> read_at(const ReadFile& read, std::uint64_t offset) {
    T value{};
    return read(offset, std::as_writable_bytes(std::span{&value, 1})) ? std::optional{value} : std::nullopt;
}

// Compares including the NUL.
bool is_text_at(const ReadFile& read, std::uint64_t offset, std::string_view text) {
    std::array<char, 16> found{};
    static_assert(kProbeSection.size() < found.size() && kDoorSection.size() < found.size());
    const std::span used{found.data(), text.size() + 1};
    return read(offset, std::as_writable_bytes(used)) && std::string_view{found.data(), text.size()} == text &&
           used.back() == '\0';
}

std::optional<Elf64_Ehdr> elf_header_of(const ReadFile& read) {
    const auto header = read_at<Elf64_Ehdr>(read, 0);
    const bool is_known = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                          header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
    return is_known ? header : std::nullopt;
}

// Visits the sections of this name that have contents in the file.
template <class Visitor>
void each_section(const ReadFile& read, std::string_view name, Visitor visitor) {
    const auto header = elf_header_of(read);
    if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) {
        return;
    }
    const auto section = [&](std::size_t index) {
        const std::uint64_t offset = header->e_shoff + (index * sizeof(Elf64_Shdr));
        return offset < header->e_shoff ? std::nullopt : read_at<Elf64_Shdr>(read, offset);
    };
    const auto texts = section(header->e_shstrndx);
    const std::size_t section_count = std::min<std::size_t>(header->e_shnum, kElfSectionsMax);
    for (std::size_t i = 0; texts && i < section_count; ++i) {
        const auto one = section(i);
        const std::uint64_t name_at = one ? texts->sh_offset + one->sh_name : 0;
        if (one && one->sh_type == SHT_PROGBITS && name_at >= texts->sh_offset && is_text_at(read, name_at, name)) {
            visitor(*one);
        }
    }
}

}  // namespace

std::vector<perfleet_probe_name> probe_entries_of(const ReadFile& read) {
    std::vector<perfleet_probe_name> entries;
    each_section(read, kProbeSection, [&](const Elf64_Shdr& section) {
        for (std::uint64_t at = 0;
             entries.size() < kProbeEntriesMax && section.sh_size >= sizeof(perfleet_probe_name) &&
             at <= section.sh_size - sizeof(perfleet_probe_name);
             at += sizeof(perfleet_probe_name)) {
            const auto entry = section.sh_offset + at < section.sh_offset
                                   ? std::nullopt
                                   : read_at<perfleet_probe_name>(read, section.sh_offset + at);
            if (!entry) {
                break;
            }
            entries.push_back(*entry);
        }
    });
    return entries;
}

std::optional<ProbeDoorPlace> probe_door_of(const ReadFile& read, std::uint64_t file_offset) {
    constexpr std::uint64_t kPage = 4'096;
    std::optional<std::uint64_t> address;
    each_section(read, kDoorSection, [&](const Elf64_Shdr& section) {
        if (section.sh_size == sizeof(perfleet_probe_door) && section.sh_addr % alignof(perfleet_probe_door) == 0) {
            address = section.sh_addr;
        }
    });
    const auto header = address ? elf_header_of(read) : std::nullopt;
    for (std::uint64_t i = 0; header && header->e_phentsize == sizeof(Elf64_Phdr) && i < header->e_phnum; ++i) {
        const std::uint64_t at = header->e_phoff + (i * sizeof(Elf64_Phdr));
        const auto segment = at < header->e_phoff ? std::nullopt : read_at<Elf64_Phdr>(read, at);
        if (segment && segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            file_offset >= segment->p_offset / kPage * kPage && file_offset < segment->p_offset + segment->p_filesz) {
            return ProbeDoorPlace{*address - (segment->p_vaddr - segment->p_offset + file_offset),
                                  !probe_entries_of(read).empty()};
        }
    }
    return std::nullopt;
}

}  // namespace perfleet
