// Comparisons of runs that a generator made, judged as `diff` judges them: for how often equal sides get a verdict, and
// how often changed ones do.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <vector>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/number/joint_level.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/share_comparison.h"
#include "query-engine/statistic/number/value_comparison.h"

namespace perfleet {

inline constexpr long double kRunSpread = 0.03L;  // standard deviation of a run's own level, of the level

inline long double normal(RandomStream& random) {
    return std::sqrt(-2 * std::log(random.unit())) * std::cos(2 * std::numbers::pi * random.unit());
}

inline bool is_any_figure_shown(const ValueComparison& comparison) {
    if (comparison.p_value({LatencyFigureKind::kMean, {}}) < 0.045L) {
        return true;
    }
    long double least = comparison.ranks(0.95L).p_value.value_or(1);
    constexpr std::array kOthers{"median", "p90", "p95", "p99"};
    for (const char* name : kOthers) {
        least = std::min(least, comparison.p_value(*parse_figure(name)));
    }
    return least < 0.005L / (kOthers.size() + 1);
}

// Latencies with a long tail, whose level is `change` higher after: the mean at 4.5 %; median, p90, p95, p99 and ranks
// together at 0.5 %.
inline bool is_latency_change_shown(std::size_t run_count, std::size_t value_count, long double change,
                                    RandomStream& random) {
    std::size_t number = 0;
    const auto side = [&](long double factor) {
        std::vector<ComparedRun> runs(run_count);
        for (ComparedRun& run : runs) {
            const long double level = 1e6L * factor * (1 + kRunSpread * normal(random));
            run.values.resize(value_count);
            std::generate(run.values.begin(), run.values.end(),
                          [&] { return static_cast<std::uint64_t>(level * std::exp(0.2L * normal(random))); });
            run.moments.add(run.values);
            std::sort(run.values.begin(), run.values.end());
            run.number = number++;
        }
        return runs;
    };
    return is_any_figure_shown({side(1), side(1 + change), true});
}

// Values of an autoregressive process of order 1 about 1,000,000, in order.
inline std::vector<std::uint64_t> correlated_values(std::size_t count, long double correlation, RandomStream& random) {
    std::vector<std::uint64_t> values(count);
    long double place = normal(random);
    for (std::uint64_t& value : values) {
        place = correlation * place + std::sqrt(1 - correlation * correlation) * normal(random);
        value = static_cast<std::uint64_t>(1e6L + 1e4L * place);
    }
    return values;
}

// Whether the 95 % interval of their mean holds it, whether their p90 has one, and whether that holds it.
struct CorrelatedCoverage {
    bool mean = false;
    bool is_p90_shown = false;
    bool p90 = false;
};
inline CorrelatedCoverage correlated_coverage(std::size_t count, long double correlation, RandomStream& random) {
    const std::vector<std::uint64_t> values = correlated_values(count, correlation, random);
    const std::array quantiles{Quantile::of_percent(90)};
    const auto described = describe(pieces_of(values), quantiles, 0.95L, values);
    const auto mean = mean_interval(described->moments, MeanBasis::kStudent, 0.95L, described->dependence);
    const DescribedPercentile& p90 = described->percentiles[0];
    constexpr long double kTrueP90 = 1e6L + 1e4L * 1.281552L;
    return {mean->low <= 1e6L - 0.5L && mean->high >= 1e6L - 0.5L,  // values are rounded down
            p90.ranks.has_value(),
            p90.ranks && static_cast<long double>(p90.low) <= kTrueP90 &&
                static_cast<long double>(p90.high) >= kTrueP90 - 1};
}

inline long double exponential(RandomStream& random) { return -1e6L * std::log(random.unit()); }
inline long double lognormal(RandomStream& random) { return 1e6L * std::exp(normal(random)); }

// Whether the mean's 95 % interval by Student's t holds it, and whether the one that allows for skewness does.
struct SkewedCoverage {
    bool student = false;
    bool skewed = false;
};
template <typename Draw>
SkewedCoverage skewed_coverage(std::size_t count, Draw draw, long double mean, RandomStream& random) {
    std::vector<std::uint64_t> values(count);
    std::generate(values.begin(), values.end(), [&] { return static_cast<std::uint64_t>(draw(random)); });
    Moments moments;
    moments.add(values);
    const auto holds = [&](const std::optional<Interval>& interval) {
        return interval->low <= mean && mean <= interval->high;
    };
    return {holds(mean_interval(moments, MeanBasis::kStudent, 0.95L)),
            holds(skewed_mean_interval(moments, skewness_of(values), 0.95L))};
}

// One run a side of such values, compared within these runs: whether any figure is shown to differ, as by
// is_latency_change_shown().
inline bool is_change_within_run_shown(std::size_t count, long double correlation, long double change,
                                       RandomStream& random) {
    const auto side = [&](long double factor) {
        ComparedRun run;
        run.values = correlated_values(count, correlation, random);
        for (std::uint64_t& value : run.values) {
            value = static_cast<std::uint64_t>(static_cast<long double>(value) * factor);
        }
        run.moments.add(run.values);
        run.in_order = run.values;
        std::sort(run.values.begin(), run.values.end());
        return std::vector<ComparedRun>{std::move(run)};
    };
    return is_any_figure_shown({side(1), side(1 + change), false});
}

// Ten functions, the first of 20 % of the time, which takes `change` longer after. Whether any of their shares is shown
// to differ.
inline bool is_profile_change_shown(std::size_t run_count, std::uint64_t sample_count, long double change,
                                    RandomStream& random) {
    constexpr std::array kShares{20.0L, 15.0L, 15.0L, 10.0L, 10.0L, 8.0L, 7.0L, 5.0L, 5.0L, 5.0L};
    std::array<std::vector<RunHits>, kShares.size()> runs;
    for (std::size_t run = 0; run < 2 * run_count; ++run) {
        const bool is_after = run >= run_count;
        std::array<long double, kShares.size()> ends{};
        long double whole = 0;
        for (std::size_t i = 0; i < kShares.size(); ++i) {
            whole += kShares[i] * (1 + kRunSpread * normal(random)) * (i == 0 && is_after ? 1 + change : 1);
            ends[i] = whole;
        }
        std::array<std::uint64_t, kShares.size()> hits{};
        for (std::uint64_t sample = 0; sample < sample_count; ++sample) {
            const auto hit = std::upper_bound(ends.begin(), ends.end() - 1, whole * random.unit());
            ++hits[static_cast<std::size_t>(hit - ends.begin())];
        }
        for (std::size_t i = 0; i < kShares.size(); ++i) {
            const HitCount counted{hits[i], sample_count};
            runs[i].push_back(is_after ? RunHits{{}, counted} : RunHits{counted, {}});
        }
    }
    JointLevel joint{std::vector<std::uint64_t>(2 * run_count, sample_count), run_count};
    for (const std::vector<RunHits>& of_function : runs) {
        std::vector<std::uint64_t> hits;
        std::transform(of_function.begin(), of_function.end(), std::back_inserter(hits),
                       [](const RunHits& run) { return run.before.hits + run.after.hits; });
        joint.add(hits);
    }
    const long double level = joint.level(0.05L).value_or(0.05L / std::tuple_size_v<decltype(kShares)>);
    return std::any_of(runs.begin(), runs.end(), [&](const std::vector<RunHits>& of_function) {
        const SharePair pair = share_pair(of_function);
        return share_p_value_is_below(pair.before, pair.after, level);
    });
}

}  // namespace perfleet
