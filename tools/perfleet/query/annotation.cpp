#include "tools/perfleet/query/annotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>

#include "query-engine/statistic/profile/annotate.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "tools/perfleet/query/disassembly.h"

namespace perfleet {
namespace {

// Opens the file of this build. Errors: kNotFound, naming what was found instead.
Result<std::unique_ptr<ElfFile>> open_file(const AnnotatedFunction& function, const SymbolPaths& paths) {
    if (!function.image.starts_with('/')) {
        return Error{ErrorCode::kNotFound, function.image + " isn't a file: only addresses with samples are shown"};
    }
    std::vector<std::string> files;
    if (function.build_id.size() > 2 && !paths.build_id_cache.empty()) {
        files.push_back(paths.build_id_cache + "/.build-id/" + function.build_id.substr(0, 2) + "/" +
                        function.build_id.substr(2) + "/elf");
    }
    files.push_back(paths.symfs + function.image);
    Error why{ErrorCode::kNotFound, files.back() + " isn't here (--symfs DIR looks below a folder)"};
    for (const std::string& path : files) {
        Result<std::unique_ptr<ElfFile>> file = ElfFile::open(path);
        if (!file.ok()) {
            why = file.error().code == ErrorCode::kNotFound ? why : file.error();
            continue;
        }
        if (function.build_id.empty() || (*file)->has_build_id(bytes_of_hex(function.build_id).value_or(""))) {
            return file;
        }
        const std::string build_id = hex_of((*file)->build_id());
        why = {ErrorCode::kNotFound, path + " is another build: its build-id is " +
                                         (build_id.empty() ? "not there" : build_id) + ", recorded was " +
                                         function.build_id};
    }
    return Error{why.code, why.message + "; only addresses with samples are shown"};
}

// Samples between two instructions belong to the first: disassembly begins at the function's start.
std::vector<AnnotatedLine> lines_of(const AnnotatedFunction& function, const std::vector<DisassembledLine>& code,
                                    const std::map<std::uint64_t, Sum>& samples) {
    std::vector<AnnotatedLine> lines;
    auto sample = samples.begin();
    const auto whole = static_cast<double>(function.total.magnitude());
    const auto add = [&](std::string address, const Sum& self, std::string text) {
        lines.push_back({std::move(address), self, whole == 0 ? 0 : 100.0 * static_cast<double>(self.amount) / whole,
                         std::move(text)});
    };
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (!code[i].is_instruction) {
            add("", {}, code[i].text);
            continue;
        }
        const auto next = std::find_if(code.begin() + static_cast<std::ptrdiff_t>(i) + 1, code.end(),
                                       [](const auto& line) { return line.is_instruction; });
        for (; sample != samples.end() && sample->first < code[i].address; ++sample) {
            add(fmt::format("{:x}", sample->first), sample->second, "");
        }
        Sum self;
        for (; sample != samples.end() &&
               (next == code.end() ? sample->first == code[i].address : sample->first < next->address);
             ++sample) {
            self += sample->second;
        }
        add(fmt::format("{:x}", code[i].address), self, code[i].text);
    }
    for (; sample != samples.end(); ++sample) {
        add(fmt::format("{:x}", sample->first), sample->second, "");
    }
    return lines;
}

// Lines without code: `function+0x1c`, the offset in bytes.
std::vector<AnnotatedLine> bare_lines_of(const AnnotatedFunction& function) {
    std::vector<AnnotatedLine> lines = lines_of(function, {}, function.samples);
    auto line = lines.begin();
    for (const auto& [place, count] : function.samples) {
        line++->text = place >= function.start ? fmt::format("{}+{:#x}", function.symbol, place - function.start) : "";
    }
    return lines;
}

}  // namespace

std::vector<AnnotatedFunction> functions_of(const Answer& answer) {
    namespace column = annotate_column;
    std::map<std::tuple<std::string, std::string, std::string>, AnnotatedFunction> functions;
    for (const auto& row : answer.rows) {
        const auto text = [&](std::size_t at) { return std::get<std::string>(row[at]); };
        const auto number = [&](std::size_t at) { return std::get<std::uint64_t>(row[at]); };
        AnnotatedFunction& function = functions[{text(column::kImage), text(column::kBuildId), text(column::kSymbol)}];
        function.image = text(column::kImage);
        function.build_id = text(column::kBuildId);
        function.symbol = text(column::kSymbol);
        function.is_file_offset = number(column::kIsFileOffset) != 0;
        function.start = number(column::kStart);
        function.first = std::min(function.first, number(column::kFirst));
        function.last = std::max(function.last, number(column::kLast));
        const auto* const negative = std::get_if<std::int64_t>(&row[column::kSelf]);
        const std::int64_t amount = negative != nullptr ? *negative : static_cast<std::int64_t>(number(column::kSelf));
        const auto* const samples = std::get_if<std::uint64_t>(&row[column::kSelfSamples]);
        const Sum self{amount, samples != nullptr ? *samples : 0};
        function.samples[number(column::kOffset)] += self;
        function.total += self;
    }
    std::vector<AnnotatedFunction> sorted;
    for (auto& [key, function] : functions) {
        sorted.push_back(std::move(function));
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.total.magnitude() > b.total.magnitude(); });
    return sorted;
}

Result<std::vector<AnnotatedLine>> annotate(const AnnotatedFunction& function, const AnnotateTools& tools,
                                            std::vector<std::string>& warnings) {
    const Result<std::unique_ptr<ElfFile>> file = open_file(function, tools.paths);
    if (!file.ok()) {
        warnings.push_back(file.error().message);
        return bare_lines_of(function);
    }
    if (function.build_id.empty()) {
        warnings.push_back("no build-id of " + function.image + " was recorded: the file may be another build");
    }
    const auto address = [&](std::uint64_t place) {
        return function.is_file_offset ? address_of((*file)->segments(), place).value_or(place) : place;
    };
    std::map<std::uint64_t, Sum> samples;
    for (const auto& [place, count] : function.samples) {
        samples[address(place)] += count;
    }
    const Disassembly disassembly{tools.objdump,          (*file)->path(),  address(function.first),
                                  address(function.last), tools.has_source, tools.has_inlines};
    const auto code = PERFLEET_TRY(disassembly.read());
    return lines_of(function, code, samples);
}

}  // namespace perfleet
