#include "query-engine/statistic/latency/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/answer/answer_size.h"
#include "query-engine/statistic/answer/value_unit.h"
#include "query-engine/statistic/latency/heat_map.h"
#include "query-engine/statistic/latency/latency_bootstrap.h"
#include "query-engine/statistic/latency/latency_runs.h"
#include "query-engine/statistic/latency/latency_sketch.h"
#include "query-engine/statistic/latency/latency_source.h"
#include "query-engine/statistic/number/accumulated_latency.h"
#include "query-engine/statistic/number/dependence.h"
#include "query-engine/statistic/number/histogram.h"
#include "query-engine/statistic/number/legacy_summary.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/vocabulary/probe_overhead.h"

namespace perfleet {
namespace {

constexpr std::size_t kTableValuesMax = 1U << 20;
constexpr std::size_t kCompatibleValuesMax = 1U << 24;  // the compatible views sort their values

std::string name_of(const ValueSource& source) {
    return source.group ? fmt::format("{} N={}", source.event, source.test_size) : source.event;
}

Result<Moments> moments_of(const Scan& scan, const ValueSource& source) {
    Moments moments;
    PERFLEET_TRY(source.pieces(scan)([&](std::span<const std::uint64_t> values) { moments.add(values); }));
    return moments;
}

class LatencyReport {
public:
    LatencyReport(const Scan& scan, const LatencyOptions& options)
        : scan_{scan}, options_{options}, share_{scan.memory()} {}

    Result<Answer> make() {
        const bool is_sketched = options_.view == LatencyView::kSketch;
        auto sources = PERFLEET_TRY(
            options_.pair.empty() ? find_value_sources(scan_, options_.skipped_tests, is_sketched)
                                  : find_pair_sources(scan_, options_.pair, options_.skipped_tests, answer_.warnings));
        const bool has_sources = !sources.empty();
        if (is_sketched) {
            PERFLEET_TRY(make_sketches(sources));
        }
        AnswerLedger ledger{scan_};
        for (const ValueSource& source : sources) {
            add_series(ledger, scan_, source);
        }
        PERFLEET_TRY(make_view(sources, options_.pair.empty() ? ledger.series_count() : sources.size()));
        answer_.ledger = ledger.sum(answer_.warnings);
        if (answer_.columns.empty()) {
            answer_.columns = {{"session", ""}, {"target", ""}, {"event", ""}, {"unit", ""}, {"count", ""}};
        }
        std::set<std::size_t> sessions;
        std::map<std::string, std::vector<const SessionRecord*>> runs_of_event;
        for (const ValueSource& source : sources) {
            const SessionRecord& session = scan_.sessions()[source.session_index].record;
            runs_of_event[source.event].push_back(&session);
            if (sessions.insert(source.session_index).second) {
                warn_of_session(source.session_index);
            }
        }
        for (std::size_t i = 0; i < scan_.sessions().size(); ++i) {
            const auto failed = failed_run(scan_, i);
            if (failed && !sessions.contains(i)) {  // it has no values
                answer_.warnings.push_back(*failed);
            }
        }
        if (answer_.rows.empty() && has_sources && options_.skipped_tests != 0) {
            answer_.warnings.push_back(fmt::format("--skip {}: no series has more values", options_.skipped_tests));
        }
        for (const auto& [event, runs] : runs_of_event) {
            for (const std::string& sentence : differing_state(runs)) {
                answer_.warnings.push_back(event + ": " + sentence);
            }
        }
        warn_of_open_sessions(scan_, answer_.warnings);
        drop_repeated(answer_.warnings);
        return std::move(answer_);
    }

private:
    Result<Done> make_view(const std::vector<ValueSource>& sources, std::size_t series_count) {
        const bool is_of_one = options_.view == LatencyView::kTable || options_.view == LatencyView::kHistogram ||
                               options_.view == LatencyView::kHeatMap;
        if (is_of_one && series_count > 1) {
            return Error{ErrorCode::kUsage, std::to_string(series_count) +
                                                " series are selected, and this table is of one: choose with --session "
                                                "and --event"};
        }
        switch (options_.view) {
            case LatencyView::kTable: return make_table(sources);
            case LatencyView::kHistogram: return make_histogram(sources);
            case LatencyView::kHeatMap: return make_heat_map(sources);
            case LatencyView::kRuns:
            case LatencyView::kSketch: break;
            case LatencyView::kBootstrap:
                return each(sources,
                            [&](const auto& source) { return add_bootstrap_row(scan_, source, options_, answer_); });
            case LatencyView::kInference: return make_inference(sources);
            case LatencyView::kSummary: return each(sources, [&](const auto& source) { return add_summary(source); });
            case LatencyView::kBernat: return each(sources, [&](const auto& source) { return add_bernat(source); });
            case LatencyView::kLegacy: return each(sources, [&](const auto& source) { return add_legacy(source); });
        }
        return Done{};
    }

