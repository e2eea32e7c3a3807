// flamegraph: a page for browsers, or the same as text in the terminal.
#include <memory>

#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "exporters/report/flame_text.h"
#include "exporters/report/report.h"
#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/command.h"
#include "tools/perfleet/query/export_run.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr const char* kPageFormat = "html";

struct FlameGraphOptions {
    ExportOptions page;
    bool is_text = false;
    std::string color = "auto";

    [[nodiscard]] bool is_given(const char* name) const { return page.query.values.contains(name); }
};

// Rejects options that only the page has, so that none is ignored silently.
Result<Done> check_text(const FlameGraphOptions& options) {
    for (const char* name : {"before", "within-run", "title", "slices", "slowest", "of", "as"}) {
        if (options.is_given(name)) {
            return Error{ErrorCode::kUsage, std::string{"--"} + name + ": --text doesn't use it (-o FILE.html does)"};
        }
    }
    if (options.page.output != "-") {
        return Error{ErrorCode::kUsage, "--text: is for the terminal, -o for the page: give one of them"};
    }
    return Done{};
}

Result<int> run_text(FlameGraphOptions& options) {
    PERFLEET_TRY(check_text(options));
    OutputOptions printing;
    printing.color = options.color;
    Screen screen = printing.screen();
    if (!screen.is_limited()) {
        screen.width_columns = kTerminalColumns;
    }
    // A frame narrower than a column is not visible.
    options.page.query.values["min-percent"] = 100.0 / static_cast<double>(screen.width_columns);
    const auto answer = PERFLEET_TRY(ask_table(options.page.query, **find_query_command("tree")));
    PERFLEET_TRY(print_answer(answer, flame_text(answer, screen) + "\n" + ledger_text(answer, screen), printing));
    return 0;
}

Result<int> run_flamegraph(FlameGraphOptions& options) {
    if (options.is_text) {
        return run_text(options);
    }
    if (options.page.output == "-") {
        return Error{ErrorCode::kUsage,
                     "flamegraph: where to? -o FILE.html writes a page for browsers, --text "
                     "draws in the terminal"};
    }
    const ExportFormat* const named = format_of_file(options.page.output);
    options.page.format = named == nullptr ? kPageFormat : named->name;
    return run_export(options.page);
}

}  // namespace

void add_flamegraph_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<FlameGraphOptions>(
        app, invocation, "flamegraph", "Draw a flame graph: a page for browsers, or text", run_flamegraph);
    add_options(*command, {{"-o,--output FILE.html", options->page.output,
                            "the page to write: one file, which needs no network; .svg and .png are pictures, other "
                            "ends are as of perfleet export",
                            is_not_empty},
                           force_row(options->page.is_forced),
                           {"--text", options->is_text, "draw in the terminal instead, callers above"},
                           {"--color WHEN", options->color, "of --text: auto, always or never",
                            is_one_of({"auto", "always", "never"})}});
    add_options(*command, find_export_format(kPageFormat)->options, options->page.query.values);
    options->page.query.add_to(*command, selection_options());
    options->page.query.add_input_to(*command);
}

}  // namespace perfleet
