#include "exporters/html/html_exporter.h"
#include "query-engine/service/export_format.h"
#include "query-engine/statistic/stack/frame_filter.h"

namespace perfleet {
namespace {

Result<QueryEnd> write_html(const ExportInput& input, Symbolizer& symbolizer, const HtmlOptions& options,
                            ExportSink& sink) {
    if (options.before.empty()) {
        return export_html(input.scan, nullptr, symbolizer, options, sink);
    }
    const auto selection = PERFLEET_TRY(before_selection(options.before, input.scan.selection(), input.now));
    Result<Scan> before = Scan::open(input.scan.store(), selection, input.context);
    if (!before.ok()) {
        return Error{before.error().code, "--before: " + before.error().message};
    }
    filter_frames(*before, input.paths);
    return export_html(input.scan, &*before, symbolizer, options, sink);
}

}  // namespace

ExportFormat html_format() {
    return with_options(
        {.name = "html", .summary = "flame graph: a page for browsers, SVG or PNG", .has_own_command = true},
        html_options(), write_html);
}

}  // namespace perfleet
