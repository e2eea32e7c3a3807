// Latencies of two selections, series by series.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/value_unit.h"
#include "query-engine/statistic/diff/diff_lines.h"
#include "query-engine/statistic/diff/diff_parts.h"
#include "query-engine/statistic/diff/diff_runs.h"
#include "query-engine/statistic/diff/diff_setting.h"
#include "query-engine/statistic/latency/latency_source.h"
#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/value_comparison.h"

namespace perfleet {
namespace {

// Values kept for a side of a series, to compare percentiles and ranks. Means and maxima use all values.
constexpr std::uint64_t kDiffValuesMax = 1U << 20;
constexpr std::uint64_t kDrawSeed = 20'240'229;
constexpr std::size_t kSessionsListedMax = 64;

// Repetitions of a benchmark have one line: both medians, and Hodges and Lehmann's change with Mann and Whitney's test.
constexpr const char* kRankedFigure = "median";

// The key by which two series are the same measurement.
struct PairKey {
    std::vector<std::string> labels;  // of --by
    std::string event;
    std::uint64_t test_size = 0;  // of accumulated latencies, else 0
    std::string unit;             // without decimals, which may differ between the sides

    friend auto operator<=>(const PairKey&, const PairKey&) = default;
};

std::string name_of(const PairKey& key) {
    std::string name = key.event + (key.test_size == 0 ? "" : fmt::format(" N={}", key.test_size));
    for (const std::string& label : key.labels) {
        name += " " + (label.empty() ? "-" : label);
    }
    return name;
}

using SourcesByKey = std::map<PairKey, std::vector<ValueSource>>;

Result<SourcesByKey> find_sources(const Scan& scan, const DiffOptions& options, std::vector<std::string>& warnings) {
    auto sources = PERFLEET_TRY(options.pair.empty() ? find_value_sources(scan, 0)
                                                     : find_pair_sources(scan, options.pair, 0, warnings));
    SourcesByKey found;
    for (ValueSource& source : sources) {
        PairKey key;
        for (const std::string& label : options.by) {
            key.labels.push_back(matched_value(scan.sessions()[source.session_index].record, label));
        }
        key.event = source.event;
        key.unit = value_unit(source.unit).name;
        key.test_size = source.group ? source.test_size : 0;
        found[key].push_back(std::move(source));
    }
    return found;
}

// Visits the source's values scaled to `decimals`, which are at least its own. Errors: kTooLarge (64 bits don't hold
// them), those of reading.
template <typename OnValues>
Result<Done> visit_values(const Scan& scan, const ValueSource& source, unsigned decimals, OnValues on_values) {
    std::uint64_t factor = 1;
    bool is_too_large = false;
    for (unsigned i = value_unit(source.unit).decimals; i < decimals; ++i) {
        is_too_large = __builtin_mul_overflow(factor, std::uint64_t{10}, &factor) || is_too_large;
    }
    std::vector<std::uint64_t> scaled;
    auto read = source.pieces(scan)([&](std::span<const std::uint64_t> values) {
        if (factor == 1) {
            on_values(values);
            return;
        }
        scaled.assign(values.begin(), values.end());
        for (std::uint64_t& value : scaled) {
            is_too_large = __builtin_mul_overflow(value, factor, &value) || is_too_large;
        }
        on_values(std::span<const std::uint64_t>{scaled});
    });
    if (read.ok() && is_too_large) {
        return Error{ErrorCode::kTooLarge,
                     fmt::format("{} is in {} here and in parts of 10^-{} there, of which 64 bits "
                                 "don't hold its values; import both with the same decimals",
                                 source.event, source.unit, decimals)};
    }
    return read;
}

Result<std::vector<ComparedRun>> read_runs(const Scan& scan, const std::vector<ValueSource>& sources,
                                           const std::map<std::size_t, std::size_t>& run_of, unsigned decimals,
                                           MemoryShare& share) {
    std::map<std::size_t, ComparedRun> runs;
    std::uint64_t count = 0;
    std::size_t ordered = 0;
    share.add(kDependenceValuesMax * sizeof(std::uint64_t));
    for (const ValueSource& source : sources) {
        PERFLEET_TRY(visit_values(scan, source, decimals, [&](std::span<const std::uint64_t> values) {
            ComparedRun& run = runs[run_of.at(source.session_index)];
            run.moments.add(values);
            count += values.size();
            const std::size_t first = std::min(values.size(), kDependenceValuesMax - ordered);
            run.in_order.insert(run.in_order.end(), values.begin(),
                                values.begin() + static_cast<std::ptrdiff_t>(first));
            ordered += first;
        }));
    }
    RandomStream random{kDrawSeed};
    for (const ValueSource& source : sources) {
        std::vector<std::uint64_t>& kept = runs[run_of.at(source.session_index)].values;
        PERFLEET_TRY(visit_values(scan, source, decimals, [&](std::span<const std::uint64_t> values) {
            if (share.is_exceeded()) {
                return;
            }
            const std::size_t before = kept.capacity();
            std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [&](std::uint64_t) {
                return count <= kDiffValuesMax || random.below(count) < kDiffValuesMax;
            });
            // The comparison also holds a sorted copy.
            share.add((kept.capacity() - before) * 2 * sizeof(std::uint64_t));
        }));
        PERFLEET_TRY(share.check());
    }
    std::vector<ComparedRun> found;
    for (auto& [number, run] : runs) {
        if (!run.values.empty()) {
            run.number = number;
            std::sort(run.values.begin(), run.values.end());
            found.push_back(std::move(run));
        }
    }
    return found;
}

unsigned greatest_decimals(const std::vector<ValueSource>& sources) {
    unsigned decimals = 0;
    for (const ValueSource& source : sources) {
        decimals = std::max(decimals, value_unit(source.unit).decimals);
    }
    return decimals;
}

std::optional<Interval> times(std::optional<Interval> interval, long double worth) {
    return interval ? std::optional{Interval{interval->low * worth, interval->high * worth}} : std::nullopt;
}

bool is_time(const std::string& unit) {
    constexpr std::array<std::string_view, 9> kTimes{"ns", "us", "µs", "ms", "s", "cycles", "ticks", "seconds", "clk"};
    return std::find(kTimes.begin(), kTimes.end(), unit) != kTimes.end();
}

// The minimum and the maximum: a sample doesn't show how far beyond them the next sample's may lie.
bool is_extreme(const LatencyFigure& figure) {
    return figure.kind == LatencyFigureKind::kMax ||
           (figure.kind == LatencyFigureKind::kQuantile &&
            (figure.quantile.billionths == 0 || figure.quantile.billionths == Quantile::kWhole));
}

bool has_several_commands(const Scan& scan) {
    std::set<std::string> commands;
    for (const ScannedSession& session : scan.sessions()) {
        const auto command = label_of(session.record, kCommandLabel);
        if (command && label_of(session.record, kRepetitionLabel)) {
            commands.insert(*command);
        }
    }
    return commands.size() > 1;
}

class LatencyDiff {
public:
    LatencyDiff(const Scan& before, const Scan& after, const DiffOptions& options)
        : options_{options},
          before_{&before, {}},
          after_{&after, {}},
          before_values_{before.memory()},
          after_values_{after.memory()},
          lines_{identity(options), evidence()} {}

