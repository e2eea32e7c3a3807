#include "query-engine/statistic/latency/tracepoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/latency/latency_source.h"
#include "query-engine/statistic/latency/tracepoint_rows.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/legacy_summary.h"
#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/sel4/log_description.h"
#include "schemas/text/layout.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/probe_overhead.h"

namespace perfleet {
namespace {

constexpr std::size_t kEventsMax = 32;

class TracepointReport {
public:
    TracepointReport(const Scan& scan, const TracepointOptions& options) : scan_{scan}, options_{options} {}

    Result<Answer> make() {
        PERFLEET_TRY(check_events());
        for (const std::size_t index : sessions_by_start(scan_)) {
            PERFLEET_TRY(add_session(index));
        }
        if (answer_.columns.empty()) {
            answer_.columns = {{"session", ""}, {"target", ""}, {"event", ""}, {"rows", "rows"}};
        }
        answer_.ledger = ledger_.sum(answer_.warnings);
        warn_of_open_sessions(scan_, answer_.warnings);
        drop_repeated(answer_.warnings);
        return std::move(answer_);
    }

private:
    // Every named event must be in some session.
    Result<Done> check_events() const {
        std::vector<std::string> named = options_.events;
        named.insert(named.end(), options_.inner.begin(), options_.inner.end());
        for (const std::string& event : named) {
            const auto sessions = scan_.sessions();
            if (std::none_of(sessions.begin(), sessions.end(),
                             [&](const ScannedSession& session) { return has_tracepoint(session, event); })) {
                return usage("no session has a tracepoint \"" + event + "\"");
            }
        }
        return Done{};
    }

    [[nodiscard]] bool is_about(std::size_t index, Series series) const {
        const ScannedSession& session = scan_.sessions()[index];
        if (session.record.kind_of(series) != Kind::kTracepoint) {
            return false;
        }
        if (options_.events.empty()) {
            return scan_.is_selected(index, series);
        }
        return std::any_of(options_.events.begin(), options_.events.end(),
                           [&](const std::string& event) { return is_tracepoint(session, series, event); });
    }

    // Whether all rows of the series' event are of another kind: with details, or without.
    [[nodiscard]] static bool has_rows_of_other_kind(const ScannedSession& session, Series series) {
        const auto of_event = [&](Series other) {
            return other.event == series.event && traits_of(other.kind).has_call_chain;
        };
        return std::find(session.series.begin(), session.series.end(), series) == session.series.end() &&
               std::any_of(session.series.begin(), session.series.end(), of_event);
    }

    Result<Done> add_session(std::size_t index) {
        const ScannedSession& session = scan_.sessions()[index];
        session_ = &session;
        bool has_any = false;
        for (const Series& series : scan_.ledger_series(index)) {
            if (session.record.kind_of(series) == Kind::kTracepoint) {
                warn_of_log(series);
            }
            if (!is_about(index, series)) {
                continue;
            }
            has_any = true;
            ledger_.add(index, series);
            if (has_rows_of_other_kind(session, series)) {
                continue;  // losses alone
            }
            Result<Done> added = Done{};
            if (options_.view == TracepointView::kHits) {
                added = add_hits(index, series);
            } else if (options_.view == TracepointView::kCorrected) {
                added = add_corrected(index, series);
            }
            if (!added.ok()) {
                return added;
            }
        }
        if (!has_any) {
            return Done{};
        }
        switch (options_.view) {
            case TracepointView::kCombined: return add_combined(index);
            case TracepointView::kOverhead: return add_overhead(index);
            case TracepointView::kHits:
            case TracepointView::kCorrected: break;
        }
        return Done{};
    }

    [[nodiscard]] std::string name_of(Series series) const {
        const EventRecord* event = session_->record.event_at(series.event);
        return event != nullptr ? event->name : "event " + std::to_string(series.event.value);
    }
    [[nodiscard]] std::string unit_of(Series series) const {
        const EventRecord* event = session_->record.event_at(series.event);
        return event != nullptr ? event->unit : "";
    }
    [[nodiscard]] std::string unit_of(const std::string& event) const {
        for (const Series& series : session_->series) {
            if (is_tracepoint(*session_, series, event)) {
                return unit_of(series);
            }
        }
        return "";
    }
    [[nodiscard]] std::string session_name() const {
        return "session " + session_hex(session_->record.session).substr(0, 8);
    }

