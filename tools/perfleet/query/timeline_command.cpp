// timeline: what each CPU ran when, as a page for browsers or a figure.
#include <memory>

#include "daemon/option/program_options.h"
#include "exporters/format/export_format.h"
#include "query-engine/select/selection_options.h"
#include "tools/perfleet/query/export_run.h"
#include "tools/perfleet/shell/figure_file.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr const char* kTimelineFormat = "timeline";

Result<int> run_timeline(ExportOptions& options) {
    PERFLEET_TRY(choose_figure_format(options.output, options.query.values));
    return run_export(options);
}

}  // namespace

void add_timeline_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<ExportOptions>(
        app, invocation, "timeline", "Draw the threads of each CPU over time: a page for browsers, SVG or PNG",
        run_timeline);
    options->format = kTimelineFormat;
    add_options(*command, {{"-o,--output FILE.html|.svg|.png", options->output,
                            "the figure to write; the name's suffix chooses the format", is_not_empty, is_required},
                           force_row(options->is_forced)});
    add_options(*command, find_export_format(kTimelineFormat)->options, options->query.values);
    options->query.add_to(*command, selection_options());
    options->query.add_input_to(*command);
}

}  // namespace perfleet