    Result<Answer> make() {
        auto before = find_sources(*before_.scan, options_, answer_.warnings);
        auto after = find_sources(*after_.scan, options_, answer_.warnings);
        if (!before.ok() || !after.ok()) {
            return before.ok() ? std::move(after).error() : std::move(before).error();
        }
        const AnswerLedger before_series = series_of(before_, *before);
        const AnswerLedger after_series = series_of(after_, *after);
        for (const auto& [key, sources] : *before) {
            const auto others = after->find(key);
            if (others == after->end()) {
                warn_of_missing(key, *after, true);
                continue;
            }
            PERFLEET_TRY(add_pair(key, sources, others->second));
        }
        for (const auto& [key, sources] : *after) {
            if (!before->contains(key)) {
                warn_of_missing(key, *before, false);
            }
        }
        if (before->empty() || after->empty()) {
            answer_.warnings.push_back(std::string{before->empty() ? "before" : "after"} +
                                       (before->empty() && after->empty() ? " and after have" : " has") +
                                       " no latencies: nothing is compared");
        }
        PERFLEET_TRY(lines_.finish(options_, false, answer_));
        warn_of_settings(before_, after_, {options_.chosen_labels, true, options_.names_checklist}, answer_.warnings);
        Ledger after_ledger = after_series.sum(answer_.warnings);
        Ledger before_ledger = before_series.sum(answer_.warnings);  // reported first
        answer_.ledger = before_ledger;
        answer_.ledger.add(after_ledger);
        answer_.parts = {{"before", std::move(before_ledger)}, {"after", std::move(after_ledger)}};
        return std::move(answer_);
    }

private:
    static std::vector<AnswerColumn> identity(const DiffOptions& options) {
        std::vector<AnswerColumn> columns;
        for (const std::string& label : options.by) {
            columns.push_back({label, ""});
        }
        columns.push_back({"event", ""});
        columns.push_back({"test_size", ""});
        return columns;
    }