    // Adds the sketch rows. Removes sources without values, and all-zero ones where 0 means that nothing was measured.
    Result<Done> make_sketches(std::vector<ValueSource>& sources) {
        std::vector<ValueSource> with_values;
        for (const ValueSource& source : sources) {
            const auto values = PERFLEET_TRY(read_distribution(scan_, source));
            const bool is_measured = holds_measured_values(scan_.sessions()[source.session_index].record);
            if (values.moments.count() != 0 && (is_measured || values.moments.max() != 0)) {
                add_sketch_row(scan_, source, values, options_, answer_);
                with_values.push_back(source);
            }
        }
        sources = std::move(with_values);
        if (!sources.empty()) {
            answer_.warnings.push_back(
                fmt::format("--sketch: median and percentiles are off by at most {:.2f} % of their value (below 256 by "
                            "nothing), all else is exact; whether values depend on each other, drift or have several "
                            "modes isn't looked at",
                            static_cast<double>(RankSketch::kErrorMax * 100)));
        }
        return Done{};
    }

    static Result<Done> each(const std::vector<ValueSource>& sources,
                             const std::function<Result<Done>(const ValueSource&)>& add) {
        for (const ValueSource& source : sources) {
            PERFLEET_TRY(add(source));
        }
        return Done{};
    }

    void warn_of_session(std::size_t session_index) {
        const SessionRecord& session = scan_.sessions()[session_index].record;
        if (const auto failed = failed_run(scan_, session_index)) {
            answer_.warnings.push_back(*failed);
        }
        if (const auto unsteady = unsteady_frequency(session)) {
            answer_.warnings.push_back(*unsteady);
        }
        std::map<std::string, std::string>
            overheads;  // text and first event: events that are probed in the same way share it
        for (const EventRecord& event : session.events) {
            if (const auto overhead = parse_probe_overhead(event.format)) {
                overheads.try_emplace(probe_overhead_text(*overhead), event.name);
            }
        }
        for (const auto& [text, event] : overheads) {
            answer_.warnings.push_back(overheads.size() == 1 ? text : event + ": " + text);
        }
        if (const auto missing = options_.shows_checklist ? missing_metadata(session) : std::nullopt) {
            answer_.warnings.push_back(*missing);
        }
    }

    Result<Done> validity_warning(const ValueSource& source) {
        auto validity_warnings = PERFLEET_TRY(validity_warnings_of(scan_, source, name_of(source)));
        answer_.warnings.insert(answer_.warnings.end(), std::make_move_iterator(validity_warnings.begin()),
                                std::make_move_iterator(validity_warnings.end()));
        return Done{};
    }

    Result<Done> add_summary(const ValueSource& source) {
        std::vector<Quantile> asked{kMedian, Quantile::of_percent(75)};
        asked.insert(asked.end(), options_.percentiles.begin(), options_.percentiles.end());
        asked.push_back(Quantile::of_percent(25));
        MemoryShare share{scan_.memory()};
        share.add(kDependenceValuesMax * 2 * sizeof(std::uint64_t));  // one sorted copy, one as doubles
        const auto in_order = PERFLEET_TRY(first_values(scan_, source, kDependenceValuesMax, share));
        const auto described = PERFLEET_TRY(describe(source.pieces(scan_), asked, options_.confidence, in_order));
        const Moments& moments = described.moments;
        if (moments.count() == 0) {
            return Done{};
        }
        const ScannedSession& session = scan_.sessions()[source.session_index];
        RowMaker row{answer_, source.unit};
        add_identity(row, scan_, source);
        add_moments(row, moments, options_.confidence, &described);
        row.figure("median", described.median);
        row.value("median_low", bound(described.percentiles[0], false));
        row.value("median_high", bound(described.percentiles[0], true));
        row.figure("mad", described.deviation);
        for (std::size_t i = 2; i + 1 < described.percentiles.size(); ++i) {
            const DescribedPercentile& percentile = described.percentiles[i];
            const std::string name = percentile_name(percentile.quantile);
            row.value(name, percentile.nearest);
            row.value(name + "_low", bound(percentile, false));
            row.value(name + "_high", bound(percentile, true));
            row.figure(name + "_type7", percentile.between);
        }
        PERFLEET_TRY(add_tail(row, source, described));
        const double hertz = row.unit().name == "cycles" ? clock_hz_of(session.record).value_or(0) : 0;
        const auto nanoseconds = [&](const std::optional<long double>& cycles) {
            return real(hertz > 0 && cycles ? std::optional{*cycles * row.unit().worth() * 1e9L / hertz}
                                            : std::nullopt);
        };
        row.add("mean_ns", "ns", nanoseconds(moments.mean()));
        row.add("median_ns", "ns", nanoseconds(described.median));
        row.end();
        return validity_warning(source);
    }

