// Writes the profile of one program (--image) for llvm-bolt.
//
// Without recorded branches it is the form of samples of BOLT's fdata, which `llvm-bolt -data` reads:
//
//   no_lbr EVENT
//   1 FUNCTION OFFSET COUNT       offset in the function, hexadecimal
//
// With branches it is the pre-aggregated form, which `perf2bolt -pa` reads. Addresses are those of the file; `X:0`: an
// address outside it:
//
//   B FROM TO COUNT MISPREDICTED
//   F FIRST LAST COUNT            instructions that ran between two taken branches
//
// Errors: kNotFound: the program's file isn't at its path or below --symfs, or has no symbols; those of
// read_hot_code().
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "exporters/pgo/hot_code.h"
#include "query-engine/service/export_format.h"

namespace perfleet {
namespace {

struct BoltFunction {
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;  // 0: up to the next function
    std::string name;              // as BOLT has it
    bool is_local = false;
};

std::string escaped(std::string_view name) {
    std::string text;
    for (const char byte : name) {
        text += byte == ' ' || byte == '\\' ? "\\" : "";
        text += byte;
    }
    return text;
}

// By address; of several with one address a global one. BOLT numbers functions of a source file with the same name,
// `NAME/FILE/NUMBER`, in the order of their addresses.
std::vector<BoltFunction> functions_of(const ElfFile& file) {
    std::vector<BoltFunction> functions;
    const auto table = file.find_section(".symtab", SHT_SYMTAB);
    if (!table) {
        return functions;
    }
    const ElfFile::Symbols symbols{file, *table};
    std::string source;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const ElfSymbol symbol = symbols[i];
        if (symbol.type == STT_FILE) {
            source = symbol.name;
        }
        if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && symbol.named) {
            const bool is_local = symbol.binding == STB_LOCAL;
            const std::string prefix = std::string{symbol.name} + (is_local && !source.empty() ? "/" + source : "");
            functions.push_back({symbol.value, symbol.size_bytes, prefix + (is_local ? "/" : ""), is_local});
        }
    }
    std::stable_sort(functions.begin(), functions.end(), [](const BoltFunction& a, const BoltFunction& b) {
        return std::tuple{a.address, a.is_local} < std::tuple{b.address, b.is_local};
    });
    std::map<std::string, std::size_t> counts;
    for (BoltFunction& function : functions) {
        function.name += function.is_local ? std::to_string(++counts[function.name]) : "";
    }
    const auto is_same = [](const BoltFunction& a, const BoltFunction& b) { return a.address == b.address; };
    functions.erase(std::unique(functions.begin(), functions.end(), is_same), functions.end());
    return functions;
}

// Null: in none.
const BoltFunction* function_at(const std::vector<BoltFunction>& functions, std::uint64_t address) {
    const auto after =
        std::upper_bound(functions.begin(), functions.end(), address,
                         [](std::uint64_t at, const BoltFunction& function) { return at < function.address; });
    if (after == functions.begin()) {
        return nullptr;
    }
    const BoltFunction& function = *std::prev(after);
    return function.size_bytes == 0 || address - function.address < function.size_bytes ? &function : nullptr;
}

class BoltProfile {
public:
    explicit BoltProfile(HotCode& code) : code_{code} {}

    Result<Done> add_samples() {
        const std::vector<BoltFunction> functions = functions_of(*code_.file);
        if (functions.empty()) {
            return Error{ErrorCode::kNotFound,
                         "bolt: " + code_.file->path() + " has no symbols of functions: it must not be stripped"};
        }
        text_ = "no_lbr " + escaped(code_.event) + "\n";
        std::uint64_t nameless = 0;
        for (const auto& [offset, count] : code_.samples) {
            const std::optional<std::uint64_t> address = address_of(offset);
            const BoltFunction* const function = address ? function_at(functions, *address) : nullptr;
            if (function == nullptr) {
                ++nameless;
                continue;
            }
            append("1 {} {:x} {}\n", escaped(function->name), *address - function->address, count);
        }
        if (nameless != 0) {
            code_.outcome.warnings.push_back(std::to_string(nameless) +
                                             " sampled addresses are left out: no function's symbol is there");
        }
        code_.outcome.summary = std::to_string(code_.samples.size() - nameless) + " sampled addresses";
        return Done{};
    }

    void add_branches() {
        for (const auto& [branch, count] : code_.branches) {
            append("B {} {} {} {}\n", text_of(branch.from), text_of(branch.to), count.taken, count.mispredicted);
        }
        for (const auto& [run, count] : code_.runs) {
            append("F {} {} {}\n", text_of(run.first), text_of(run.last), count);
        }
        code_.outcome.summary = std::to_string(code_.branches.size()) + " branches, for perf2bolt -pa";
    }

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    template <class... Values>
    void append(fmt::format_string<Values...> form, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
    }

    [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t offset) const {
        for (const ElfSegment& segment : code_.file->segments()) {
            if (offset >= segment.file_offset && offset - segment.file_offset < segment.size_bytes) {
                return segment.address + (offset - segment.file_offset);
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] std::string text_of(std::optional<std::uint64_t> offset) const {
        const std::optional<std::uint64_t> address = offset ? address_of(*offset) : std::nullopt;
        return address ? fmt::format("{:x}", *address) : "X:0";
    }

    HotCode& code_;
    std::string text_;
};

Result<QueryEnd> write_bolt(const ExportInput& input, Symbolizer& symbolizer, const NoOptions&, ExportSink& sink) {
    HotCode code = PERFLEET_TRY(read_hot_code(input, symbolizer, "bolt"));
    if (code.file == nullptr) {
        return Error{ErrorCode::kNotFound,
                     "bolt: the file of this build of " + code.image.name + " isn't at its path, or below --symfs"};
    }
    BoltProfile profile{code};
    if (code.branches.empty()) {
        PERFLEET_TRY(profile.add_samples());
    } else {
        profile.add_branches();
    }
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{profile.text()})));
    return std::move(code.outcome);
}

}  // namespace

ExportFormat bolt_format() {
    return with_options({.name = "bolt", .summary = "for llvm-bolt: a program's profile (--image)"}, no_options(),
                        write_bolt);
}

}  // namespace perfleet
