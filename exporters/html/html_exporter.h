// Exports a scan as one HTML page without network access: flame graph, tables, a strip of time; with a second scan also
// the changes between both. README.md describes the page's parts and its data.
//
// The same stored rows and options give the same bytes. A selection without samples gives a page
// without frames and a warning. Errors: kTooLarge when the query's memory is exceeded; those of the stores.
#pragma once

#include <string>

#include "exporters/html/html_options.h"
#include "query-engine/scan/scan.h"
#include "query-engine/service/query.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// `before`: null, or the scan that `scan` is compared with.
[[nodiscard]] Result<QueryEnd> export_html(const Scan& scan, const Scan* before, Symbolizer& symbolizer,
                                           const HtmlOptions& options, ExportSink& sink);

// The selection of --before: defaults are those of `selected`. Errors: kUsage.
[[nodiscard]] Result<Selection> before_selection(const std::string& text_untrusted, const Selection& selected,
                                                 UtcNs now);

}  // namespace perfleet