    static std::optional<std::uint64_t> bound(const DescribedPercentile& percentile, bool is_high) {
        return percentile.ranks ? std::optional{is_high ? percentile.high : percentile.low} : std::nullopt;
    }

    // Counts the values far out: above the third quartile + 3 interquartile ranges.
    Result<Done> add_tail(RowMaker& row, const ValueSource& source, const Description& described) const {
        const std::uint64_t third = described.percentiles[1].nearest;
        const std::uint64_t spread = std::max<std::uint64_t>(third - described.percentiles.back().nearest, 1);
        const std::uint64_t limit = spread > (~0ULL - third) / 3 ? ~0ULL : third + 3 * spread;
        std::uint64_t count = 0;
        auto read = source.pieces(scan_)([&](std::span<const std::uint64_t> values) {
            count += static_cast<std::uint64_t>(
                std::count_if(values.begin(), values.end(), [&](std::uint64_t value) { return value > limit; }));
        });
        row.add("tail", "", count);
        row.value("tail_above", limit);
        return read;
    }

    Result<Done> make_inference(const std::vector<ValueSource>& sources) {
        for (std::size_t first = 0; first < sources.size();) {
            std::size_t last = first;
            while (last < sources.size() && sources[last].session_index == sources[first].session_index &&
                   sources[last].series == sources[first].series) {
                ++last;
            }
            if (!sources[first].group) {
                answer_.warnings.push_back(sources[first].event +
                                           ": single values, of which --kbench says nothing: it is about groups of "
                                           "accumulated latencies (import --format kbench); leave it out");
            } else {
                if (auto added = add_inference({sources.begin() + static_cast<std::ptrdiff_t>(first),
                                                sources.begin() + static_cast<std::ptrdiff_t>(last)});
                    !added.ok()) {
                    return added;
                }
            }
            first = last;
        }
        return Done{};
    }

    // The groups of one series.
    Result<Done> add_inference(const std::vector<ValueSource>& sources) {
        std::vector<LatencyGroup> groups;
        for (const ValueSource& source : sources) {
            auto moments = PERFLEET_TRY(moments_of(scan_, source));
            groups.push_back({source.test_size, moments});
        }
        const long double factor = tabulated_factor(options_.confidence);
        const auto changes = relative_changes(groups);
        const auto converged = converged_from(groups, options_.converged_change);
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const auto described =
                PERFLEET_TRY(describe(sources[i].pieces(scan_), std::array{Quantile::of_percent(95)}, 0.95L));
            const std::string is_converged = converged && i >= *converged ? "yes" : "no";
            add_group(sources[i], groups[i], described, factor, changes[i],
                      i == 0 ? std::nullopt : fixed_cost(groups[i - 1], groups[i]),
                      groups.size() == 1 ? std::nullopt : std::optional{is_converged});
            PERFLEET_TRY(validity_warning(sources[i]));
        }
        const std::string& event = sources.front().event;
        if (groups.size() > 1 && !converged) {
            answer_.warnings.push_back(
                fmt::format("{}: not converged: mean/N still changes by more than {:.2f} % at the "
                            "last group; enlarge I, D or G",
                            event, static_cast<double>(options_.converged_change * 100)));
        }
        if (const auto unequal = unequal_variances(groups); unequal && *unequal < 0.01L) {
            answer_.warnings.push_back(
                fmt::format("{}: var_p differs from group to group (F test, p = {:.1g}): primary latencies aren't "
                            "independent and alike, as formula 3.2 assumes",
                            event, static_cast<double>(*unequal)));
        }
        return Done{};
    }

