#include "target-collector/source/linux/probe_name.h"

#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "target-collector/source/linux/event_error.h"
#include "target-collector/source/linux/small_file.h"
#include "target-collector/source/linux/tracepoint_finder.h"

namespace perfleet {
namespace {

constexpr std::string_view kProbeSection = "perfleet_probes";
constexpr std::size_t kElfSectionsMax = 4'096;
constexpr std::size_t kNamesMax = 256;  // in one file: those of an id may differ from source to source

template <class T>
std::optional<T> read_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    T value;
    if (offset > bytes.size() || bytes.size() - offset < sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

bool is_text_at(std::span<const std::byte> bytes, std::uint64_t offset, std::string_view text) {
    return offset <= bytes.size() && bytes.size() - offset > text.size() &&
           std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0 &&
           bytes[offset + text.size()] == std::byte{0};
}

// Within a field that may have no NUL.
template <std::size_t kSize>
std::string_view text_of(const char (&field)[kSize]) {
    return {field, static_cast<std::size_t>(std::find(field, field + kSize, '\0') - field)};
}

}  // namespace

bool is_probe_name(std::string_view name) {
    return !name.empty() && name.size() < PERFLEET_PROBE_NAME_SIZE && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view{"_-."}.find(c) != std::string_view::npos;
    });
}

ProbeName probe_name_of(const perfleet_probe_name& entry) {
    const std::string_view name = text_of(entry.name);
    const std::string_view unit = text_of(entry.unit);
    const bool is_unit = unit.empty() || is_probe_name(unit);
    if (entry.version != 1 || entry.id >= PERFLEET_PROBE_IDS || entry.is_value > 1 || !is_probe_name(name) ||
        !is_unit) {
        return {};
    }
    return {std::string{name}, entry.is_value != 0 ? std::string{unit} : "ns", entry.is_value != 0};
}

std::vector<ProbeName> probe_names_in(std::span<const std::byte> elf) {
    std::map<std::uint8_t, std::vector<ProbeName>> by_id;
    std::size_t count = 0;
    const auto header = read_at<Elf64_Ehdr>(elf, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_shentsize != sizeof(Elf64_Shdr)) {
        return {};
    }
    const auto section = [&](std::size_t index) {
        const std::uint64_t offset = header->e_shoff + (index * sizeof(Elf64_Shdr));
        return offset < header->e_shoff ? std::nullopt : read_at<Elf64_Shdr>(elf, offset);
    };
    const auto texts = section(header->e_shstrndx);
    const std::size_t section_count = std::min<std::size_t>(header->e_shnum, kElfSectionsMax);
    for (std::size_t i = 0; texts && i < section_count; ++i) {
        const auto one = section(i);
        const std::uint64_t name_at = one ? texts->sh_offset + one->sh_name : 0;
        if (!one || one->sh_type != SHT_PROGBITS || name_at < texts->sh_offset ||
            !is_text_at(elf, name_at, kProbeSection)) {
            continue;
        }
        for (std::uint64_t at = 0; count < kNamesMax && at + sizeof(perfleet_probe_name) <= one->sh_size;
             at += sizeof(perfleet_probe_name)) {
            const auto entry = one->sh_offset + at < one->sh_offset
                                   ? std::nullopt
                                   : read_at<perfleet_probe_name>(elf, one->sh_offset + at);
            if (!entry) {
                break;
            }
            ++count;
            if (ProbeName name = probe_name_of(*entry); !name.name.empty()) {
                by_id[entry->id].push_back(std::move(name));
            }
        }
    }
    std::vector<ProbeName> names;
    for (const auto& [id, of_id] : by_id) {
        for (const ProbeName& name : of_id) {
            if (std::ranges::none_of(names, [&](const auto& other) { return other.name == name.name; })) {
                names.push_back(name);
            }
        }
    }
    return names;
}

std::vector<ProbeName> probe_names_of_file(const std::string& path) {
    struct stat status {};
    const int file = open_regular_file(path, status);
    if (file < 0) {
        return {};
    }
    const auto size_bytes = static_cast<std::size_t>(status.st_size);
    void* const bytes = size_bytes == 0 ? MAP_FAILED : ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (bytes == MAP_FAILED) {
        return {};
    }
    auto names = probe_names_in({static_cast<const std::byte*>(bytes), size_bytes});
    ::munmap(bytes, size_bytes);
    return names;
}

Result<std::vector<EventSpec>> find_probes(std::string_view event, std::string_view name,
                                           std::span<const ProbeName> known) {
    std::vector<EventSpec> specs;
    const auto add = [&specs](const ProbeName& probe) {
        EventSpec spec;
        spec.name = std::string{kProbeSystem} + ":" + probe.name;
        spec.type = perf::kTypeSoftware;
        spec.config = 9;  // PERF_COUNT_SW_DUMMY: exports have it, nothing is opened
        spec.unit = probe.unit;
        spec.exclude_kernel = true;
        spec.is_probe = true;
        spec.is_probe_value = probe.is_value;
        spec.is_nowhere = true;
        specs.push_back(std::move(spec));
    };
    if (!is_pattern(name)) {
        if (!is_probe_name(name)) {
            return event_error(event, "a probe's name has letters, digits, '_', '-' and '.', at most " +
                                          std::to_string(PERFLEET_PROBE_NAME_SIZE - 1) + " in all");
        }
        const auto found = std::ranges::find(known, name, &ProbeName::name);
        add(found != known.end() ? *found : ProbeName{std::string{name}, "ns", false});
        return specs;
    }
    const std::string pattern{name};
    for (const ProbeName& probe : known) {
        if (probe.name != kOtherProbes && ::fnmatch(pattern.c_str(), probe.name.c_str(), 0) == 0) {
            add(probe);
        }
    }
    add({std::string{kOtherProbes}, "ns", false});
    return specs;
}

}  // namespace perfleet
