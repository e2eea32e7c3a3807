// Comparisons of runs that a generator made, judged as `diff` judges them: for how often equal sides get a verdict, and
// how often changed ones do.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "query-engine/statistic/number/cluster.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/share_comparison.h"
#include "query-engine/statistic/number/value_comparison.h"

namespace perfleet {

inline constexpr long double kRunSpread = 0.03L;  // standard deviation of a run's own level, of the level

inline long double normal(RandomStream& random) {
    return std::sqrt(-2 * std::log(random.unit())) * std::cos(2 * std::numbers::pi * random.unit());
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
    const ValueComparison comparison{side(1), side(1 + change), true};
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
    return std::any_of(runs.begin(), runs.end(), [](const std::vector<RunHits>& of_function) {
        const SharePair pair = share_pair(of_function);
        return share_p_value_is_below(pair.before, pair.after, 0.05L / std::tuple_size_v<decltype(kShares)>);
    });
}

}  // namespace perfleet