    void add_group(const ValueSource& source, const LatencyGroup& group, const Description& described,
                   long double factor, const std::optional<long double>& change, const std::optional<FixedCost>& line,
                   const std::optional<std::string>& converged) {
        const Moments& moments = group.accumulated;
        const auto primary = infer_primary(moments, group.test_size, factor, options_.wanted_fraction);
        const auto of_primary = [&](auto figure) {
            return primary ? std::optional<long double>{figure(*primary)} : std::nullopt;
        };
        RowMaker row{answer_, source.unit};
        add_identity(row, scan_, source);
        row.add("tests", "", moments.count());
        // A sum of 2^64 or more doesn't fit into an integer cell.
        if (moments.sum() > ~0ULL) {
            row.figure("sum_a", Uint256{moments.sum()}.real());
        } else {
            row.value("sum_a", static_cast<std::uint64_t>(moments.sum()));
        }
        row.value("min_a", moments.min());
        row.value("max_a", moments.max());
        row.figure("mean_a", moments.mean());
        row.square("var_a", moments.variance());
        row.figure("sd_a", moments.standard_deviation());
        row.add("cv_a", "percent", percent(moments.coefficient_of_variation()));
        row.figure("median_a", described.median);
        row.figure("mad_a", described.deviation);
        row.value("p95_a",
                  described.percentiles.empty() ? std::nullopt : std::optional{described.percentiles[0].nearest});
        row.figure("mean", of_primary([](const PrimaryLatency& p) { return p.mean; }));
        row.add("change", "percent", percent(change));
        row.add("converged", "", text_or_null(converged));
        row.square("var_y", of_primary([](const PrimaryLatency& p) { return p.variance_y; }));
        row.figure("sd_y", of_primary([](const PrimaryLatency& p) { return p.deviation_y; }));
        row.add("cv_y", "percent", percent(of_primary([](const PrimaryLatency& p) { return p.deviation_y / p.mean; })));
        row.figure("half_width", of_primary([](const PrimaryLatency& p) { return p.half_width; }));
        row.figure("low", of_primary([](const PrimaryLatency& p) { return p.interval.low; }));
        row.figure("high", of_primary([](const PrimaryLatency& p) { return p.interval.high; }));
        row.add("half_width_of_mean", "percent",
                percent(of_primary([](const PrimaryLatency& p) { return p.half_width_fraction; })));
        row.square("var_p", of_primary([](const PrimaryLatency& p) { return p.variance_p; }));
        row.figure("sd_p", of_primary([](const PrimaryLatency& p) { return p.deviation_p; }));
        row.add("cv_p", "percent", percent(of_primary([](const PrimaryLatency& p) { return p.deviation_p / p.mean; })));
        const bool has_size = primary && primary->needed;
        row.add("tests_needed", "", whole_if(has_size, has_size ? primary->needed->needed : 0));
        row.add("tests_needed_exact", "", real(has_size ? std::optional{primary->needed->exact} : std::nullopt));
        row.figure("slope", line ? std::optional{line->slope} : std::nullopt);
        row.figure("fixed_cost", line ? std::optional{line->cost} : std::nullopt);
        row.add("z_thousandths", "", static_cast<std::uint64_t>(factor * 1000 + 0.5L));
        row.end();
        if (has_size && primary->needed->needed > moments.count()) {
            answer_.warnings.push_back(fmt::format("{}: {} tests; {} are needed for a mean to ± {:.2f} %",
                                                   name_of(source), moments.count(), primary->needed->needed,
                                                   static_cast<double>(options_.wanted_fraction * 100)));
        }
    }