    void warn_of_log(Series series) {
        const EventRecord* event = session_->record.event_at(series.event);
        const bool is_corrected = options_.view == TracepointView::kCorrected;
        if (const auto overhead = parse_probe_overhead(event != nullptr ? event->format : "");
            overhead && !is_corrected) {
            answer_.warnings.push_back(probe_overhead_text(*overhead));
        }
        const auto description = event != nullptr ? sel4::parse_description(event->format) : std::nullopt;
        if (description && description->is_saturated) {
            answer_.warnings.push_back(session_name() +
                                       ": the log was full: later entries are lost, whichever id they had");
        }
    }

    void add_identity(RowMaker& row, const std::string& event) const {
        row.add("session", "", session_hex(session_->record.session));
        row.add("target", "", session_->record.target_name);
        row.add("event", "", event);
    }

    Result<Done> add_hits(std::size_t index, Series series) {
        constexpr std::array kWanted{ColumnId::kTime, ColumnId::kWeight, ColumnId::kValue};
        std::uint64_t row_count = 0;
        std::uint64_t weight = 0;
        bool has_value = false;
        Ticks first{~0ULL};
        Ticks last{0};
        RowCursor rows{scan_, index, series, kWanted};
        while (const RowBlock* const block = rows.next()) {
            const auto times = block->rows.integers(ColumnId::kTime);
            const auto weights = block->rows.integers(ColumnId::kWeight);
            const auto values = block->rows.integers(ColumnId::kValue);
            for (std::size_t row = 0; row < times.size(); ++row) {
                ++row_count;
                weight += weights[row];
                has_value = has_value || values[row] != 0;
                first = std::min(first, Ticks{times[row]});
                last = std::max(last, Ticks{times[row]});
            }
        }
        PERFLEET_TRY(rows.status());
        const auto moment = [&](Ticks ticks) {
            return row_count == 0 ? AnswerValue{} : AnswerValue{format_time(session_->clock.utc_of(ticks))};
        };
        Description described;
        if (has_value) {
            ValueSource source;
            source.session_index = index;
            source.series = series;
            described = PERFLEET_TRY(describe(source.pieces(scan_), std::array{Quantile::of_percent(99)}, 0.95L));
        }
        RowMaker row{answer_, unit_of(series)};
        add_identity(row, name_of(series));
        row.add("rows", "rows", row_count);
        row.add("weight", "", weight);
        row.add("unit", "", row.unit().name);
        row.add("first", "", moment(first));
        row.add("last", "", moment(last));
        const Moments& moments = described.moments;
        const auto value = [&](std::uint64_t figure) { return has_value ? std::optional{figure} : std::nullopt; };
        row.value("min", value(moments.min()), true);
        row.figure("median", has_value ? std::optional{described.median} : std::nullopt, true);
        row.value("p99", value(has_value ? described.percentiles[0].nearest : 0), true);
        row.value("max", value(moments.max()), true);
        row.figure("mean", moments.mean(), true);
        row.figure("sd", moments.standard_deviation(), true);
        row.end();
        return Done{};
    }

    Result<Done> add_values(const std::string& event, const std::string& unit,
                            const std::vector<std::uint64_t>& values) {
        const auto described = PERFLEET_TRY(describe(pieces_of(values), std::array{Quantile::of_percent(99)}, 0.95L));
        const Moments& moments = described.moments;
        const bool has_value = moments.count() != 0;
        const auto value = [&](std::uint64_t figure) { return has_value ? std::optional{figure} : std::nullopt; };
        RowMaker row{answer_, unit};
        add_identity(row, event);
        row.add("count", "", moments.count());
        row.value("min", value(moments.min()));
        row.figure("median", has_value ? std::optional{described.median} : std::nullopt);
        row.value("p99", value(has_value ? described.percentiles[0].nearest : 0));
        row.value("max", value(moments.max()));
        row.figure("mean", moments.mean());
        row.figure("sd", moments.standard_deviation());
        row.end();
        return Done{};
    }

