#include "query-engine/statistic/latency/latency_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/latency/tracepoint_rows.h"
#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/number/validity_warning.h"
#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/session_changes.h"
#include "schemas/text/layout.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/row_clock.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

constexpr std::size_t kGroupsMax = 4'096;
constexpr std::uint64_t kFewValues = 30;
constexpr std::uint64_t kEqualValuesMin = 6;  // fewer equal values say nothing about their spread
constexpr std::size_t kOrderValuesMin = 20;
constexpr std::size_t kValidityWarningValuesMax = 1U << 20;
constexpr long double kSure = 0.001L;  // level of validity warnings: every series is tested for them

std::uint64_t effective_values(std::uint64_t count, long double dependence) {
    return static_cast<std::uint64_t>(std::llround(static_cast<long double>(count) / dependence));
}

struct ValueRow {
    std::uint64_t ticks = 0;
    std::uint64_t value = 0;
    std::uint64_t group = 0;
    std::uint64_t test_size = 1;
    std::uint64_t test = 0;
};

// Visits the series' rows in the time range, a block at a time.
Result<Done> visit_values(const Scan& scan, std::size_t session_index, Series series,
                          const std::function<Visit(std::span<const ValueRow>)>& visitor) {
    constexpr std::array kSingle{ColumnId::kTime, ColumnId::kValue};
    constexpr std::array kAccumulated{ColumnId::kTime, ColumnId::kTestSize, ColumnId::kGroup, ColumnId::kTest,
                                      ColumnId::kValue};
    const bool is_accumulated = series.kind == Kind::kLatency;
    std::vector<ValueRow> rows;
    RowCursor blocks{scan, session_index, series,
                     is_accumulated ? std::span<const ColumnId>{kAccumulated} : std::span<const ColumnId>{kSingle}};
    while (const RowBlock* const block = blocks.next()) {
        const auto times = block->rows.integers(ColumnId::kTime);
        const auto values = block->rows.integers(ColumnId::kValue);
        rows.clear();
        for (std::size_t i = 0; i < times.size(); ++i) {
            ValueRow& row = rows.emplace_back();
            row.ticks = times[i];
            row.value = values[i];
            if (is_accumulated) {
                row.test_size = block->rows.integers(ColumnId::kTestSize)[i];
                row.group = block->rows.integers(ColumnId::kGroup)[i];
                row.test = block->rows.integers(ColumnId::kTest)[i];
            }
        }
        if (visitor(rows) == Visit::kStop) {
            break;
        }
    }
    return blocks.status();
}

// Selects a source's rows of a series, visited in order: those of its group without its first tests, or all but the
// first ones of the time range.
class SourceRows {
public:
    explicit SourceRows(const ValueSource& source) : source_{source}, to_skip_{source.skipped_tests} {}

    bool takes(const ValueRow& row) {
        if (source_.group) {
            return row.group == *source_.group && row.test_size == source_.test_size &&
                   row.test > source_.skipped_tests;
        }
        if (to_skip_ != 0) {
            --to_skip_;
            return false;
        }
        return true;
    }

private:
    const ValueSource& source_;
    std::uint64_t to_skip_;
};

std::string event_text(const ScannedSession& session, Series series, bool is_unit) {
    const EventRecord* const event = session.record.event_at(series.event);
    if (event == nullptr) {
        return "";
    }
    return is_unit ? event->unit : event->name;
}

}  // namespace

ValuePieces ValueSource::pieces(const Scan& scan) const {
    return [source = *this, &scan](const auto& visitor) -> Result<Done> {
        if (!source.pair.empty()) {
            const auto pairs = PERFLEET_TRY(pairs_of_tracepoints(scan, source.session_index, source.pair));
            const std::span<const std::uint64_t> values{pairs.durations};
            visitor(values.subspan(std::min<std::uint64_t>(source.skipped_tests, values.size())));
            return Done{};
        }
        std::vector<std::uint64_t> values;
        SourceRows ours{source};
        return visit_values(scan, source.session_index, source.series, [&](std::span<const ValueRow> rows) {
            values.clear();
            for (const ValueRow& row : rows) {
                if (ours.takes(row)) {
                    values.push_back(row.value);
                }
            }
            visitor(std::span<const std::uint64_t>{values});
            return Visit::kContinue;
        });
    };
}