    // A row a test and a column a group; after these columns Y = A ÷ N of each group with accumulated values.
    Result<Done> make_table(const std::vector<ValueSource>& sources) {
        answer_.columns.push_back({"test", ""});
        std::size_t row_count = 0;
        std::vector<std::vector<std::uint64_t>> columns;
        std::vector<ValueUnit> units;
        for (const ValueSource& source : sources) {
            units.push_back(value_unit(source.unit));
            answer_.columns.push_back(
                {source.group ? "N=" + std::to_string(source.test_size) : source.event, units.back().name});
            auto values = PERFLEET_TRY(first_values(scan_, source, kTableValuesMax, share_));
            row_count = std::max(row_count, values.size());
            columns.push_back(std::move(values));
        }
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (sources[i].group) {
                answer_.columns.push_back({"Y_N=" + std::to_string(sources[i].test_size), units[i].name});
            }
        }
        share_.add(row_count * answer_row_size_bytes(answer_.columns.size()));
        PERFLEET_TRY(share_.check());
        answer_.rows.reserve(row_count);
        for (std::size_t test = 0; test < row_count; ++test) {
            std::vector<AnswerValue> row;
            row.reserve(answer_.columns.size());
            row.emplace_back(std::uint64_t{test + 1 + options_.skipped_tests});
            for (std::size_t i = 0; i < columns.size(); ++i) {
                if (test < columns[i].size() && units[i].decimals != 0) {
                    row.push_back(real(static_cast<long double>(columns[i][test]) * units[i].worth()));
                } else {
                    row.push_back(whole_if(test < columns[i].size(), test < columns[i].size() ? columns[i][test] : 0));
                }
            }
            for (std::size_t i = 0; i < columns.size(); ++i) {
                if (sources[i].group && test < columns[i].size()) {
                    row.push_back(real(static_cast<long double>(columns[i][test]) * units[i].worth() /
                                       static_cast<long double>(sources[i].test_size)));
                } else if (sources[i].group) {
                    row.emplace_back();
                }
            }
            answer_.rows.push_back(std::move(row));
        }
        return Done{};
    }

    Result<Done> sorted_values(const ValueSource& source, std::vector<std::uint64_t>& values, MemoryShare& share) {
        values = PERFLEET_TRY(first_values(scan_, source, kCompatibleValuesMax, share));
        std::sort(values.begin(), values.end());
        if (values.size() == kCompatibleValuesMax) {
            answer_.warnings.push_back(fmt::format("{}: only the first {} values", name_of(source), values.size()));
        }
        return Done{};
    }

    Result<Done> add_bernat(const ValueSource& source) {
        std::vector<std::uint64_t> values;
        MemoryShare share{scan_.memory()};
        PERFLEET_TRY(sorted_values(source, values, share));
        if (values.empty()) {
            return Done{};
        }
        const auto moments = PERFLEET_TRY(moments_of(scan_, source));
        const BernatRule rule = options_.bernat_rule;
        const BernatFigure deviation = bernat_deviation(values, rule);
        bool is_clamped = deviation.is_clamped;
        const auto percentile = [&](std::uint64_t percent) {
            const BernatFigure figure = bernat_percentile(values, percent, rule);
            is_clamped = is_clamped || figure.is_clamped;
            return figure.value;
        };
        const std::uint64_t p95 = percentile(95);
        const std::uint64_t p90 = percentile(90);
        const std::uint64_t p50 = percentile(50);
        RowMaker row{answer_, source.unit};
        add_identity(row, scan_, source);
        row.add("count", "", std::uint64_t{values.size()});
        row.value("avg", static_cast<std::uint64_t>(moments.sum() / moments.count()));
        row.value("min", values.front());
        row.value("max", values.back());
        for (const std::uint64_t percent : bernat_percents()) {
            row.value("p" + std::to_string(percent), percentile(percent));
        }
        row.value("mad", deviation.value);
        row.add("line", "",
                fmt::format("min={} max={} count={} 95th={} 90th={} 50th={} mad={}", values.front(), values.back(),
                            values.size(), p95, p90, p50, deviation.value));
        row.end();
        if (is_clamped) {
            answer_.warnings.push_back(name_of(source) +
                                       ": the article's rule would read behind the last value; the last one was taken");
        }
        answer_.warnings.emplace_back(
            rule == BernatRule::kPrinted
                ? "mode bernat: percentiles by the article's index rule as printed, which is off by one where p x n is "
                  "a multiple of 100; the default is the nearest rank"
                : "mode bernat-intended: percentiles by the article's index rule with the neighbour that it computes "
                  "and doesn't use; p90 may be above p95; the default is the nearest rank");
        return Done{};
    }

    // The article's 95, 90 and 50, or those of --percentiles.
    [[nodiscard]] std::vector<std::uint64_t> bernat_percents() const {
        std::vector<std::uint64_t> percents;
        for (const Quantile quantile : options_.percentiles) {
            percents.push_back(quantile.billionths / Quantile::of_percent(1).billionths);
        }
        return percents;
    }

