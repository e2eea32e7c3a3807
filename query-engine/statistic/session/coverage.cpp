#include "query-engine/statistic/session/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/session_ledger.h"
#include "schemas/vocabulary/uncovered_time.h"

namespace perfleet {
namespace {

constexpr double kPercentWorthAWarning = 0.1;  // less would only show in the last digit
// For samples that were never taken: below both limits they don't matter.
constexpr double kPercentMissingWorthAWarning = 1;
constexpr std::uint64_t kMissingWorthAWarning = 20;
// Samples without names are there: few of them change no answer, and the collector has reported them.
constexpr double kPercentUnnamedWorthAWarning = 5;

struct MissingSamples {
    CountName reason;
    const char* text;
};
constexpr std::array kMissingSamples{
    MissingSamples{CountName::kLostNotDelivered,
                   "were not delivered: the kernel drops samples that hit while another BPF program runs on their CPU "
                   "(--call-graph fp or dwarf has them)"},
    MissingSamples{CountName::kLostThrottled, "are missing, as the kernel throttled the event (-F)"},
    MissingSamples{
        CountName::kLostTimerLate,
        "are missing, as the kernel's timer came late: interrupts were off, or the virtual machine didn't run"},
};

constexpr std::string_view kBelowPeriodText =
    "would be of time that no sample can stand for: threads that ended within a period of the event (sample more often "
    "or system-wide, or count it with perfleet stat)";
constexpr std::string_view kUnnamedText =
    "have no names of their interpreted functions: the first samples of a program come before the collector knows it, "
    "and some programs have ended before it reads their names";

bool counts_uncovered(const ScannedSession& session, Series series) {
    const EventRecord* const event = session.record.event_at(series.event);
    return series.kind == Kind::kCounter && event != nullptr && event->name == kUncoveredTimeEvent;
}

void warn_of_missing_samples(const Scan& scan, std::size_t session_index, Series series,
                             std::vector<std::string>& warnings) {
    const ScannedSession& session = scan.sessions()[session_index];
    const EventRecord* const event = session.record.event_at(series.event);
    const bool is_any = std::ranges::any_of(kMissingSamples, [&](const MissingSamples& missing) {
        return last_entry(session, series, missing.reason) >= kMissingWorthAWarning;
    });
    const std::uint64_t below_period = last_entry(session, series, CountName::kBelowPeriod);
    const std::uint64_t unnamed = last_entry(session, series, CountName::kNamesNotRead);
    if (event == nullptr || !scan.is_selected(session_index, series) ||
        (!is_any && below_period < kMissingWorthAWarning && unnamed < kMissingWorthAWarning)) {
        return;
    }
    std::vector<std::string> ignored;  // the answer's ledger reports them
    const Ledger ledger = scan.ledger(session_index, series, ignored);
    const auto warn = [&](std::uint64_t rows, std::uint64_t whole, std::string_view text,
                          double percent_worth_a_warning = kPercentMissingWorthAWarning) {
        const double percent = whole == 0 ? 0 : 100 * static_cast<double>(rows) / static_cast<double>(whole);
        if (rows >= kMissingWorthAWarning && percent > percent_worth_a_warning) {
            warnings.push_back(fmt::format("session {}: {} of {} rows of {} ({:.1f} %) {}",
                                           session_hex(session.record.session).substr(0, 8), rows, whole, event->name,
                                           percent, text));
        }
    };
    for (const MissingSamples& missing : kMissingSamples) {
        const auto lost = ledger.lost.find(std::string{count_name(missing.reason)});
        warn(lost == ledger.lost.end() ? 0 : lost->second, ledger.produced, missing.text);
    }
    // These counts are only known for the whole session.
    const std::uint64_t produced = last_entry(session, series, CountName::kProduced);
    warn(below_period, produced + below_period, kBelowPeriodText);
    warn(unnamed, produced, kUnnamedText, kPercentUnnamedWorthAWarning);
}

}  // namespace

bool is_from_collector(std::string_view warning) {
    return warning.ends_with(kBelowPeriodText) || warning.ends_with(kUnnamedText) ||
           std::ranges::any_of(kMissingSamples,
                               [&](const MissingSamples& missing) { return warning.ends_with(missing.text); });
}

// From the first to the last reading in the range.
std::optional<double> uncovered_percent(const Scan& scan, std::size_t session_index, Series series) {
    const ScannedSession& session = scan.sessions()[session_index];
    if (!counts_uncovered(session, series)) {
        return std::nullopt;
    }
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
        return std::nullopt;  // the profile itself reports the damage
    }
    const double share =
        static_cast<double>(last->value - first.value) / static_cast<double>(last->ticks - first.ticks);
    return 100 * std::min(share, 1.0);
}

void warn_of_uncovered_time(const Scan& scan, std::vector<std::string>& warnings) {
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        const ScannedSession& session = scan.sessions()[i];
        for (const Series series : session.series) {
            const double percent = uncovered_percent(scan, i, series).value_or(0);
            if (percent >= kPercentWorthAWarning) {
                warnings.push_back(
                    fmt::format("session {}: its sampling covered {:.1f} % of the time: periods were skipped, "
                                "which no ledger counts (perfleet counters --event '{}')",
                                session_hex(session.record.session).substr(0, 8), 100 - percent, kUncoveredTimeEvent));
            }
        }
        for (const Series series : scan.ledger_series(i)) {
            warn_of_missing_samples(scan, i, series, warnings);
        }
    }
}

}  // namespace perfleet
