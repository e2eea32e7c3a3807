#include "target-collector/source/linux/python_frames.h"

#include <elf.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "schemas/columns/layout.h"
#include "target-collector/source/linux/bpf/python_layout.h"

namespace perfleet {
namespace {

constexpr std::size_t kSectionsMax = 4'096;
constexpr std::size_t kSegmentsMax = 256;
constexpr std::size_t kSymbolsSizeBytesMax = 16U << 20;
constexpr std::size_t kNamesSizeBytesMax = 16U << 20;
constexpr std::uint64_t kAddressEnd = 1ULL << 62U;

template <class Value>
std::span<std::byte> bytes_of(Value& value) {
    return std::as_writable_bytes(std::span{&value, 1});
}

// A process's memory.
bool read_memory(std::uint32_t pid, std::uint64_t address, std::span<std::byte> into) {
    iovec local{into.data(), into.size()};
    iovec remote{reinterpret_cast<void*>(address), into.size()};  // NOLINT(performance-no-int-to-ptr)
    return into.empty() || (address < kAddressEnd && ::process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1,
                                                                        0) == static_cast<ssize_t>(into.size()));
}

void append_utf8(std::string& text, std::uint32_t point) {
    const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xc0 | point >> 6);
        add(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
        add(0xe0 | point >> 12);
        add(0x80 | (point >> 6 & 0x3f));
        add(0x80 | (point & 0x3f));
    } else {
        add(0xf0 | (point >> 18 & 7));
        add(0x80 | (point >> 12 & 0x3f));
        add(0x80 | (point >> 6 & 0x3f));
        add(0x80 | (point & 0x3f));
    }
}

// Of a str object; its end where it is longer than kTextSizeMax.
std::optional<std::string> read_text(std::uint32_t pid, std::uint64_t address) {
    std::array<std::byte, PYTHON_TEXT_STATE + 4> head{};
    if (address == 0 || !read_memory(pid, address, head)) {
        return std::nullopt;
    }
    std::uint64_t length = 0;
    std::uint32_t state = 0;
    std::memcpy(&length, head.data() + PYTHON_TEXT_LENGTH, sizeof(length));
    std::memcpy(&state, head.data() + PYTHON_TEXT_STATE, sizeof(state));
    const std::uint32_t kind = state >> 2U & 7U;
    const bool is_compact = (state >> 5U & 1U) != 0;
    const bool is_ascii = (state >> 6U & 1U) != 0;
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4) || length > (1U << 20U)) {
        return std::nullopt;
    }
    const std::uint64_t taken = std::min<std::uint64_t>(length, PythonFrames::kTextSizeMax);
    std::vector<std::byte> content(taken * kind);
    const std::uint64_t at = address + (is_ascii ? PYTHON_TEXT_ASCII_CONTENT : PYTHON_TEXT_CONTENT);
    if (!read_memory(pid, at + (length - taken) * kind, content)) {
        return std::nullopt;
    }
    std::string text;
    for (std::size_t i = 0; i < taken; ++i) {
        std::uint32_t point = 0;
        std::memcpy(&point, content.data() + i * kind, kind);
        if (point == 0) {  // freed, and used for something else
            return std::nullopt;
        }
        append_utf8(text, point);
    }
    return text;
}

// The file's name; with its folder where it is named as many are.
std::string_view short_path(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) {
        return path;
    }
    const std::string_view name = path.substr(slash + 1);
    if (!name.starts_with("__")) {
        return name;
    }
    const std::size_t folder = path.substr(0, slash).rfind('/');
    return folder == std::string_view::npos ? path : path.substr(folder + 1);
}

}  // namespace

std::optional<PythonSymbols> python_symbols_of(const ReadFile& read) {
    Elf64_Ehdr header{};
    if (!read(0, bytes_of(header)) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_phnum > kSegmentsMax || header.e_shnum > kSectionsMax || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
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
        dynamic->sh_size > kSymbolsSizeBytesMax || sections[dynamic->sh_link].sh_size > kNamesSizeBytesMax) {
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
    constexpr std::uint64_t kVersion = 0x030b;  // of PY_VERSION_HEX the upper half
    std::uint64_t version = 0;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_LOAD && version_at >= segment.p_vaddr &&
            version_at - segment.p_vaddr < segment.p_filesz) {
            (void)read(version_at - segment.p_vaddr + segment.p_offset, bytes_of(version));
        }
    }
    if (found.runtime == 0 || version >> 16U != kVersion) {
        return std::nullopt;
    }
    found.code_offset = code->p_offset;
    found.code_address = code->p_vaddr;
    return found;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> python_lines(std::span<const std::byte> table,
                                                                  std::uint32_t first_line) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;
    std::size_t at = 0;
    const auto take = [&] { return at < table.size() ? std::to_integer<std::uint32_t>(table[at++]) : 0U; };
    const auto take_number = [&] {
        std::uint32_t value = 0;
        for (unsigned shift = 0; shift < 30; shift += 6) {
            const std::uint32_t byte = take();
            value |= (byte & 63U) << shift;
            if ((byte & 64U) == 0) {
                break;
            }
        }
        return value;
    };
    std::uint32_t index = 0;
    std::uint32_t line = first_line;
    while (at < table.size()) {
        const std::uint32_t head = take();
        const std::uint32_t kind = head >> 3U & 15U;
        bool has_line = true;
        if (kind == 15) {
            has_line = false;
        } else if (kind == 13 || kind == 14) {  // a signed difference: no columns, or long ones
            const std::uint32_t number = take_number();
            line += (number & 1U) != 0 ? 0U - (number >> 1U) : number >> 1U;
            for (int i = 0; kind == 14 && i < 3; ++i) {
                (void)take_number();
            }
        } else if (kind >= 10) {
            line += kind - 10;
            at += 2;
        } else {
            ++at;
        }
        if (has_line && (lines.empty() || lines.back().second != line)) {
            lines.emplace_back(index, line);
        }
        index += (head & 7U) + 1;
    }
    return lines;
}

