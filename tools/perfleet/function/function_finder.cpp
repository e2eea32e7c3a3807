#include "tools/perfleet/function/function_finder.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/go_functions.h"
#include "query-engine/symbol/mini_debug_info.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/host/file_io.h"
#include "schemas/host/suggestion.h"
#include "schemas/text/parse.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/process/small_file.h"
#include "target-collector/process/unwind/frame_entry.h"
#include "tools/perfleet/function/function_code.h"

namespace perfleet {
namespace {

constexpr std::size_t kNearNamesMax = 5;
constexpr std::size_t kNearDistanceMax = 2;  // edits
constexpr std::size_t kCandidatesShownMax = 8;
constexpr std::string_view kColdSuffix = ".cold";

struct Symbol {
    std::string_view name;  // points into an open file
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
    bool is_ifunc = false;
};

// "memcpy@@GLIBC_2.14" is "memcpy".
std::string_view without_version(std::string_view name) { return name.substr(0, name.find('@', 1)); }

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
        const auto file_offset = file_offset_of(file_->segments(), symbol.address);
        if (!file_offset) {
            return Error{ErrorCode::kInvalid,
                         fmt::format("{}: {:#x} lies in no part of the file that is loaded", label(), symbol.address)};
        }
        found.traced.parts = {{*file_offset, symbol.size_bytes}};
        found.traced.has_goroutines = PERFLEET_TRY(is_of_goroutines(symbol));
        if (search_.uses_uretprobes) {
            return found.traced.has_goroutines
                       ? Result<FoundFunction>{Error{ErrorCode::kUnsupported,
                                                     label() + ": --uretprobe ends a Go program: its stacks move"}}
                       : Result<FoundFunction>{std::move(found)};
        }
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
        if (!has_all_) {
            add_go_symbols();
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
        const FileDescriptor file = open_regular_file(image_.path, status);
        const auto read = [&](std::uint64_t offset, std::span<std::byte> into) {
            return read_all_at(file.get(), offset, into) == into.size();
        };
        const auto frames = read_elf_frames(read, file ? static_cast<std::uint64_t>(status.st_size) : 0);
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

    // A stripped Go program still has the names that its runtime needs.
    void add_go_symbols() {
        const auto section = go_section();
        for (const GoFunction& function : go_functions(section ? file_->section_bytes(*section) : std::string_view{})) {
            symbols_.push_back({function.name, function.address, function.end - function.address, false});
        }
    }

    // Several names of one address are one function.
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
            // A mangled name contains the last part of the plain name.
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
                if (const std::size_t distance = edit_distance(shown, name_); distance <= kNearDistanceMax) {
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

    // The resolver's choice depends on the processor alone. If this program uses the same file, its choice is known.
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
            if (const auto address = address_of(file_->segments(), code - mapping.start + mapping.file_offset)) {
                return *address;
            }
        }
        return unknown;
    }

    // The cold part that the compiler placed elsewhere, found by its symbol.
    [[nodiscard]] std::optional<CodeRange> cold_by_name(const Symbol& symbol) const {
        const std::string name = std::string{symbol.name} + std::string{kColdSuffix};
        std::vector<Symbol> found;
        std::copy_if(symbols_.begin(), symbols_.end(), std::back_inserter(found),
                     [&](const Symbol& other) { return other.name == name && other.size_bytes != 0; });
        found = one_a_place(std::move(found));
        return found.size() == 1 ? std::optional{CodeRange{found[0].address, found[0].address + found[0].size_bytes}}
                                 : std::nullopt;
    }

    // The same without a symbol, by its unwind frame: it jumps back, or never returns; otherwise it is a function.
    [[nodiscard]] std::optional<CodeRange> nameless_part_at(std::uint64_t address,
                                                            std::span<const CodeRange> parts) const {
        const auto frame = std::find_if(frames_.begin(), frames_.end(), [&](const FrameFde& one) {
            return address >= one.address && address - one.address < one.size_bytes;
        });
        if (frame == frames_.end() || std::any_of(symbols_.begin(), symbols_.end(), [&](const Symbol& symbol) {
                return symbol.address == frame->address;
            })) {
            return std::nullopt;
        }
        const CodeRange range{frame->address, frame->address + frame->size_bytes};
        const auto code = read_code(std::array{range}, true);
        if (!code.ok() || !code->unknown.empty()) {
            return std::nullopt;
        }
        const bool comes_back = std::any_of(code->leads_to.begin(), code->leads_to.end(), [&](const auto& jump) {
            return jump.second != parts.front().first &&
                   std::any_of(parts.begin(), parts.end(),
                               [&](const CodeRange& part) { return part.holds(jump.second); });
        });
        return comes_back || code->exits.empty() ? std::optional{range} : std::nullopt;
    }

    Result<FunctionCode> read_code(std::span<const CodeRange> parts, bool has_hidden_ways) const {
        std::vector<DisassembledLine> lines;
        for (const CodeRange& part : parts) {
            auto more =
                PERFLEET_TRY(Disassembly{search_.objdump, image_.path, part.first, part.end - 1, false, false}.read());
            std::move(more.begin(), more.end(), std::back_inserter(lines));
        }
        return read_function_code(lines, parts, file_->machine(), has_hidden_ways);
    }

