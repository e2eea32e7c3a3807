#include "tools/perfleet/function/function_finder.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/mini_debug_info.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/parse.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/process/unwind/frame_entry.h"
#include "tools/perfleet/function/function_code.h"

namespace perfleet {
namespace {

constexpr std::size_t kNearNamesMax = 5;
constexpr std::size_t kNearDistanceMax = 2;  // characters that differ
constexpr std::size_t kCandidatesShownMax = 8;
constexpr std::string_view kColdSuffix = ".cold";

struct Symbol {
    std::string_view name;  // of a file that is open
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
    bool is_ifunc = false;
};

// "memcpy@@GLIBC_2.14" is "memcpy".
std::string_view without_version(std::string_view name) { return name.substr(0, name.find('@', 1)); }

std::size_t distance_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t i = 0; i <= b.size(); ++i) {
        row[i] = i;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
        }
    }
    return row.back();
}

class FunctionFinder {
public:
    FunctionFinder(const FunctionImage& image, std::string name, const FunctionSearch& search)
        : image_{image}, name_{std::move(name)}, search_{search} {}

    Result<FoundFunction> find() {
        auto file = PERFLEET_TRY(ElfFile::open(image_.path));
        file_ = std::move(file);
        load_symbols();
        auto symbol = PERFLEET_TRY(choose());
        FoundFunction found;
        found.traced.image = image_.path;
        found.traced.name = image_.name + ":" + name_;
        if (symbol.is_ifunc) {
            symbol.address = PERFLEET_TRY(chosen_by_ifunc(symbol));
            symbol.size_bytes = 0;
        }
        load_frames();
        if (symbol.size_bytes == 0) {
            if (const FrameFde* const frame = frame_at(symbol.address); frame != nullptr) {
                symbol.size_bytes = frame->size_bytes;
            }
        }
        const auto file_offset = file_offset_of(symbol.address);
        if (!file_offset) {
            return Error{ErrorCode::kInvalid,
                         fmt::format("{}: {:#x} lies in no part of the file that is loaded", label(), symbol.address)};
        }
        found.traced.body = {*file_offset, symbol.size_bytes};
        PERFLEET_TRY(find_exits(symbol, found));
        return found;
    }

private:
    [[nodiscard]] std::string label() const { return image_.name + ":" + name_; }

    void load_symbols() {
        add_symbols(*file_);
        const ImageDefinition image{.build_id = std::string{file_->build_id()}, .name = image_.path};
        std::vector<std::string> paths = symbol_files_of(image, search_.paths);
        const std::vector<std::string> linked = linked_debug_files_of(*file_, image, search_.paths);
        paths.insert(paths.end(), linked.begin(), linked.end());
        for (const std::string& path : paths) {
            auto other = path == image_.path ? Result<std::unique_ptr<ElfFile>>{Error{ErrorCode::kNotFound, ""}}
                                             : ElfFile::open(path);
            if (other.ok() && !has_all_ && (*other)->build_id() == file_->build_id()) {
                add_symbols(**other);
                others_.push_back(std::move(*other));
            }
        }
        if (auto mini = has_all_ ? Result<std::unique_ptr<ElfFile>>{Error{ErrorCode::kNotFound, ""}}
                                 : open_mini_debug_info(*file_);
            mini.ok()) {
            add_symbols(**mini);
            others_.push_back(std::move(*mini));
        }
    }

