// annotate: the instructions of a function, each with its samples.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "exporters/report/report.h"
#include "query-engine/statistic/annotate.h"
#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/vocabulary/option_value.h"
#include "tools/perfleet/command_options.h"
#include "tools/perfleet/disassembly.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/print_answer.h"
#include "tools/perfleet/query_source.h"
#include "tools/perfleet/terminal.h"

namespace perfleet {
namespace {

constexpr double kHotPercent = 5.0;  // as perf colours them
constexpr double kWarmPercent = 0.5;

struct AnnotateOptions {
    QueryOptions query;
    OutputOptions output;
    std::string symbol;
    std::string objdump = "objdump";
    bool has_no_source = false;

    // What --symbol or the argument names.
    [[nodiscard]] std::string query_symbol() const {
        const auto named = query.values.find("symbol");
        return named == query.values.end() ? symbol : std::get<std::string>(named->second);
    }
};

// A function of one build of an image.
struct Function {
    std::string image;
    std::string build_id;  // hexadecimal; empty: none was recorded
    std::string symbol;
    bool is_file_offset = false;
    std::uint64_t first = ~0ULL;  // offsets or addresses, both included
    std::uint64_t last = 0;
    std::map<std::uint64_t, std::uint64_t> samples;  // by offset or address
    std::uint64_t total = 0;
};

std::vector<Function> functions_of(const Answer& answer) {
    namespace column = annotate_column;
    std::map<std::tuple<std::string, std::string, std::string>, Function> functions;
    for (const auto& row : answer.rows) {
        const auto text = [&](std::size_t at) { return std::get<std::string>(row[at]); };
        const auto number = [&](std::size_t at) { return std::get<std::uint64_t>(row[at]); };
        Function& function = functions[{text(column::kImage), text(column::kBuildId), text(column::kSymbol)}];
        function.image = text(column::kImage);
        function.build_id = text(column::kBuildId);
        function.symbol = text(column::kSymbol);
        function.is_file_offset = number(column::kIsFileOffset) != 0;
        function.first = std::min(function.first, number(column::kFirst));
        function.last = std::max(function.last, number(column::kLast));
        function.samples[number(column::kOffset)] += number(column::kSamples);
        function.total += number(column::kSamples);
    }
    std::vector<Function> sorted;
    for (auto& [key, function] : functions) {
        sorted.push_back(std::move(function));
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
    return sorted;
}

// The file of this build. Errors: kNotFound, saying what was found instead.
Result<std::unique_ptr<ElfFile>> open_file(const Function& function, const SymbolPaths& paths) {
    if (!function.image.starts_with('/')) {
        return Error{ErrorCode::kNotFound, function.image + " is no file; only its addresses are shown"};
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
        const std::string build_id = build_id_text((*file)->build_id());
        if (function.build_id.empty() || build_id == function.build_id) {
            return file;
        }
        why = {ErrorCode::kNotFound, path + " is another build: its build-id is " +
                                         (build_id.empty() ? "not there" : build_id) + ", recorded was " +
                                         function.build_id};
    }
    return Error{why.code, why.message + "; only addresses are shown"};
}

// Offsets of the file → addresses, of what is loaded.
std::uint64_t address_of(const ElfFile& file, std::uint64_t offset) {
    for (const ElfSegment& segment : file.segments()) {
        if (offset >= segment.file_offset && offset - segment.file_offset < segment.size_bytes) {
            return segment.address + (offset - segment.file_offset);
        }
    }
    return offset;
}

struct Line {
    std::string address;  // empty: a line of the source
    std::uint64_t samples = 0;
    double percent = 0;
    std::string text;
};

// Samples between two instructions belong to the first: where the code was disassembled from is the function's start.
std::vector<Line> lines_of(const Function& function, const std::vector<DisassembledLine>& code,
                           const std::map<std::uint64_t, std::uint64_t>& samples) {
    std::vector<Line> lines;
    auto sample = samples.begin();
    const auto add = [&](std::string address, std::uint64_t count, std::string text) {
        const double percent =
            function.total == 0 ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(function.total);
        lines.push_back({std::move(address), count, percent, std::move(text)});
    };
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (!code[i].is_instruction) {
            add("", 0, code[i].text);
            continue;
        }
        const auto next = std::find_if(code.begin() + static_cast<std::ptrdiff_t>(i) + 1, code.end(),
                                       [](const auto& line) { return line.is_instruction; });
        for (; sample != samples.end() && sample->first < code[i].address; ++sample) {
            add(fmt::format("{:x}", sample->first), sample->second, "");
        }
        std::uint64_t count = 0;
        for (; sample != samples.end() &&
               (next == code.end() ? sample->first == code[i].address : sample->first < next->address);
             ++sample) {
            count += sample->second;
        }
        add(fmt::format("{:x}", code[i].address), count, code[i].text);
    }
    for (; sample != samples.end(); ++sample) {
        add(fmt::format("{:x}", sample->first), sample->second, "");
    }
    return lines;
}

Result<std::vector<Line>> annotate(const Function& function, const AnnotateOptions& options,
                                   std::vector<std::string>& warnings) {
    const Result<std::unique_ptr<ElfFile>> file = open_file(function, options.query.symbol_paths());
    if (!file.ok()) {
        warnings.push_back(file.error().message);
        return lines_of(function, {}, function.samples);
    }
    if (function.build_id.empty()) {
        warnings.push_back("no build-id of " + function.image + " was recorded: the file may be another build");
    }
    const auto address = [&](std::uint64_t place) {
        return function.is_file_offset ? address_of(**file, place) : place;
    };
    std::map<std::uint64_t, std::uint64_t> samples;
    for (const auto& [place, count] : function.samples) {
        samples[address(place)] += count;
    }
    const Disassembly disassembly{options.objdump, (*file)->path(), address(function.first), address(function.last),
                                  !options.has_no_source};
    const Result<std::vector<DisassembledLine>> code = disassembly.read();
    if (!code.ok()) {
        return Error{code.error()};
    }
    return lines_of(function, *code, samples);
}

std::string text_of(const Function& function, const std::vector<Line>& lines, const Screen& screen) {
    std::string text =
        fmt::format("{} in {}: {} samples\n\n{:>8} {:>8}  {:>8}  {}\n", printable(function.symbol),
                    printable(function.image), function.total, "percent", "samples", "address", "instruction");
    for (const Line& line : lines) {
        std::string shown =
            line.address.empty()
                ? fmt::format("{:>8} {:>8}  {}", "", "", printable(line.text))
                : fmt::format("{:>8} {:>8}  {:>8}  {}", line.samples == 0 ? "" : fmt::format("{:.2f}%", line.percent),
                              line.samples == 0 ? "" : std::to_string(line.samples), line.address,
                              printable(line.text));
        shown.erase(shown.find_last_not_of(' ') + 1);
        const char* const color = line.address.empty()           ? "\x1b[2m"
                                  : line.percent >= kHotPercent  ? "\x1b[31m"
                                  : line.percent >= kWarmPercent ? "\x1b[32m"
                                                                 : "";
        const bool is_colored = screen.has_color && *color != '\0';
        text += (is_colored ? color : "") + shown + (is_colored ? "\x1b[m" : "") + "\n";
    }
    return text;
}

int run(AnnotateOptions& options) {
    if (!options.symbol.empty()) {
        options.query.values["symbol"] = options.symbol;
    }
    const Result<Answer> counts = ask_table(options.query, **find_query_command("annotate"));
    if (!counts.ok()) {
        return report_error(counts.error());
    }
    Answer answer;
    answer.columns = {{"symbol", ""}, {"image", ""}, {"address", ""}, {"self", "samples"}, {"self_percent", "percent"},
                      {"text", ""}};
    answer.ledger = counts->ledger;
    answer.warnings = counts->warnings;
    std::string text;
    for (const Function& function : functions_of(*counts)) {
        const Result<std::vector<Line>> lines = annotate(function, options, answer.warnings);
        if (!lines.ok()) {
            return report_error(lines.error());
        }
        text += (text.empty() ? "" : "\n") + text_of(function, *lines, options.output.screen());
        for (const Line& line : *lines) {
            const bool is_instruction = !line.address.empty();
            answer.rows.push_back({AnswerValue{function.symbol}, AnswerValue{function.image},
                                   is_instruction ? AnswerValue{"0x" + line.address} : AnswerValue{},
                                   is_instruction ? AnswerValue{line.samples} : AnswerValue{},
                                   is_instruction ? AnswerValue{line.percent} : AnswerValue{}, AnswerValue{line.text}});
        }
    }
    if (text.empty()) {
        std::for_each(answer.warnings.begin(), answer.warnings.end(), print_warning);
        return report_error(
            {ErrorCode::kNotFound, "no samples are in a function named \"" + options.query_symbol() +
                                       "\" (perfleet top lists functions; a file of another build than was recorded "
                                       "gives no names)"});
    }
    const Result<Done> printed =
        options.output.is_text() ? print_answer(answer, text, options.output) : print_answer(answer, options.output);
    return printed.ok() ? 0 : report_error(printed.error());
}

}  // namespace

void add_annotate_command(CLI::App& app, Invocation& invocation) {
    const QueryCommand& query = **find_query_command("annotate");
    CLI::App* command = app.add_subcommand(query.name, query.summary);
    command->footer(query.footer);
    const auto options = std::make_shared<AnnotateOptions>();
    command->add_option("SYMBOL", options->symbol, "the function, as perfleet top names it (as --symbol)")
        ->check(check_not_empty);
    command->add_option("--objdump", options->objdump, "the objdump that disassembles (default: objdump)")
        ->check(check_not_empty)
        ->type_name("PATH");
    command->add_flag("--no-source", options->has_no_source, "leave out the lines of the source");
    add_command_options(*command, query.options, options->query.values);
    add_output_options(*command, options->output);
    options->query.add_to(*command, query.selection());
    command->callback([&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace perfleet
