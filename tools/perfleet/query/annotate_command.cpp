// annotate: the instructions of a function, each with its samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "daemon/option/program_options.h"
#include "exporters/report/amount_text.h"
#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"
#include "tools/perfleet/query/annotation.h"
#include "tools/perfleet/query/perf_commands.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr double kHotPercent = 5.0;  // as perf colours them
constexpr double kWarmPercent = 0.5;

struct AnnotateOptions {
    QueryOptions query;
    OutputOptions output;
    std::vector<std::string> words;  // a function, behind a FILE at most
    std::string symbol;
    std::string objdump = "objdump";
    bool has_no_source = false;
    bool has_inlines = false;

    // What --symbol or the argument names.
    [[nodiscard]] std::string query_symbol() const {
        const auto named = query.values.find("symbol");
        return named == query.values.end() ? symbol : std::get<std::string>(named->second);
    }
};

std::string text_of(const AnnotatedFunction& function, const std::vector<AnnotatedLine>& lines, const std::string& unit,
                    const Screen& screen) {
    const auto whole = static_cast<double>(function.total.amount);
    const AmountScale scale = amount_scale(unit, std::abs(whole));
    std::string text = fmt::format("{} in {}: {} ({})\n\n{:>8} {:>8}  {:>8}  {}\n", printable(function.symbol),
                                   printable(function.image), amount_text(whole, unit),
                                   grouped_for(counted_noun(function.total.rows, "sample"), screen), "percent",
                                   scale.unit, "address", "instruction");
    for (const AnnotatedLine& line : lines) {
        std::string shown =
            line.address.empty()
                ? fmt::format("{:>8} {:>8}  {}", "", "", printable(line.text))
                : fmt::format("{:>8} {:>8}  {:>8}  {}", line.self.rows == 0 ? "" : fmt::format("{:.2f}%", line.percent),
                              line.self.rows == 0 ? "" : amount_number(static_cast<double>(line.self.amount), scale),
                              line.address, printable(line.text));
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

Result<int> run_annotate(AnnotateOptions& options) {
    std::vector<std::string>& words = options.words;
    take_file(words, options.query);
    if (words.size() > 1) {
        return Error{ErrorCode::kUsage, "'" + words.back() + "': one function, behind a FILE at most"};
    }
    if (!words.empty()) {
        options.symbol = words.front();
        options.query.values["symbol"] = options.symbol;
    }
    const auto counts = PERFLEET_TRY(ask_table(options.query, **find_query_command("annotate")));
    Answer answer;
    const std::string unit = counts.measure ? counts.measure->unit : "samples";
    answer.columns = {{"symbol", ""},
                      {"image", ""},
                      {"address", ""},
                      {"self", unit},
                      {"self_percent", "percent"},
                      {"self_samples", "samples"},
                      {"text", ""}};
    answer.measure = counts.measure;
    const bool knows_samples = !counts.measure || counts.measure->samples;
    answer.ledger = counts.ledger;
    answer.warnings = counts.warnings;
    const AnnotateTools tools{options.query.symbol_paths(), options.objdump, !options.has_no_source,
                              options.has_inlines};
    std::string text;
    for (const AnnotatedFunction& function : functions_of(counts)) {
        const auto lines = PERFLEET_TRY(annotate(function, tools, answer.warnings));
        text += (text.empty() ? "" : "\n") + text_of(function, lines, unit, options.output.screen());
        for (const AnnotatedLine& line : lines) {
            const bool is_instruction = !line.address.empty();
            answer.rows.push_back({AnswerValue{function.symbol}, AnswerValue{function.image},
                                   is_instruction ? AnswerValue{"0x" + line.address} : AnswerValue{},
                                   is_instruction ? integer_value(line.self.amount) : AnswerValue{},
                                   is_instruction ? AnswerValue{line.percent} : AnswerValue{},
                                   is_instruction && knows_samples ? AnswerValue{line.self.rows} : AnswerValue{},
                                   AnswerValue{line.text}});
        }
    }
    if (text.empty()) {
        if (answer.ledger.produced == 0 && !answer.warnings.empty()) {
            return Error{ErrorCode::kNotFound, answer.warnings.front()};
        }
        return Error{ErrorCode::kNotFound,
                     "no samples are in a function named \"" + options.query_symbol() +
                         "\" (perfleet top lists functions; a file of another build than was recorded "
                         "gives no names)"};
    }
    PERFLEET_TRY(options.output.is_text() ? print_answer(answer, text, options.output)
                                          : print_answer(answer, options.output));
    return 0;
}

}  // namespace

void add_annotate_command(CLI::App& app, Invocation& invocation) {
    const QueryCommand& query = **find_query_command("annotate");
    const auto [command, options] =
        add_command<AnnotateOptions>(app, invocation, query.name, query.summary, run_annotate);
    command->footer(query.footer);
    add_options(
        *command,
        {{"words SYMBOL", options->words,
          "the function, as perfleet top names it (as --symbol); a FILE, as of -i, may come before it", is_not_empty},
         {"--objdump PATH", options->objdump, "the objdump that disassembles (default: objdump)", is_not_empty},
         {"--no-source", options->has_no_source, "leave out the lines of the source"},
         {"--inlines", options->has_inlines, "name the functions that were inlined, and where",
          excludes({"--no-source"})}});
    add_options(*command, query.options, options->query.values);
    add_options(*command, output_rows(options->output));
    options->query.add_to(*command, with_perf_aliases(query.name, query.selection()));
    options->query.add_input_to(*command);
}

}  // namespace perfleet
