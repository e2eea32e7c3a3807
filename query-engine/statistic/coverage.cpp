#include "query-engine/statistic/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/inventory.h"
#include "schemas/vocabulary/off_cpu.h"
#include "schemas/vocabulary/uncovered_time.h"

namespace perfleet {
namespace {

constexpr double kWorthAWarning = 0.001;  // of the time: less is in the last digit that is shown

std::optional<Series> uncovered_series(const ScannedSession& session) {
    for (const Series& series : session.series) {
        const EventRecord* const event = session.record.event_at(series.event);
        if (series.kind == Kind::kCounter && event != nullptr && event->name == kUncoveredTimeEvent) {
            return series;
        }
    }
    return std::nullopt;
}

// In ticks of the session's clock, between the first and the last reading of the range.
struct Uncovered {
    std::uint64_t ticks = 0;
    std::uint64_t measured = 0;
};

std::optional<Uncovered> uncovered_time(const Scan& scan, std::size_t session_index, Series series) {
    const ScannedSession& session = scan.sessions()[session_index];
    const auto [from, to] = scan.tick_range(session_index);
    struct CoverageReading {
        std::uint64_t ticks;
        std::uint64_t value;
    };
    CoverageReading first{session.record.start_point.ticks.value, 0};
    bool has_first = !scan.selection().from;
    std::optional<CoverageReading> last;
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kValue};
    RowCursor rows{scan, session_index, series, kWanted};
    while (const RowBlock* const block = rows.next()) {
        const auto times = block->rows.integers(ColumnId::kTime);
        const auto values = block->rows.integers(ColumnId::kValue);
        for (std::size_t i = 0; i < times.size(); ++i) {
            if (Ticks{times[i]} < from || Ticks{times[i]} >= to) {
                continue;
            }
            const CoverageReading reading{times[i], values[i]};
            if (!has_first || (scan.selection().from && reading.ticks < first.ticks)) {
                first = reading;
                has_first = true;
            }
            if (!last || reading.ticks > last->ticks) {
                last = reading;
            }
        }
    }
    if (!rows.status().ok() || !last || last->ticks <= first.ticks || last->value < first.value) {
        return std::nullopt;  // whoever profiles the session says what is damaged
    }
    return Uncovered{last->value - first.value, last->ticks - first.ticks};
}

}  // namespace

bool weighs_by_default(const Scan& scan, const EventChoice& choice) {
    const auto counts_uncovered = [](const ScannedSession& session) { return uncovered_series(session).has_value(); };
    return off_cpu::is_event(choice.name) ||
           (choice.is_sampled && !choice.unit.empty() && !scan.sessions().empty() &&
            std::all_of(scan.sessions().begin(), scan.sessions().end(), counts_uncovered));
}

void warn_of_uncovered_time(const Scan& scan, std::vector<std::string>& warnings) {
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        const ScannedSession& session = scan.sessions()[i];
        const std::optional<Series> series = uncovered_series(session);
        const std::optional<Uncovered> uncovered = series ? uncovered_time(scan, i, *series) : std::nullopt;
        if (!uncovered) {
            continue;
        }
        const double share = static_cast<double>(uncovered->ticks) / static_cast<double>(uncovered->measured);
        if (share >= kWorthAWarning) {
            warnings.push_back(
                fmt::format("session {}: its sampling covered {:.1f} % of the time: periods were skipped, "
                            "which no ledger counts (perfleet counters --event '{}')",
                            session_hex(session.record.session).substr(0, 8), 100 * (1 - std::min(share, 1.0)),
                            kUncoveredTimeEvent));
        }
    }
}

}  // namespace perfleet