TimedPieces ValueSource::timed_pieces(const Scan& scan) const {
    return [source = *this, &scan](const auto& visitor) -> Result<Done> {
        std::vector<TimedValue> values;
        if (!source.pair.empty()) {
            const auto pairs = PERFLEET_TRY(pairs_of_tracepoints(scan, source.session_index, source.pair));
            for (std::size_t i = source.skipped_tests; i < pairs.durations.size(); ++i) {
                values.push_back({pairs.ends[i], pairs.durations[i]});
            }
            visitor(std::span<const TimedValue>{values});
            return Done{};
        }
        SourceRows ours{source};
        return visit_values(scan, source.session_index, source.series, [&](std::span<const ValueRow> rows) {
            values.clear();
            for (const ValueRow& row : rows) {
                if (ours.takes(row)) {
                    values.push_back({row.ticks, row.value});
                }
            }
            visitor(std::span<const TimedValue>{values});
            return Visit::kContinue;
        });
    };
}

bool holds_measured_values(const SessionRecord& session) { return session.clock_name == kRowClock; }

Result<std::vector<ValueSource>> find_value_sources(const Scan& scan, std::uint64_t skipped_tests, bool with_zeros) {
    std::vector<ValueSource> sources;
    for (const std::size_t index : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[index];
        for (const Series& series : session.series) {
            const bool is_accumulated = series.kind == Kind::kLatency;
            if ((!is_accumulated && session.record.kind_of(series) != Kind::kTracepoint) ||
                !scan.is_selected(index, series)) {
                continue;
            }
            ValueSource source;
            source.session_index = index;
            source.series = series;
            source.event = event_text(session, series, false);
            source.unit = event_text(session, series, true);
            source.skipped_tests = skipped_tests;
            if (!is_accumulated && with_zeros) {
                sources.push_back(source);
                continue;
            }
            std::map<std::pair<std::uint64_t, std::uint64_t>, bool> groups;
            bool has_value = false;
            const bool is_measured = holds_measured_values(session.record);
            PERFLEET_TRY(visit_values(scan, index, series, [&](std::span<const ValueRow> rows) {
                for (const ValueRow& row : rows) {
                    has_value = has_value || is_measured || row.value != 0;
                    if (is_accumulated && groups.size() <= kGroupsMax) {
                        groups[{row.group, row.test_size}] = true;
                    }
                }
                return !is_accumulated && has_value ? Visit::kStop : Visit::kContinue;
            }));
            if (groups.size() > kGroupsMax) {
                scan.leave_out(
                    index, series,
                    "more than " + std::to_string(kGroupsMax) + " groups of " + source.event + ": they are left out");
                continue;
            }
            if (!is_accumulated && has_value) {
                sources.push_back(source);
            }
            for (const auto& [key, is_there] : groups) {
                source.group = key.first;
                source.test_size = key.second;
                sources.push_back(source);
            }
        }
    }
    return sources;
}

