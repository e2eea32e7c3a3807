// `perfleet timeline`: what each CPU ran when, as an HTML page without network, SVG or PNG.
//
// The same stored rows and options give the same bytes. An empty selection gives an empty figure and a warning. Errors:
// kTooLarge when the query's memory is exceeded; those of the store and the sink.
#pragma once

#include <cstdint>

#include "exporters/sink/export_sink.h"
#include "query-engine/option/option.h"
#include "query-engine/scan/scan.h"

namespace perfleet {

enum class FigureFormat : std::uint8_t { kHtml, kSvg, kPng };

struct ScheduleOptions {
    FigureFormat format = FigureFormat::kHtml;
};

inline constexpr std::size_t kScheduleSpansMax = 150'000;  // of a page

[[nodiscard]] const OptionTable<ScheduleOptions>& schedule_options();

[[nodiscard]] Result<ExportOutcome> export_schedule(const Scan& scan, const ScheduleOptions& options, ExportSink& sink);

}  // namespace perfleet