    // Go functions run on goroutine stacks; C functions in the same program don't.
    [[nodiscard]] Result<bool> is_of_goroutines(const Symbol& symbol) const {
        const auto section = go_section();
        if (!section) {
            return false;
        }
        const std::string_view bytes = file_->section_bytes(*section);
        const std::vector<GoFunction> functions = go_functions(bytes);
        if (!functions.empty() && std::none_of(functions.begin(), functions.end(), [&](const GoFunction& function) {
                return function.address == symbol.address;
            })) {
            return false;
        }
        const auto refused = [&](const char* why) { return Error{ErrorCode::kUnsupported, label() + ": " + why}; };
        constexpr std::array<std::string_view, 2> kKnown{"\xf0\xff\xff\xff", "\xf1\xff\xff\xff"};
        if (file_->machine() != EM_X86_64) {
            return refused("the goroutine of a call is known on x86-64 alone");
        }
        if (std::find(kKnown.begin(), kKnown.end(), bytes.substr(0, kKnown[0].size())) == kKnown.end()) {
            return refused("goroutines are known of programs of Go 1.18 and later alone");
        }
        if (symbol.name.ends_with(".abi0")) {
            return refused("no register has the goroutine in assembly (ABI0); name it without .abi0");
        }
        return true;
    }

    [[nodiscard]] std::optional<std::size_t> go_section() const {
        const auto section = file_->find_section(".gopclntab");
        return section ? section : file_->find_section(".data.rel.ro.gopclntab");  // position-independent
    }

    Result<Done> find_exits(const Symbol& symbol, FoundFunction& found) const {
        const auto unknown = [&](const std::string& why) {
            return Error{ErrorCode::kUnsupported,
                         label() + ": where its calls end isn't known from its code: " + why +
                             ". --uretprobe has the kernel catch their returns, which ends programs that switch "
                             "stacks within a call, or throw exceptions through it"};
        };
        if (file_->machine() != EM_X86_64 && file_->machine() != EM_AARCH64) {
            return unknown("code of this machine isn't read");
        }
        if (symbol.size_bytes == 0) {
            return unknown("nothing says where it ends");
        }
        std::vector<CodeRange> parts{{symbol.address, symbol.address + symbol.size_bytes}};
        if (const auto cold = cold_by_name(symbol)) {
            parts.push_back(*cold);
        }
        const bool has_hidden_ways = found.traced.has_goroutines || file_->find_section(".gcc_except_table");
        auto code = read_code(parts, has_hidden_ways);
        for (std::size_t known = 0; code.ok() && known != parts.size() && parts.size() < FUNCTION_PARTS_MAX;) {
            known = parts.size();
            for (const auto& [jump, place] : code->leads_to) {
                const auto part = nameless_part_at(place, parts);
                if (part) {
                    parts.push_back(*part);
                    code = read_code(parts, has_hidden_ways);
                    break;
                }
            }
        }
        if (!code.ok()) {
            return unknown(code.error().message);
        }
        if (!code->unknown.empty()) {
            return unknown(code->unknown);
        }
        for (const CodeBranch& exit : code->exits) {
            if (exit.branch.condition == FUNCTION_SOMETIMES) {
                return unknown(fmt::format("a condition leads out of it at {:#x}", exit.address));
            }
        }
        if (code->exits.empty()) {
            return Error{ErrorCode::kUnsupported, label() + " never returns: its calls have no end"};
        }
        found.traced.parts.clear();
        for (const CodeRange& part : parts) {
            const auto file_offset = file_offset_of(file_->segments(), part.first);
            if (!file_offset) {
                return unknown(fmt::format("its part at {:#x} isn't loaded", part.first));
            }
            found.traced.parts.push_back({*file_offset, part.end - part.first});
        }
        const auto branches_of = [&](std::span<const CodeBranch> branches) {
            std::vector<FunctionBranch> placed;
            for (const CodeBranch& one : branches) {
                const auto part = std::find_if(parts.begin(), parts.end(),
                                               [&](const CodeRange& range) { return range.holds(one.address); });
                const FunctionPart& in_file = found.traced.parts[static_cast<std::size_t>(part - parts.begin())];
                placed.push_back({in_file.file_offset + one.address - part->first, one.branch});
            }
            return placed;
        };
        found.traced.exits = branches_of(code->exits);
        found.traced.again = branches_of(code->again);
        found.way = {!code->is_first_emulated, true};
        return Done{};
    }

    const FunctionImage& image_;
    std::string name_;
    const FunctionSearch& search_;
    std::unique_ptr<ElfFile> file_;
    std::vector<std::unique_ptr<ElfFile>> others_;
    std::vector<Symbol> symbols_;
    std::vector<FrameFde> frames_;
    bool has_all_ = false;  // has a symbol table, not only exported symbols
};

}  // namespace

Result<FoundFunction> find_function(const FunctionImage& image, const std::string& name, const FunctionSearch& search) {
    return FunctionFinder{image, name, search}.find();
}

}  // namespace perfleet