    static std::vector<AnswerColumn> evidence() {
        return {{"before_count", ""},      {"after_count", ""},     {"before_runs", ""},   {"after_runs", ""},
                {"cohens_d", ""},          {"superiority", ""},     {"cliffs_delta", ""},  {"cliffs_delta_low", ""},
                {"cliffs_delta_high", ""}, {"before_sessions", ""}, {"after_sessions", ""}};
    }

    static AnswerLedger series_of(DiffSide& side, const SourcesByKey& found) {
        AnswerLedger ledger{*side.scan};
        for (const auto& [key, sources] : found) {
            for (const ValueSource& source : sources) {
                side.sessions.insert(source.session_index);
                add_series(ledger, *side.scan, source);
            }
        }
        return ledger;
    }

    void warn_of_missing(const PairKey& key, const SourcesByKey& others, bool is_before) {
        const auto same = std::find_if(others.begin(), others.end(), [&](const auto& other) {
            return other.first.event == key.event && other.first.labels == key.labels &&
                   other.first.test_size == key.test_size && other.first.unit != key.unit;
        });
        if (same == others.end()) {
            answer_.warnings.push_back(name_of(key) + " stands " + (is_before ? "before" : "after") +
                                       " only: not compared");
        } else if (is_before) {
            answer_.warnings.push_back(fmt::format("{} is in {} before and in {} after: not compared", name_of(key),
                                                   key.unit, same->first.unit));
        }
    }

    static std::set<std::size_t> sessions_of(const std::vector<ValueSource>& sources) {
        std::set<std::size_t> sessions;
        for (const ValueSource& source : sources) {
            sessions.insert(source.session_index);
        }
        return sessions;
    }

    static std::string session_names(const DiffSide& side, const std::vector<ValueSource>& sources) {
        std::set<std::string> sessions;
        for (const ValueSource& source : sources) {
            sessions.insert(session_hex(side.session(source.session_index).record.session));
        }
        return listed(sessions, kSessionsListedMax);
    }

    Result<Done> add_pair(const PairKey& key, const std::vector<ValueSource>& before,
                          const std::vector<ValueSource>& after) {
        const unsigned decimals = std::max(greatest_decimals(before), greatest_decimals(after));
        const DiffRuns runs =
            diff_runs({before_.scan, sessions_of(before)}, {after_.scan, sessions_of(after)}, options_.within_run);
        auto first = read_runs(*before_.scan, before, runs.before, decimals, before_values_);
        auto second = read_runs(*after_.scan, after, runs.after, decimals, after_values_);
        if (!first.ok() || !second.ok()) {
            return first.ok() ? std::move(second).error() : std::move(first).error();
        }
        if (first->empty() || second->empty()) {
            answer_.warnings.push_back(name_of(key) + " has no values " + (first->empty() ? "before" : "after") +
                                       " in this time: not compared");
            return Done{};
        }
        Pair pair;
        pair.key = &key;
        pair.worth = ValueUnit{key.unit, decimals}.worth();
        const auto count = [](const std::vector<ComparedRun>& of_side) {
            std::uint64_t sum = 0;
            for (const ComparedRun& run : of_side) {
                sum += run.moments.count();
            }
            return sum;
        };
        pair.before_count = count(*first);
        pair.after_count = count(*second);
        pair.before_runs = first->size();
        pair.after_runs = second->size();
        pair.before_sessions = session_names(before_, before);
        pair.after_sessions = session_names(after_, after);
        pair.unknown = runs.unknown;
        pair.by_runs = runs.by_runs;
        pair.family = ++family_count_;
        PERFLEET_TRY(validity_warning(key, before, after));
        pair.values = std::make_shared<const ValueComparison>(std::move(*first), std::move(*second), runs.by_runs);
        if (std::max(pair.before_count, pair.after_count) > kDiffValuesMax) {
            answer_.warnings.push_back(
                fmt::format("{}: percentiles, ranks and their intervals are of about {} values of a side, drawn at "
                            "random; mean and max are of all",
                            name_of(key), kDiffValuesMax));
        }
        if (!runs.unknown.empty()) {
            answer_.warnings.push_back(unknown_warning(runs));
        }
        pair.are_repetitions = runs.are_repetitions;
        for (const LatencyFigure& figure : options_.figures) {
            if (!runs.are_repetitions || is_in_condition(figure)) {
                lines_.add(figure_line(pair, figure));
            }
        }
        if (runs.are_repetitions || !options_.means_alone) {
            lines_.add(rank_line(pair));
        }
        return Done{};
    }