    void add_symbols(const ElfFile& file) {
        for (const auto& [section, type] : {std::pair{".symtab", SHT_SYMTAB}, {".dynsym", SHT_DYNSYM}}) {
            const auto index = file.find_section(section, static_cast<std::uint32_t>(type));
            if (!index) {
                continue;
            }
            has_all_ |= type == SHT_SYMTAB;
            const ElfFile::Symbols symbols{file, *index};
            for (std::size_t i = 0; i < symbols.size(); ++i) {
                const ElfSymbol symbol = symbols[i];
                if ((symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && symbol.named &&
                    symbol.section != SHN_UNDEF) {
                    symbols_.push_back(
                        {without_version(symbol.name), symbol.value, symbol.size_bytes, symbol.type == STT_GNU_IFUNC});
                }
            }
        }
    }

    void load_frames() {
        struct stat status {};
        std::ifstream bytes{image_.path, std::ios::binary};
        if (::stat(image_.path.c_str(), &status) != 0) {
            return;
        }
        auto frames = read_elf_frames(
            [&](std::uint64_t offset, std::span<std::byte> into) {
                bytes.clear();
                bytes.seekg(static_cast<std::streamoff>(offset));
                bytes.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
                return bytes.gcount() == static_cast<std::streamsize>(into.size());
            },
            static_cast<std::uint64_t>(status.st_size));
        if (!frames.ok()) {
            return;
        }
        for (const FrameSection& section : frames->sections) {
            const FrameEntries entries = read_frame_entries(section);
            std::transform(entries.fdes.begin(), entries.fdes.end(), std::back_inserter(frames_),
                           [](const FrameFde& fde) {
                               return FrameFde{fde.address, fde.size_bytes, 0, {}};
                           });
        }
    }

    [[nodiscard]] const FrameFde* frame_at(std::uint64_t address) const {
        const auto found = std::find_if(frames_.begin(), frames_.end(),
                                        [&](const FrameFde& frame) { return frame.address == address; });
        return found == frames_.end() ? nullptr : &*found;
    }

    [[nodiscard]] std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const {
        for (const ElfSegment& segment : file_->segments()) {
            if (address >= segment.address && address - segment.address < segment.size_bytes) {
                return address - segment.address + segment.file_offset;
            }
        }
        return std::nullopt;
    }

    // Several names of one place are one function.
    static std::vector<Symbol> one_a_place(std::vector<Symbol> symbols) {
        std::stable_sort(symbols.begin(), symbols.end(), [](const Symbol& a, const Symbol& b) {
            return std::pair{a.address, b.size_bytes} < std::pair{b.address, a.size_bytes};
        });
        const auto end = std::unique(symbols.begin(), symbols.end(),
                                     [](const Symbol& a, const Symbol& b) { return a.address == b.address; });
        symbols.erase(end, symbols.end());
        return symbols;
    }

    Result<Symbol> choose() const {
        if (name_.starts_with("0x")) {
            return at_address();
        }
        std::vector<Symbol> found;
        std::copy_if(symbols_.begin(), symbols_.end(), std::back_inserter(found),
                     [&](const Symbol& symbol) { return symbol.name == name_; });
        if (found.empty()) {
            // A mangled name holds the last part of what it stands for.
            const std::size_t colons = name_.rfind("::");
            const std::string last = name_.substr(colons == std::string::npos ? 0 : colons + 2);
            const std::string part = last.substr(0, last.find_first_of("<(~"));
            std::copy_if(symbols_.begin(), symbols_.end(), std::back_inserter(found), [&](const Symbol& symbol) {
                return symbol.name.find(part) != std::string_view::npos && !symbol.name.ends_with(kColdSuffix) &&
                       demangled_name(symbol.name) == name_;
            });
        }
        found = one_a_place(std::move(found));
        if (found.empty()) {
            return not_found();
        }
        if (found.size() > 1) {
            std::string list;
            for (std::size_t i = 0; i < std::min(found.size(), kCandidatesShownMax); ++i) {
                list += fmt::format("{}{:#x} ({})", i == 0 ? "" : ", ", found[i].address, found[i].name);
            }
            return Error{ErrorCode::kUsage,
                         fmt::format("{}: {} functions have this name; name one by its address, such as {}:{:#x}: {}{}",
                                     label(), found.size(), image_.name, found[0].address, list,
                                     found.size() > kCandidatesShownMax ? ", …" : "")};
        }
        return found.front();
    }

    Result<Symbol> at_address() const {
        const auto address = number_of<std::uint64_t>(std::string_view{name_}.substr(2), 16);
        if (!address) {
            return Error{ErrorCode::kUsage, label() + ": not an address in hexadecimal digits"};
        }
        const auto found = std::find_if(symbols_.begin(), symbols_.end(),
                                        [&](const Symbol& symbol) { return symbol.address == *address; });
        return found == symbols_.end() ? Symbol{name_, *address, 0, false} : *found;
    }

    [[nodiscard]] Error not_found() const {
        std::vector<std::pair<std::size_t, std::string>> near;
        for (const Symbol& symbol : symbols_) {
            const std::string shown = demangled_name(symbol.name);
            const bool holds_it = shown.find(name_) != std::string::npos;
            const std::size_t length_gap = std::max(shown.size(), name_.size()) - std::min(shown.size(), name_.size());
            if (holds_it) {
                near.emplace_back(kNearDistanceMax + 1 + length_gap, shown);
            } else if (length_gap <= kNearDistanceMax && name_.size() > kNearDistanceMax) {
                if (const std::size_t distance = distance_between(shown, name_); distance <= kNearDistanceMax) {
                    near.emplace_back(distance, shown);
                }
            }
        }
        std::sort(near.begin(), near.end());
        near.erase(std::unique(near.begin(), near.end()), near.end());
        std::string list;
        for (std::size_t i = 0; i < std::min(near.size(), kNearNamesMax); ++i) {
            list += (i == 0 ? "" : ", ") + near[i].second;
        }
        std::string text = fmt::format("{} has no function '{}'", image_.path, name_);
        text += list.empty() ? "" : "; near: " + list;
        if (!has_all_) {
            text +=
                symbols_.empty()
                    ? "; it is stripped, and no debug file of its build-id is here: name an address (" + image_.name +
                          ":0x…)"
                    : "; it is stripped: only exported functions have names, unless a debug file of its build-id is "
                      "in /usr/lib/debug";
        } else if (list.empty()) {
            text += "; one that is inlined everywhere has no code of its own";
        }
        return {ErrorCode::kNotFound, text};
    }

    // The resolver's choice depends on the processor alone. Where this program uses the very file, it has asked it.
    Result<std::uint64_t> chosen_by_ifunc(const Symbol& symbol) const {
        const Error unknown{ErrorCode::kUnsupported,
                            label() +
                                " is chosen when the program starts (an IFUNC), and perfleet doesn't use this "
                                "library to know which: name the one that was chosen"};
        struct stat status {};
        void* const own = ::dlopen(image_.path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
        if (own == nullptr || ::stat(image_.path.c_str(), &status) != 0) {
            return unknown;
        }
        const std::string name{symbol.name};
        const auto code = reinterpret_cast<std::uint64_t>(::dlsym(own, name.c_str()));
        ::dlclose(own);
        for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
            if (code < mapping.start || code >= mapping.end || mapping.inode != status.st_ino) {
                continue;
            }
            const std::uint64_t file_offset = code - mapping.start + mapping.file_offset;
            for (const ElfSegment& segment : file_->segments()) {
                if (file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.size_bytes) {
                    return file_offset - segment.file_offset + segment.address;
                }
            }
        }
        return unknown;
    }

    // The part that the compiler has put elsewhere: by its symbol, else what no symbol begins where a condition leads.
    [[nodiscard]] CodeRange cold_by_name(const Symbol& symbol) const {
        const std::string name = std::string{symbol.name} + std::string{kColdSuffix};
        std::vector<Symbol> found;
        std::copy_if(symbols_.begin(), symbols_.end(), std::back_inserter(found),
                     [&](const Symbol& other) { return other.name == name; });
        found = one_a_place(std::move(found));
        return found.size() == 1 ? CodeRange{found[0].address, found[0].address + found[0].size_bytes} : CodeRange{};
    }
    [[nodiscard]] CodeRange cold_around(std::uint64_t address) const {
        const auto frame = std::find_if(frames_.begin(), frames_.end(), [&](const FrameFde& one) {
            return address >= one.address && address - one.address < one.size_bytes;
        });
        if (frame == frames_.end() || std::any_of(symbols_.begin(), symbols_.end(), [&](const Symbol& symbol) {
                return symbol.address == frame->address;
            })) {
            return {};
        }
        return {frame->address, frame->address + frame->size_bytes};
    }

    [[nodiscard]] Result<std::vector<DisassembledLine>> lines_of(CodeRange range) const {
        if (range.end <= range.first) {
            return std::vector<DisassembledLine>{};
        }
        return Disassembly{search_.objdump, image_.path, range.first, range.end - 1, false, false}.read();
    }

    Result<FunctionCode> read_code(CodeRange body, CodeRange cold) const {
        auto lines = lines_of(body);
        const auto cold_lines = lines_of(cold);
        if (!lines.ok() || !cold_lines.ok()) {
            return Error{lines.ok() ? cold_lines.error() : lines.error()};
        }
        lines->insert(lines->end(), cold_lines->begin(), cold_lines->end());
        return read_function_code(*lines, body, cold);
    }

    // Whether calls end where the kernel catches their return: it costs less, has no need of the code, and what is
    // called last is in the call's time. No exception may meet it on the stack: either none comes here, or the function
    // calls nothing. And each beginning must be a call.
    [[nodiscard]] bool catches_returns(const Result<FunctionCode>& code, const std::string& why) const {
        if (!why.empty()) {
            return !search_.may_throw;
        }
        const bool is_leaf = !code->has_calls && code->exits.size() == return_count(*code);
        const bool is_safe = !search_.may_throw || (is_leaf && !file_->find_section(".gopclntab"));
        return is_safe && !code->begins_again;
    }

    static std::size_t return_count(const FunctionCode& code) {
        const auto jumps = std::count_if(code.exits.begin(), code.exits.end(),
                                         [](const CodeExit& exit) { return exit.is_register_jump; });
        return code.exits.size() - code.tail_call_count - static_cast<std::size_t>(jumps);
    }

    Result<Done> find_exits(const Symbol& symbol, FoundFunction& found) const {
        const CodeRange body{symbol.address, symbol.address + symbol.size_bytes};
        CodeRange cold = cold_by_name(symbol);
        std::string why;
        Result<FunctionCode> code = Error{ErrorCode::kUnsupported, "code of this machine isn't read"};
        if (file_->machine() == EM_X86_64 && symbol.size_bytes != 0) {
            code = read_code(body, cold);
            if (code.ok() && code->leads_to && cold.end == cold.first) {
                cold = cold_around(*code->leads_to);
                code = read_code(body, cold);
            }
        }
        if (symbol.size_bytes == 0) {
            why = "nothing says where it ends";
        } else if (!code.ok()) {
            why = code.error().message;
        } else if (code->leads_to) {
            why = fmt::format("a condition leads out of it, to {:#x}", *code->leads_to);
        } else if (!code->unknown.empty()) {
            why = "'" + code->unknown + "' wasn't understood";
        } else if (code->exits.empty()) {
            return Error{ErrorCode::kUnsupported, label() + " never returns: its calls have no end"};
        }
        found.way.is_stepped_over = !code.ok() || !code->is_first_emulated;
        if (catches_returns(code, why)) {
            return Done{};
        }
        if (!why.empty()) {
            return Error{ErrorCode::kUnsupported,
                         label() + ": where its calls end can't be told from its code (" + why +
                             "), and catching returns on the stack would end a program that throws C++ exceptions"};
        }
        for (const CodeExit& exit : code->exits) {
            const auto file_offset = file_offset_of(exit.address);
            found.traced.exits.push_back({file_offset.value_or(0), exit.is_register_jump, exit.jump_register});
        }
        if (const auto cold_offset = file_offset_of(cold.first); cold_offset && cold.end > cold.first) {
            found.traced.cold = {*cold_offset, cold.end - cold.first};
        }
        found.way.has_exits = true;
        found.traced.begins_again = code->begins_again;
        if (code->tail_call_count != 0) {
            found.warnings.push_back(
                fmt::format("{} ends with a jump to another function at {} of {} places: the time "
                            "there isn't in its own",
                            label(), code->tail_call_count, code->exits.size()));
        }
        return Done{};
    }

    const FunctionImage& image_;
    std::string name_;
    const FunctionSearch& search_;
    std::unique_ptr<ElfFile> file_;
    std::vector<std::unique_ptr<ElfFile>> others_;
    std::vector<Symbol> symbols_;
    std::vector<FrameFde> frames_;
    bool has_all_ = false;  // a symbol table, not only what is exported
};

}  // namespace

Result<FoundFunction> find_function(const FunctionImage& image, const std::string& name, const FunctionSearch& search) {
    return FunctionFinder{image, name, search}.find();
}

}  // namespace perfleet