std::uint64_t PythonFrames::runtime_of(const Process& process) {
    for (const Mapping& mapping : process.mappings->mappings()) {
        const Image& image = images_.at(mapping.image);
        if (image.name.substr(image.name.rfind('/') + 1).find("python") == std::string::npos) {
            continue;
        }
        const auto [known, is_new] = symbols_.try_emplace(mapping.image);
        if (is_new) {
            known->second = find_symbols_(mapping.image, process.pid, mapping);
        }
        if (const auto& symbols = known->second;
            symbols && mapping.file_offset <= symbols->code_offset &&
            symbols->code_offset - mapping.file_offset < mapping.end - mapping.start) {
            return symbols->runtime + mapping.start + (symbols->code_offset - mapping.file_offset) -
                   symbols->code_address;
        }
    }
    return 0;
}

bool PythonFrames::read_code(const Process& process, std::uint64_t address, Code& code) {
    ++read_count_;
    std::array<std::byte, PYTHON_CODE_LINE_TABLE + 8> object{};
    if (!read_memory(process.pid, address, object)) {
        return false;
    }
    python_code fields{};
    std::uint64_t line_table = 0;
    std::memcpy(&fields, object.data() + PYTHON_CODE_FIRST_LINE, sizeof(fields));
    std::memcpy(&line_table, object.data() + PYTHON_CODE_LINE_TABLE, sizeof(line_table));
    if (python_check(&fields) != code.check) {
        return false;
    }
    const auto name = read_text(process.pid, fields.qualified_name);
    const auto file = read_text(process.pid, fields.file_name);
    if (!name || !file) {
        return false;
    }
    code.first_line = static_cast<std::uint32_t>(std::clamp(fields.first_line, 0, static_cast<int>(kLineMax) - 1));
    code.name = *name + " (" + std::string{short_path(*file)} + ":" + std::to_string(code.first_line) + ")";
    std::uint64_t size = 0;
    if (read_memory(process.pid, line_table + PYTHON_OBJECT_SIZE, bytes_of(size)) && size <= kLineTableSizeMax) {
        std::vector<std::byte> table(size);
        if (read_memory(process.pid, line_table + PYTHON_BYTES_CONTENT, table)) {
            for (const auto& [index, line] : python_lines(table, code.first_line)) {
                code.lines.push_back({index, line});
            }
        }
    }
    return true;
}

const PythonFrames::Code& PythonFrames::code_of(const Process& process, std::uint64_t address, std::uint32_t check) {
    const std::uint64_t key = address * 0x9e37'79b9'7f4a'7c15ULL ^ std::uint64_t{process.pid} << 32U ^ check;
    if (const auto known = code_by_key_.find(key); known != code_by_key_.end()) {
        if (known->second->check == check && known->second->pid == process.pid) {
            codes_.splice(codes_.begin(), codes_, known->second);
            return codes_.front();
        }
        line_count_ -= known->second->lines.size();
        codes_.erase(known->second);
        code_by_key_.erase(known);
    }
    codes_.push_front({key, check, process.pid, {}, 0, {}});
    code_by_key_[key] = codes_.begin();
    if (!read_code(process, address, codes_.front())) {
        codes_.front().name.clear();
    }
    line_count_ += codes_.front().lines.size();
    while (codes_.size() > 1 && (codes_.size() > kCodesMax || line_count_ > kLinesMax)) {
        line_count_ -= codes_.back().lines.size();
        code_by_key_.erase(codes_.back().key);
        codes_.pop_back();
    }
    return codes_.front();
}

std::optional<ResolvedFrame> PythonFrames::find(const Process& process, std::uint64_t code_word, std::uint64_t detail) {
    const Code& code = code_of(process, code_word & (PYTHON_WORD / 2 - 1), static_cast<std::uint32_t>(detail));
    if (code.name.empty()) {
        return std::nullopt;
    }
    const auto index = static_cast<std::int32_t>(detail >> 32U);
    const auto behind = std::upper_bound(
        code.lines.begin(), code.lines.end(), std::max(index, 0),
        [](std::int32_t at, const Line& line) { return static_cast<std::uint32_t>(at) < line.first_index; });
    const std::uint64_t line = index < 0 || behind == code.lines.begin() ? code.first_line : std::prev(behind)->line;
    const auto image = code_.intern_function({code.name, image_flags::kAnonymous, 0, kLineMax, {}});
    return image ? std::optional{ResolvedFrame{*image, std::min(line, kLineMax - 1)}} : std::nullopt;
}

}  // namespace perfleet
