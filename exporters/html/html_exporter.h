// Writes what a scan selects as one HTML page without network: flame graph, tables, a strip of time; and with another
// scan what changed between both. README.md has the page's parts and the data in it.
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

// `before`: null, or what is compared with `scan`.
[[nodiscard]] Result<QueryEnd> export_html(const Scan& scan, const Scan* before, Symbolizer& symbolizer,
                                           const HtmlOptions& options, ExportSink& sink);

// The selection of --before: what its text leaves out is as in `selected`. Errors: kUsage.
[[nodiscard]] Result<Selection> before_selection(const std::string& text_untrusted, const Selection& selected,
                                                 UtcNs now);

}  // namespace perfleet