    // Whether a condition is about this figure: then repetitions, which are compared by ranks, have its line, too.
    [[nodiscard]] bool is_in_condition(const LatencyFigure& figure) const {
        return figure_name(figure) != kRankedFigure &&
               std::ranges::any_of(options_.conditions, [&](const FailCondition& condition) {
                   return condition.figure == figure_name(figure);
               });
    }

    struct Pair {
        const PairKey* key = nullptr;
        long double worth = 1;  // of one stored value, in the key's unit
        std::shared_ptr<const ValueComparison> values;
        std::uint64_t before_count = 0;
        std::uint64_t after_count = 0;
        std::uint64_t before_runs = 0;
        std::uint64_t after_runs = 0;
        std::string before_sessions;
        std::string after_sessions;
        std::string unknown;
        bool by_runs = false;
        bool are_repetitions = false;
        std::size_t family = 0;
    };

    // Warns of order and of several modes if values are treated as independent.
    Result<Done> validity_warning(const PairKey& key, const std::vector<ValueSource>& before,
                                  const std::vector<ValueSource>& after) {
        for (const auto& [side, sources, when] :
             {std::tuple{&before_, &before, " before"}, std::tuple{&after_, &after, " after"}}) {
            if (sources->size() != 1) {
                continue;
            }
            auto validity_warnings =
                PERFLEET_TRY(validity_warnings_of(*side->scan, sources->front(), name_of(key) + when));
            for (std::string& validity_warning : validity_warnings) {
                answer_.warnings.push_back(std::move(validity_warning));
            }
        }
        return Done{};
    }

    DiffLine line_of(const Pair& pair) const {
        const PairKey& key = *pair.key;
        DiffLine line;
        line.identity.assign(key.labels.begin(), key.labels.end());
        line.identity.emplace_back(key.event);
        line.identity.push_back(key.test_size == 0 ? AnswerValue{} : AnswerValue{key.test_size});
        line.name = key.event;
        line.unit = key.unit;
        line.word_above = is_time(key.unit) ? "slower" : "greater";
        line.word_below = is_time(key.unit) ? "faster" : "less";
        const std::uint64_t parts_before = pair.by_runs ? pair.before_runs : pair.before_count;
        const std::uint64_t parts_after = pair.by_runs ? pair.after_runs : pair.after_count;
        line.counted =
            fmt::format("{}{} {}", parts_before, parts_before == parts_after ? "" : fmt::format(" and {}", parts_after),
                        pair.by_runs ? "runs" : "values");
        line.runs = pair.by_runs ? std::min(pair.before_runs, pair.after_runs) : 0;
        line.unknown = pair.unknown;
        line.family = pair.family;
        return line;
    }

    static std::vector<AnswerValue> evidence_of(const Pair& pair, AnswerValue cohens_d,
                                                const ValueComparison::Ranks* ranks) {
        std::vector<AnswerValue> values{pair.before_count, pair.after_count, pair.before_runs, pair.after_runs,
                                        std::move(cohens_d)};
        const auto delta = [](long double chance) { return AnswerValue{static_cast<double>(2 * chance - 1)}; };
        if (ranks == nullptr) {
            values.resize(values.size() + 4);
        } else {
            values.emplace_back(static_cast<double>(ranks->superiority));
            values.push_back(delta(ranks->superiority));
            const auto& interval = ranks->superiority_interval;
            values.push_back(interval ? delta(interval->low) : AnswerValue{});
            values.push_back(interval ? delta(interval->high) : AnswerValue{});
        }
        values.emplace_back(pair.before_sessions);
        values.emplace_back(pair.after_sessions);
        return values;
    }