Result<std::vector<ValueSource>> find_pair_sources(const Scan& scan, const std::vector<std::string>& pair,
                                                   std::uint64_t skipped_tests, std::vector<std::string>& warnings) {
    if (scan.selection().event.has_value()) {
        return Error{ErrorCode::kUsage, "--event: --pair says which events"};
    }
    for (const std::string& event : pair) {
        if (std::none_of(scan.sessions().begin(), scan.sessions().end(),
                         [&](const ScannedSession& session) { return has_tracepoint(session, event); })) {
            return Error{ErrorCode::kUsage,
                         "--pair: no tracepoint " + event + " in the selection (perfleet tracepoints lists them)"};
        }
    }
    std::vector<ValueSource> sources;
    for (const std::size_t index : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[index];
        const auto start = std::find_if(session.series.begin(), session.series.end(),
                                        [&](const Series& series) { return is_tracepoint(session, series, pair[0]); });
        if (start == session.series.end() || !has_tracepoint(session, pair[1])) {
            continue;
        }
        const auto pairs = PERFLEET_TRY(pairs_of_tracepoints(scan, index, pair));
        if (const std::string unpaired = pairs.unpaired(); !unpaired.empty()) {
            warnings.push_back("session " + session_hex(session.record.session).substr(0, 8) + ": " + unpaired);
        }
        if (!pairs.durations.empty()) {
            ValueSource& source = sources.emplace_back();
            source.session_index = index;
            source.series = *start;
            source.event = pair[0] + " to " + pair[1];
            source.unit = tick_unit(session.record);
            source.skipped_tests = skipped_tests;
            source.pair = pair;
        }
    }
    return sources;
}

void add_series(AnswerLedger& ledger, const Scan& scan, const ValueSource& source) {
    ledger.add(source.session_index, source.series);
    if (!source.pair.empty()) {
        const ScannedSession& session = scan.sessions()[source.session_index];
        for (const Series& series : session.series) {
            if (is_tracepoint(session, series, source.pair[1])) {
                ledger.add(source.session_index, series);
            }
        }
    }
}

void add_identity(RowMaker& row, const Scan& scan, const ValueSource& source) {
    const ScannedSession& session = scan.sessions()[source.session_index];
    row.add("session", "", session_hex(session.record.session));
    row.add("target", "", session.record.target_name);
    row.add("event", "", source.event);
    row.add("unit", "", row.unit().name);
    row.add("status", "", text_or_null(run_status(scan, source.session_index)));
    row.add("test_size", "", whole_if(source.group.has_value(), source.test_size));
}

void add_moments(RowMaker& row, const Moments& moments, long double confidence, const Description* described) {
    auto interval = described != nullptr
                        ? skewed_mean_interval(moments, described->skewness, confidence, described->dependence)
                        : mean_interval(moments, MeanBasis::kStudent, confidence);
    // Equal values hide differences below a step of the clock: the interval is two steps wide, as in `diff`.
    if (interval && moments.min() == moments.max()) {
        interval = moments.count() < kEqualValuesMin
                       ? std::nullopt
                       : std::optional{Interval{*moments.mean() - 1, *moments.mean() + 1}};
    }
    row.add("count", "", moments.count());
    if (described != nullptr) {
        row.add("effective", "", effective_values(moments.count(), described->dependence));
    }
    row.value("min", moments.min());
    row.value("max", moments.max());
    row.figure("mean", moments.mean());
    row.figure("mean_low", interval ? std::optional{interval->low} : std::nullopt);
    row.figure("mean_high", interval ? std::optional{interval->high} : std::nullopt);
    row.square("var", moments.variance());
    row.figure("sd", moments.standard_deviation());
    row.add("cv", "percent", percent(moments.coefficient_of_variation()));
}

Result<std::vector<std::uint64_t>> first_values(const Scan& scan, const ValueSource& source, std::size_t count_max,
                                                MemoryShare& share) {
    std::vector<std::uint64_t> values;
    if (!source.pair.empty()) {
        const auto read = source.pieces(scan)([&](std::span<const std::uint64_t> durations) {
            values.assign(durations.begin(),
                          durations.begin() + static_cast<std::ptrdiff_t>(std::min(durations.size(), count_max)));
        });
        share.add(values.capacity() * sizeof(std::uint64_t));
        return !read.ok()            ? Result<std::vector<std::uint64_t>>{Error{read.error()}}
               : share.is_exceeded() ? scan.memory().exceeded()
                                     : Result<std::vector<std::uint64_t>>{std::move(values)};
    }
    SourceRows ours{source};
    PERFLEET_TRY(visit_values(scan, source.session_index, source.series, [&](std::span<const ValueRow> rows) {
        const std::size_t before = values.capacity();
        for (const ValueRow& row : rows) {
            if (ours.takes(row) && values.size() < count_max) {
                values.push_back(row.value);
            }
        }
        share.add((values.capacity() - before) * sizeof(std::uint64_t));
        return values.size() < count_max && !share.is_exceeded() ? Visit::kContinue : Visit::kStop;
    }));
    PERFLEET_TRY(share.check());
    return values;
}