    // Entries in log order; their keys are indices into `events`.
    Result<std::vector<TracepointEntry>> entries_of(std::size_t index, const std::vector<std::string>& events) {
        auto rows = PERFLEET_TRY(rows_of_tracepoints(scan_, index, events));
        std::vector<TracepointEntry> entries;
        for (const TracepointRow& row : rows) {
            entries.push_back({row.event_index, row.value});
        }
        return entries;
    }

    Result<Done> add_combined(std::size_t index) {
        const auto entries = PERFLEET_TRY(entries_of(index, options_.events));
        std::vector<std::uint64_t> keys(options_.events.size());
        std::string name;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            keys[i] = i;
            name += (i == 0 ? "" : "+") + options_.events[i];
        }
        std::size_t before = 0;
        while (before < entries.size() && entries[before].key != 0) {
            ++before;
        }
        if (before != 0) {
            answer_.warnings.push_back(fmt::format("{}: {} before the first {}: passed over", session_name(),
                                                   counted_noun(before, "entry stands", "entries stand"),
                                                   options_.events[0]));
        }
        return add_values(name, unit_of(options_.events[0]), combined_paths(entries, keys));
    }

    // Pairs each outer entry with the inner one that was logged just before it.
    Result<Done> add_overhead(std::size_t index) {
        const auto entries = PERFLEET_TRY(entries_of(index, options_.events));
        Moments effective;
        Moments total;
        std::uint64_t unpaired = 0;
        std::optional<std::uint64_t> inner;
        for (const TracepointEntry& entry : entries) {
            if (entry.key == 0) {
                unpaired += inner ? 1 : 0;
                inner = entry.duration;
            } else if (!inner || entry.duration < *inner) {
                ++unpaired;
                inner.reset();
            } else {
                effective.add(*inner);
                total.add(entry.duration - *inner);
                inner.reset();
            }
        }
        unpaired += inner ? 1 : 0;
        if (unpaired != 0) {
            answer_.warnings.push_back(fmt::format("{}: {} no nested pair of {} inside {}: left out", session_name(),
                                                   counted_noun(unpaired, "entry is", "entries are"),
                                                   options_.events[0], options_.events[1]));
        }
        add_overhead_row("total", unit_of(options_.events[0]), total);
        add_overhead_row("effective", unit_of(options_.events[0]), effective);
        if (options_.is_legacy) {
            answer_.warnings.emplace_back(
                "mode sel4bench-legacy: variance about the mean rounded down, divided by n, and sd by n - 1 from the "
                "same sum; the default takes both about the mean, by n - 1");
        }
        return Done{};
    }

    void add_overhead_row(const std::string& overhead, const std::string& unit, const Moments& moments) {
        const auto legacy = options_.is_legacy ? legacy_summary(moments) : std::nullopt;
        const bool has_value = moments.count() != 0;
        const auto value = [&](std::uint64_t figure) { return has_value ? std::optional{figure} : std::nullopt; };
        const auto figure = [&](long double LegacySummary::*published, const std::optional<long double>& ours) {
            return legacy ? std::optional{(*legacy).*published} : ours;
        };
        RowMaker row{answer_, unit};
        row.add("overhead", "", overhead);
        row.add("machine", "", label_of(session_->record, "machine").value_or(session_->record.target_name));
        row.add("samples", "", moments.count());
        row.value("min", value(moments.min()));
        row.value("max", value(moments.max()));
        row.figure("mean", figure(&LegacySummary::mean, moments.mean()));
        row.square("variance", figure(&LegacySummary::variance, moments.variance()));
        row.figure("sd", figure(&LegacySummary::standard_deviation, moments.standard_deviation()));
        row.add("sd_percent", "percent",
                legacy ? AnswerValue{legacy->deviation_percent} : percent(moments.coefficient_of_variation()));
        row.end();
    }