    DiffLine figure_line(const Pair& pair, const LatencyFigure& figure) const {
        DiffLine line = line_of(pair);
        line.figure = figure_name(figure);
        line.is_mean = figure.kind == LatencyFigureKind::kMean;
        line.before = pair.values->before(figure) * pair.worth;
        line.after = pair.values->after(figure) * pair.worth;
        line.difference = pair.values->difference(figure) * pair.worth;
        line.direction = *line.difference;
        if (*line.before > 0) {
            line.change = *line.after / *line.before - 1;
        }
        if (!is_extreme(figure)) {
            line.contrast_at = [values = pair.values, figure, worth = pair.worth](long double confidence) {
                const Contrast contrast = values->contrast(figure, confidence);
                return Contrast{times(contrast.difference, worth), contrast.ratio};
            };
            line.p_value_at = [values = pair.values, figure](long double limit) {
                return values->p_value(figure, 1 + limit);
            };
        }
        if (figure.kind == LatencyFigureKind::kQuantile && !is_extreme(figure)) {
            line.count_needed = values_needed(figure.quantile, options_.confidence);
        }
        const auto d = figure.kind == LatencyFigureKind::kMean ? pair.values->cohens_d() : std::nullopt;
        line.evidence = evidence_of(pair, d ? AnswerValue{static_cast<double>(*d)} : AnswerValue{}, nullptr);
        return line;
    }

    DiffLine rank_line(const Pair& pair) const {
        const ValueComparison::Ranks ranks = pair.values->ranks(options_.confidence);
        DiffLine line = line_of(pair);
        line.figure = pair.are_repetitions ? kRankedFigure : "shift";
        line.difference = ranks.shift * pair.worth;
        line.direction = ranks.superiority - 0.5L;
        line.contrast_at = [values = pair.values, worth = pair.worth](long double confidence) {
            const ValueComparison::Ranks at = values->ranks(confidence);
            return Contrast{times(at.shift_interval, worth), at.ratio_interval};
        };
        if (pair.are_repetitions) {
            const LatencyFigure median{LatencyFigureKind::kQuantile, kMedian};
            line.before = pair.values->before(median) * pair.worth;
            line.after = pair.values->after(median) * pair.worth;
            line.change = ranks.ratio ? std::optional{*ranks.ratio - 1} : std::nullopt;
            line.is_mean = true;  // the series' main figure
            line.is_ranked = pair.by_runs;
            line.is_constant = pair.values->is_constant();
            line.p_value_at = [values = pair.values](long double limit) { return values->rank_p_value(1 + limit); };
        } else {
            line.effect = ranks.p_value ? fmt::format("after is greater in {:.0f} % of pairs",
                                                      static_cast<double>(ranks.superiority * 100))
                                        : "";
            line.p_value_at = [p_value = ranks.p_value.value_or(1)](long double) { return p_value; };
        }
        line.evidence = evidence_of(pair, {}, &ranks);
        return line;
    }

    const DiffOptions& options_;
    DiffSide before_;
    DiffSide after_;
    MemoryShare before_values_;  // of all series: lines refer to the values to the end
    MemoryShare after_values_;
    DiffLines lines_;
    std::size_t family_count_ = 0;
    Answer answer_;
};

}  // namespace

Result<bool> has_latencies(const Scan& scan) {
    const auto sources = PERFLEET_TRY(find_value_sources(scan, 0));
    return !sources.empty();
}

Result<Answer> make_latency_diff(const Scan& before, const Scan& after, const DiffOptions& options) {
    // Repetitions of several commands aren't repetitions of one.
    DiffOptions apart = options;
    if (options.by.empty() && (has_several_commands(before) || has_several_commands(after))) {
        apart.by.emplace_back(kCommandLabel);
    }
    return LatencyDiff{before, after, apart}.make();
}

}  // namespace perfleet