std::optional<std::string> label_of(const SessionRecord& session, const std::string& key) {
    const auto label =
        std::find_if(session.labels.begin(), session.labels.end(), [&](const auto& one) { return one.first == key; });
    return label == session.labels.end() ? std::nullopt : std::optional{label->second};
}

std::optional<double> clock_hz_of(const SessionRecord& session) {
    const auto text = label_of(session, "clock_hz");
    const auto hertz = text ? number_of<double>(*text) : std::nullopt;
    return hertz && *hertz > 0 ? hertz : std::nullopt;
}

std::vector<std::string> validity_warnings_of(const std::string& name, std::vector<std::uint64_t> in_order) {
    std::vector<std::string> validity_warnings;
    const auto count = static_cast<long double>(in_order.size());
    if (in_order.size() < kFewValues) {
        validity_warnings.push_back(fmt::format("{}: {}; below {} the intervals lean on a normal distribution", name,
                                                counted_noun(in_order.size(), "value"), kFewValues));
    }
    if (in_order.size() >= kOrderValuesMin) {
        const auto order = order_effect(in_order);
        const bool is_ordered = order && order->is_effect();
        const auto correlation = lag_one_correlation(in_order);
        if (is_ordered && correlation && std::abs(*correlation) > 3.2905L / std::sqrt(count)) {
            const std::uint64_t effective = effective_values(in_order.size(), dependence_of_mean(in_order));
            validity_warnings.push_back(
                fmt::format("{}: values depend on the one before (autocorrelation {:.2f} at lag 1): for the mean {} "
                            "values have as much information as {} independent ones",
                            name, static_cast<double>(*correlation), in_order.size(), effective));
        }
        if (const auto needed = values_needed_for_percentiles(in_order)) {
            validity_warnings.push_back(
                fmt::format("{}: no intervals of percentiles: {} values that depend on those before them are too few "
                            "to estimate that dependence; about {} would do",
                            name, in_order.size(), *needed));
        }
        if (const auto runs = runs_test(in_order); is_ordered && runs && *runs < kSure) {
            validity_warnings.push_back(
                fmt::format("{}: not in random order (runs test, p = {:.1g})", name, static_cast<double>(*runs)));
        }
        if (const auto drift = drift_of(in_order); drift && drift->p_value < kSure && drift->is_effect()) {
            validity_warnings.push_back(fmt::format(
                "{}: drifts {}: a value of the second half is greater than one of the first in "
                "{:.0f} % of pairs",
                name, drift->superiority > 0.5L ? "up" : "down", static_cast<double>(drift->superiority * 100)));
        }
    }
    std::sort(in_order.begin(), in_order.end());
    if (const auto timer = coarse_timer(in_order); timer && timer->step == 0) {
        validity_warnings.push_back(
            fmt::format("{}: all {} values are {}: is the timer too coarse to distinguish them?", name, in_order.size(),
                        timer->median));
    } else if (timer) {
        validity_warnings.push_back(
            fmt::format("{}: the timer's steps of {} are coarse for these values (half of them within {} "
                        "steps, median {})",
                        name, timer->step, timer->quartile_steps, timer->median));
    }
    if (const auto modes = modes_of(in_order); modes.size() > 1) {
        std::string places;
        for (const long double mode : modes) {
            places += fmt::format("{}{:.0f}", places.empty() ? "" : ", ", static_cast<double>(mode));
        }
        validity_warnings.push_back(
            fmt::format("{}: {} modes, near {}: one mean describes none of them", name, modes.size(), places));
    }
    if (const Outliers outliers = outliers_of(in_order); outliers.count != 0) {
        validity_warnings.push_back(
            fmt::format("{}: {} of {} values lie above {} (third quartile + 3 interquartile ranges)", name,
                        outliers.count, in_order.size(), outliers.limit));
    }
    return validity_warnings;
}