    // Pairs of events[0], the outer one, and of the others. Rows without times are in the order of their ends: within
    // an outer pair lie those since the previous outer pair, except longer ones and all before a longer one.
    Result<std::vector<TimedPair>> timed_pairs(std::size_t index, const std::vector<std::string>& events,
                                               const std::string& name) {
        const auto rows = PERFLEET_TRY(rows_of_tracepoints(scan_, index, events));
        const bool has_times = std::ranges::all_of(events, [&](const std::string& event) {
            return !has_tracepoint(*session_, event) || has_tracepoint(*session_, event + std::string{kEntrySuffix});
        });
        std::vector<TimedPair> pairs;
        std::size_t first = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const TracepointRow& row = rows[i];
            TimedPair pair{row.thread, row.ticks - std::min(row.value, row.ticks), row.ticks, row.event_index == 0,
                           row.value};
            if (!has_times) {
                pair.thread = 0;
                pair.begin = pair.end = i;
            }
            if (!has_times && pair.is_outer) {
                pair.begin = first;
                for (std::size_t inner = first; inner < i; ++inner) {
                    pair.begin = rows[inner].value > row.value ? inner + 1 : pair.begin;
                }
                first = i + 1;
            }
            pairs.push_back(pair);
        }
        if (!has_times && !options_.inner.empty()) {
            answer_.warnings.push_back(name +
                                       ": not all pairs have times; within count those that were logged since "
                                       "the entry before and aren't longer");
        }
        return pairs;
    }

    // Values of one event, each without the cost of its own pair and of the pairs inside it.
    Result<Done> add_corrected(std::size_t index, Series series) {
        const std::string name = name_of(series);
        if (std::any_of(options_.inner.begin(), options_.inner.end(),
                        [&](const std::string& event) { return is_tracepoint(*session_, series, event); })) {
            return Done{};  // an inner event has no pairs inside
        }
        std::vector<std::string> events{name};
        events.insert(events.end(), options_.inner.begin(), options_.inner.end());
        auto pairs = PERFLEET_TRY(timed_pairs(index, events, name));
        const std::vector<std::uint64_t> within = pairs_within(pairs);
        const ValueUnit unit = value_unit(unit_of(series));
        std::vector<long double> values;
        std::uint64_t below_zero = 0;
        for (const TimedPair& pair : pairs) {
            if (pair.is_outer) {
                const long double raw = static_cast<long double>(pair.duration) * unit.worth();
                const std::uint64_t inner_pairs = options_.inner_pairs.value_or(within[values.size()]);
                values.push_back(corrected(raw, options_.overhead, inner_pairs));
                below_zero += values.back() < 0 ? 1 : 0;
            }
        }
        if (values.empty()) {
            return Done{};
        }
        if (below_zero != 0) {
            answer_.warnings.push_back(
                fmt::format("{}: {} of {} values are below 0 without the overhead: it is that of "
                            "another machine, or these pairs are not inside",
                            name, below_zero, values.size()));
        }
        add_corrected_row(name, unit.name, values);
        return Done{};
    }

    void add_corrected_row(const std::string& name, const std::string& unit, std::vector<long double>& values) {
        std::sort(values.begin(), values.end());
        const std::uint64_t count = values.size();
        const RankBetween middle = rank_between(kMedian, count);
        long double sum = 0;
        for (const long double value : values) {
            sum += value;
        }
        const long double mean = sum / static_cast<long double>(count);
        long double squares = 0;
        for (const long double value : values) {
            squares += (value - mean) * (value - mean);
        }
        const long double between = values[middle.index] + (values[middle.next()] - values[middle.index]) *
                                                               static_cast<long double>(middle.billionths) /
                                                               Quantile::kWhole;
        RowMaker row{answer_, unit};
        add_identity(row, name);
        row.add("count", "", count);
        row.figure("min", values.front());
        row.figure("median", between);
        row.figure("p99", values[nearest_rank(Quantile::of_percent(99), count)]);
        row.figure("max", values.back());
        row.figure("mean", mean);
        row.figure("sd",
                   count > 1 ? std::optional{std::sqrt(squares / static_cast<long double>(count - 1))} : std::nullopt);
        row.end();
    }

