// flamegraph: a page for browsers, or the same as text in the terminal; of what is stored, or recorded now.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "exporters/report/flame_text.h"
#include "exporters/report/report.h"
#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/command.h"
#include "target-collector/linux/command_line.h"
#include "tools/perfleet/query/export_run.h"
#include "tools/perfleet/record/record_first.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/run_program.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr const char* kPageFormat = "html";

struct FlameGraphOptions {
    ExportOptions page;
    bool is_text = false;
    std::string color = "auto";
    bool is_opened = false;          // in a browser
    std::vector<std::string> words;  // a FILE, or after -- a COMMAND
    std::vector<std::string> own_command_line;
    CommandLine line;  // of a recording

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
    PERFLEET_TRY(options.page.make_rows ? options.page.make_rows() : Done{});
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

// flamegraph.html, or a name beside it that is free.
std::string free_page_name() {
    constexpr int kNamesMax = 10'000;
    std::error_code error;
    std::string name = "flamegraph.html";
    for (int i = 2; i < kNamesMax && std::filesystem::exists(name, error); ++i) {
        name = "flamegraph-" + std::to_string(i) + ".html";
    }
    return name;
}

Result<Done> check_recording(const FlameGraphOptions& options) {
    for (const char* name : {"session", "select", "from", "until", "time", "before"}) {
        if (options.is_given(name)) {
            return Error{ErrorCode::kUsage,
                         std::string{"--"} + name + ": not with what is recorded now (-a, -p, -- COMMAND)"};
        }
    }
    return !options.page.query.gateway.empty() || !options.page.query.input.empty() || options.page.query.takes_all
               ? Error{ErrorCode::kUsage, "a recording (-a, -p, -- COMMAND) goes into a data folder: --data"}
               : Result<Done>{Done{}};
}

void open_in_browser(const std::string& page) {
    const bool has_display = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
    const auto opened = has_display ? run_program({"xdg-open", page}) : Result<ProgramOutput>{ProgramOutput{}};
    if (!opened.ok() || opened->status != 0) {
        print_note("--open: there is no browser here; open " + page + " in one");
    }
}

Result<int> draw(FlameGraphOptions& options) {
    if (options.is_text) {
        return run_text(options);
    }
    if (options.page.output == "-") {
        return Error{ErrorCode::kUsage,
                     "flamegraph needs an output: -o FILE.html writes a page for browsers, --text "
                     "draws in the terminal"};
    }
    const ExportFormat* const named = format_of_file(options.page.output);
    options.page.format = named == nullptr ? kPageFormat : named->name;
    const int status = PERFLEET_TRY(run_export(options.page));
    if (status == 0 && options.is_opened) {
        open_in_browser(options.page.output);
    }
    return status;
}

Result<int> run_flamegraph(FlameGraphOptions& options) {
    if (!asks_for_recording(options.line)) {
        return draw(options);
    }
    PERFLEET_TRY(check_recording(options));
    if (const auto event = options.page.query.values.extract("event")) {
        options.line.options.events = {std::get<std::string>(event.mapped())};
    }
    if (options.page.output == "-" && !options.is_text) {
        options.page.output = free_page_name();
    }
    const bool has_command = !options.line.options.command.empty();
    std::optional<Result<FirstRecording>> recorded;
    options.page.make_rows = [&]() -> Result<Done> {
        recorded = record_first(std::move(options.line), options.page.query.data, "perfleet flamegraph",
                                std::move(options.own_command_line));
        if (!recorded->ok()) {
            return Error{recorded->error()};
        }
        options.page.query.data = (*recorded)->folder;
        options.page.query.values["session"] = (*recorded)->session;
        return Done{};
    };
    Result<int> drawn = draw(options);
    if (recorded && !recorded->ok()) {
        return report_recording_error(recorded->error(), has_command);
    }
    return drawn.ok() && *drawn == 0 ? Result<int>{(*recorded)->exit_status} : std::move(drawn);
}

}  // namespace

void add_flamegraph_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<FlameGraphOptions>(
        app, invocation, "flamegraph", "Draw a flame graph: a page for browsers, or text",
        [&invocation](FlameGraphOptions& given) -> Result<int> {
            given.own_command_line = invocation.command_line();
            PERFLEET_TRY(
                take_file_and_command(given.words, invocation.arguments, given.page.query, given.line.options.command));
            return run_flamegraph(given);
        });
    add_options(*command, {{"-o,--output FILE.html", options->page.output,
                            "the page to write: one file, which needs no network; .svg and .png are pictures, other "
                            "suffixes are those of perfleet export",
                            is_not_empty},
                           force_row(options->page.is_forced),
                           {"--open", options->is_opened, "show the page in a browser, if there is one"},
                           {"file FILE", options->words,
                            "a perf.data file or a profile of pprof, as -i; after --: a command and its arguments, "
                            "which are recorded first, into --data. Without -o the page is flamegraph.html then"},
                           {"--text", options->is_text, "draw in the terminal instead, callers above"},
                           {"--color WHEN", options->color, "of --text: auto, always or never",
                            is_one_of({"auto", "always", "never"})}});
    add_options(*command, find_export_format(kPageFormat)->options, options->page.query.values);
    add_live_options(*command, options->line, "Record first");
    options->page.query.add_to(*command, selection_options());
    options->page.query.add_input_to(*command);
}

}  // namespace perfleet