Result<std::vector<std::string>> validity_warnings_of(const Scan& scan, const ValueSource& source,
                                                      const std::string& name) {
    MemoryShare share{scan.memory()};
    auto values = PERFLEET_TRY(first_values(scan, source, kValidityWarningValuesMax, share));
    share.add(values.size() * sizeof(std::uint64_t));  // two halves are compared
    PERFLEET_TRY(share.check());
    return values.empty() ? std::vector<std::string>{} : validity_warnings_of(name, std::move(values));
}

namespace {

// The status that the collector stored after the session's rows.
std::optional<std::uint64_t> written_end(const Scan& scan, std::size_t session_index) {
    const auto changes = read_changes(scan, session_index);
    if (!changes.ok()) {
        return std::nullopt;
    }
    const auto end = std::find_if(changes->rbegin(), changes->rend(),
                                  [](const SessionChange& change) { return change.command == protocol::kRunEnded; });
    return end == changes->rend() ? std::nullopt : std::optional{end->value};
}

}  // namespace

std::optional<std::string> run_status(const Scan& scan, std::size_t session_index) {
    if (auto label = label_of(scan.sessions()[session_index].record, "status")) {
        return label;
    }
    const auto end = written_end(scan, session_index);
    return end ? std::optional<std::string>{*end == 0 ? "ok" : "failed"} : std::nullopt;
}

std::optional<std::string> failed_run(const Scan& scan, std::size_t session_index) {
    const SessionRecord& session = scan.sessions()[session_index].record;
    const auto status = run_status(scan, session_index);
    if (!status || *status == "ok") {
        return std::nullopt;
    }
    std::string why = label_of(session, "error").value_or("no reason given");
    if (const auto end = label_of(session, "status") ? std::nullopt : written_end(scan, session_index)) {
        why = *end == protocol::kRunIncomplete ? "not all of its rows came"
                                               : "the program ended with status " + std::to_string(*end);
    }
    return "session " + session_hex(session.session).substr(0, 8) + " is a run that " + *status + ": " + why;
}

std::optional<std::string> unsteady_frequency(const SessionRecord& session) {
    std::string why;
    if (const auto governor = label_of(session, "governor"); governor && *governor != "performance") {
        why = "governor " + *governor;
    }
    if (const auto turbo = label_of(session, "turbo"); turbo && *turbo != "off") {
        why += std::string{why.empty() ? "" : ", "} + "turbo " + *turbo;
    }
    if (const auto khz = label_of(session, "frequency_khz"); khz && khz->find('-') != std::string::npos) {
        why += std::string{why.empty() ? "" : ", "} + "CPUs at " + *khz + " kHz";
    }
    return why.empty() ? std::nullopt
                       : std::optional{"session " + session_hex(session.session).substr(0, 8) +
                                       ": the frequency may change while it measures (" + why + ")"};
}

std::vector<std::string_view> missing_of_checklist(const std::function<bool(std::string_view)>& has_label) {
    std::vector<std::string_view> missing;
    std::ranges::copy_if(kRunChecklist, std::back_inserter(missing), std::not_fn(has_label));
    return missing;
}

std::optional<std::string> missing_metadata(const SessionRecord& session) {
    const auto missing =
        missing_of_checklist([&](std::string_view key) { return label_of(session, std::string{key}).has_value(); });
    return missing.empty()
               ? std::nullopt
               : std::optional{fmt::format("session {} has no labels that say how it was measured: {} "
                                           "(--label of perfleet import and record sets them)",
                                           session_hex(session.session).substr(0, 8), fmt::join(missing, ", "))};
}

}  // namespace perfleet
