#include "target-collector/source/linux/image/python_frames.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/python_layout.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kAddressEnd = 1ULL << 62U;

template <class Value>
std::span<std::byte> bytes_of(Value& value) {
    return std::as_writable_bytes(std::span{&value, 1});
}

// Reads a process's memory.
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

// The text of a str object, or of its end; nothing if the object was freed and its memory reused.
std::optional<std::string> text_of(std::uint32_t kind, std::span<const std::byte> content) {
    std::string text;
    for (std::size_t at = 0; at + kind <= content.size(); at += kind) {
        std::uint32_t point = 0;
        std::memcpy(&point, content.data() + at, kind);
        if (point == 0) {
            return std::nullopt;
        }
        append_utf8(text, point);
    }
    return text;
}

// Bytes per character; nothing if the content is elsewhere, or it isn't a str object.
std::optional<std::uint32_t> kind_of_text(std::uint32_t state) {
    const std::uint32_t kind = PYTHON_TEXT_KIND(state);
    const bool is_good = PYTHON_TEXT_IS_COMPACT(state) != 0 && (kind == 1 || kind == 2 || kind == 4);
    return is_good ? std::optional{kind} : std::nullopt;
}

// The text of a str object; only its end if it is longer than kTextSizeMax.
std::optional<std::string> read_text(std::uint32_t pid, std::uint64_t address) {
    std::array<std::byte, PYTHON_TEXT_STATE + 4> head{};
    if (address == 0 || !read_memory(pid, address, head)) {
        return std::nullopt;
    }
    std::uint64_t length = 0;
    std::uint32_t state = 0;
    std::memcpy(&length, head.data() + PYTHON_TEXT_LENGTH, sizeof(length));
    std::memcpy(&state, head.data() + PYTHON_TEXT_STATE, sizeof(state));
    const auto kind = kind_of_text(state);
    if (!kind || length > (1U << 20U)) {
        return std::nullopt;
    }
    const std::uint64_t taken = std::min<std::uint64_t>(length, PythonFrames::kTextSizeMax);
    std::vector<std::byte> content(taken * *kind);
    const std::uint64_t at =
        address + (PYTHON_TEXT_IS_ASCII(state) != 0 ? PYTHON_TEXT_ASCII_CONTENT : PYTHON_TEXT_CONTENT);
    if (!read_memory(pid, at + (length - taken) * *kind, content)) {
        return std::nullopt;
    }
    return text_of(*kind, content);
}

std::optional<std::string> text_of(const unwind_text& text) {
    const auto kind = kind_of_text(text.state);
    return kind && text.size <= sizeof(text.content)
               ? text_of(*kind, std::as_bytes(std::span{text.content}.first(text.size)))
               : std::nullopt;
}

// The file's name; with its folder for names such as __init__.py, which many files have.
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
        } else if (kind == 13 || kind == 14) {  // a signed line difference, with no columns or long ones
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

bool PythonFrames::has_name_of_interpreter(const Image& image) {
    return image.name.substr(image.name.rfind('/') + 1).find("python") != std::string::npos;
}

std::uint64_t PythonFrames::runtime_of(const Process& process) {
    for (const Mapping& mapping : process.mappings->mappings()) {
        if (!has_name_of_interpreter(images_.at(mapping.image))) {
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
    set_name(code, *name, *file, fields.first_line);
    std::uint64_t size = 0;
    if (read_memory(process.pid, line_table + PYTHON_OBJECT_SIZE, bytes_of(size)) && size <= kLineTableSizeMax) {
        std::vector<std::byte> table(size);
        if (read_memory(process.pid, line_table + PYTHON_BYTES_CONTENT, table)) {
            set_lines(code, table);
        }
    }
    return true;
}

void PythonFrames::keep(std::span<const std::byte> read) {
    constexpr std::size_t kLinesAt = offsetof(unwind_code, lines);
    unwind_code from{};
    if (read.size() < kLinesAt || read.size() > sizeof(from)) {
        return;
    }
    std::memcpy(&from, read.data(), read.size());
    const auto name = text_of(from.name);
    const auto file = text_of(from.file_name);
    // If the line table is too long for the copy, it is read from the process.
    if (!name || !file || from.lines_size == 0 || from.lines_size > read.size() - kLinesAt) {
        return;
    }
    Code& code = make_code(from.pid, from.address & (PYTHON_WORD / 2 - 1), from.check);
    set_name(code, *name, *file, from.first_line);
    set_lines(code, read.subspan(kLinesAt, from.lines_size));
    count(code);
}

void PythonFrames::set_name(Code& code, const std::string& name, const std::string& file, std::int32_t first_line) {
    code.first_line = static_cast<std::uint32_t>(std::clamp(first_line, 0, static_cast<std::int32_t>(kLineMax) - 1));
    code.name = name + " (" + std::string{short_path(file)} + ":" + std::to_string(code.first_line) + ")";
}

void PythonFrames::set_lines(Code& code, std::span<const std::byte> table) {
    const auto lines = python_lines(table, code.first_line);
    code.lines.reserve(lines.size());
    for (const auto& [index, line] : lines) {
        code.lines.push_back({index, line});
    }
}

std::uint64_t PythonFrames::key_of(std::uint32_t pid, std::uint64_t address, std::uint32_t check) {
    return address * 0x9e37'79b9'7f4a'7c15ULL ^ std::uint64_t{pid} << 32U ^ check;
}

PythonFrames::Code& PythonFrames::make_code(std::uint32_t pid, std::uint64_t address, std::uint32_t check) {
    const std::uint64_t key = key_of(pid, address, check);
    if (const auto known = code_by_key_.find(key); known != code_by_key_.end()) {
        size_bytes_ -= known->second->size_bytes();
        codes_.erase(known->second);
    }
    codes_.push_front({key, check, pid, {}, 0, {}});
    code_by_key_[key] = codes_.begin();
    return codes_.front();
}

void PythonFrames::count(const Code& code) {
    size_bytes_ += code.size_bytes();
    while (codes_.size() > 1 && size_bytes_ > kCodesSizeBytesMax) {
        size_bytes_ -= codes_.back().size_bytes();
        code_by_key_.erase(codes_.back().key);
        codes_.pop_back();
    }
}

const PythonFrames::Code& PythonFrames::code_of(const Process& process, std::uint64_t address, std::uint32_t check) {
    const auto known = code_by_key_.find(key_of(process.pid, address, check));
    if (known != code_by_key_.end() && known->second->check == check && known->second->pid == process.pid) {
        codes_.splice(codes_.begin(), codes_, known->second);
        return codes_.front();
    }
    Code& code = make_code(process.pid, address, check);
    if (!read_code(process, address, code)) {
        code.name.clear();
    }
    count(code);
    return code;
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