    Result<Done> add_legacy(const ValueSource& source) {
        auto moments = PERFLEET_TRY(moments_of(scan_, source));
        const auto legacy = legacy_summary(moments);
        if (!legacy) {
            return Done{};
        }
        RowMaker row{answer_, source.unit};
        add_identity(row, scan_, source);
        row.add("samples", "", moments.count());
        row.value("min", moments.min());
        row.value("max", moments.max());
        row.figure("mean", legacy->mean);
        row.square("variance", legacy->variance);
        row.figure("sd", legacy->standard_deviation);
        row.add("sd_percent", "", legacy->deviation_percent);
        row.end();
        answer_.warnings.emplace_back(
            "mode sel4bench-legacy: variance about the mean rounded down, divided by n, and sd by n - 1 from the same "
            "sum; "
            "the default takes both about the mean, by n - 1");
        return Done{};
    }

    static Result<Done> check_one_group(const std::string& figure, const std::vector<ValueSource>& sources) {
        return sources.size() <= 1
                   ? Result<Done>{Done{}}
                   : Error{ErrorCode::kUsage, figure + " is of one group: these are " + std::to_string(sources.size()) +
                                                  " (accumulated latencies of several sizes don't mix)"};
    }

    Result<Done> make_heat_map(const std::vector<ValueSource>& sources) {
        answer_.columns = heat_map_columns("");
        PERFLEET_TRY(check_one_group("a heat map", sources));
        return sources.empty() ? Result<Done>{Done{}} : add_heat_map(scan_, sources[0], options_.bucket_width, answer_);
    }

    Result<Done> make_histogram(const std::vector<ValueSource>& sources) {
        answer_.columns = {{"from", ""}, {"to", ""}, {"count", ""}, {"so_far", ""}, {"so_far_share", "percent"}};
        PERFLEET_TRY(check_one_group("a histogram", sources));
        if (sources.empty()) {
            return Done{};
        }
        for (std::size_t i = 0; i < 2; ++i) {
            answer_.columns[i].unit = sources[0].unit;
        }
        const auto described =
            PERFLEET_TRY(describe(sources[0].pieces(scan_), std::array{Quantile::of_percent(95)}, 0.95L));
        const std::uint64_t count = described.moments.count();
        if (count == 0) {
            return Done{};
        }
        std::uint64_t so_far = 0;
        const auto add = [&](std::uint64_t low, std::uint64_t high, std::uint64_t in_bucket) {
            so_far += in_bucket;
            answer_.rows.push_back(
                {low, high, in_bucket, so_far, static_cast<double>(so_far) / static_cast<double>(count) * 100});
        };
        if (!options_.is_linear) {
            Log2Histogram histogram;
            auto read = sources[0].pieces(scan_)([&](std::span<const std::uint64_t> values) { histogram.add(values); });
            for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
                const std::uint64_t low = Log2Histogram::bucket_low(i);
                const std::uint64_t high = Log2Histogram::bucket_high(i);
                if (high >= described.moments.min() && low <= described.moments.max()) {
                    add(low, high, histogram.counts()[i]);
                }
            }
            return read;
        }
        // From the least value to the bucket that holds the 95th percentile; one more row takes the rest.
        constexpr std::uint64_t kBuckets = 20;
        constexpr std::uint64_t kBucketsMax = 10'000;
        const std::uint64_t low = described.moments.min();
        const std::uint64_t range = described.percentiles[0].nearest - low;
        const std::uint64_t width = options_.bucket_width != 0 ? options_.bucket_width : range / kBuckets + 1;
        if (range / width >= kBucketsMax) {
            return Error{ErrorCode::kUsage, "--bucket: " + std::to_string(width) + " makes " +
                                                std::to_string(range / width) + " buckets; at most " +
                                                std::to_string(kBucketsMax)};
        }
        LinearHistogram histogram{low, width, static_cast<std::size_t>(range / width + 1)};
        auto read = sources[0].pieces(scan_)([&](std::span<const std::uint64_t> values) { histogram.add(values); });
        for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
            const std::uint64_t from = low + i * width;
            add(from, from > ~0ULL - (width - 1) ? ~0ULL : from + (width - 1), histogram.counts()[i]);
        }
        if (histogram.above() != 0) {
            add(low + histogram.counts().size() * width, described.moments.max(), histogram.above());
        }
        return read;
    }

    const Scan& scan_;
    const LatencyOptions& options_;
    MemoryShare share_;  // of what the table holds
    Answer answer_;
};

}  // namespace

Result<Answer> make_latency(const Scan& scan, const LatencyOptions& options) {
    return options.view == LatencyView::kRuns ? make_latency_runs(scan, options) : LatencyReport{scan, options}.make();
}

}  // namespace perfleet