    const Scan& scan_;
    const TracepointOptions& options_;
    const ScannedSession* session_ = nullptr;
    Answer answer_;
    AnswerLedger ledger_{scan_};
};

bool parse_cycles(const std::string& text, long double& value) {
    value = number_of<long double>(text).value_or(-1);
    return value >= 0 && std::isfinite(value);
}

// Options that choose a view: `text` names its events.
Result<Done> choose(TracepointView view, const char* name, char separator, bool is_pair, const std::string& text,
                    TracepointOptions& options) {
    if (!options.view_option.empty()) {
        return usage("--" + std::string{name} + ": not together with --" + options.view_option);
    }
    options.view_option = name;
    options.view = view;
    options.events = split_list(text, separator);
    if (options.events.size() < 2 || (is_pair && options.events.size() != 2) || options.events.size() > kEventsMax ||
        std::find(options.events.begin(), options.events.end(), "") != options.events.end()) {
        return option_error(name, text,
                            is_pair ? "two events with a comma between" : "events with + between, such as 2+3");
    }
    return Done{};
}

auto chooser(TracepointView view, const char* name, char separator = ',', bool is_pair = true) {
    return [=](const std::string& text, TracepointOptions& options) {
        return choose(view, name, separator, is_pair, text, options);
    };
}

Result<Done> read_overheads(const std::string& text, TracepointOptions& options) {
    auto chosen = choose(TracepointView::kCorrected, "correct", ',', true, text, options);
    if (chosen.ok() && (!parse_cycles(options.events[0], options.overhead.effective) ||
                        !parse_cycles(options.events[1], options.overhead.total))) {
        chosen = option_error("correct", text, "the effective and the total overhead, such as 208.69,550.33");
    }
    options.events.clear();
    return chosen;
}

Result<Done> read_inner(const std::string& text, TracepointOptions& options) {
    options.inner = split_list(text);
    return options.inner.size() <= kEventsMax ? Result<Done>{Done{}}
                                              : usage("--inner: more than " + std::to_string(kEventsMax) + " events");
}

Result<Done> check_combination(const OptionValues& values, TracepointOptions& options) {
    if (options.is_legacy && options.view != TracepointView::kOverhead) {
        return usage("--mode goes with --overhead; `latency --mode sel4bench-legacy` has the other values");
    }
    if ((!options.inner.empty() || options.inner_pairs) && options.view != TracepointView::kCorrected) {
        return usage("--inner and --inner-pairs go with --correct");
    }
    if (values.contains("event") && !options.events.empty()) {
        return usage("--event: --" + options.view_option + " names its events itself");
    }
    if (!options.inner.empty() && options.inner_pairs) {
        return usage("--inner-pairs: not together with --inner");
    }
    return Done{};
}

}  // namespace

const OptionTable<TracepointOptions>& tracepoint_options() {
    static const OptionTable<TracepointOptions> kTable =
        OptionTable<TracepointOptions>{}
            .text({"combine", OptionType::kText, "A+B",
                   "paths that were measured in parts, as one: the event that begins a path, then the others"},
                  chooser(TracepointView::kCombined, "combine", '+', false))
            .text({"overhead", OptionType::kText, "INNER,OUTER", "the cost of a pair, from nested empty pairs"},
                  chooser(TracepointView::kOverhead, "overhead"))
            .choice({.name = "mode",
                     .value_name = "MODE",
                     .summary = "with --overhead: older rules, for comparison with published figures"},
                    &TracepointOptions::is_legacy, {{"sel4bench-legacy", true}})
            .text({"correct", OptionType::kText, "EFF,TOTAL",
                   "values without the effective overhead, and without the total one for each pair inside, in cycles"},
                  read_overheads)
            .text({"inner", OptionType::kText, "EVENTS",
                   "with --correct: events whose pairs are subtracted if they lie within"},
                  read_inner)
            .count("inner-pairs", "N", "with --correct: the number of pairs inside each",
                   &TracepointOptions::inner_pairs)
            .finish(check_combination);
    return kTable;
}

Result<Answer> make_tracepoints(const Scan& scan, const TracepointOptions& options) {
    return TracepointReport{scan, options}.make();
}

}  // namespace perfleet
