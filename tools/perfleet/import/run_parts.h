// Helpers with which formats build their runs.
#pragma once

#include <string>
#include <string_view>

#include "target-collector/source/sel4/log_buffer.h"
#include "tools/perfleet/import/imported_run.h"

namespace perfleet {

// A successful run without series.
inline ImportedRun new_run(const std::string& format) {
    ImportedRun run;
    run.labels = {{"format", format}, {"status", "ok"}};
    return run;
}

// A series without rows; event name and unit are the user's, else `event` and cycles.
inline ImportedSeries new_series(Kind kind, const ImportHints& hints, std::string_view event) {
    ImportedSeries series;
    series.kind = kind;
    series.event = hints.event.empty() ? event : hints.event;
    series.unit = hints.unit.empty() ? "cycles" : hints.unit;
    return series;
}

inline std::vector<std::uint64_t> utilisation_row(std::uint64_t thread, const sel4::UtilisationFigures& figures) {
    using enum ColumnId;
    return imported_row<Kind::kUtilisation>(
        column<kThread>(thread), column<kCycles>(figures.cycles), column<kSchedules>(figures.schedules),
        column<kKernelCycles>(figures.kernel_cycles), column<kKernelEntries>(figures.kernel_entries));
}

}  // namespace perfleet
