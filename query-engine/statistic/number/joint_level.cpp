#include "query-engine/statistic/number/joint_level.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/random_stream.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kJointLevelSeed = 1;

// Sums over the runs of one side, for its share and the share's variance.
struct SideSums {
    double runs = 0;
    double hits = 0;
    double hits_squared = 0;
    double hits_by_count = 0;
    double count = 0;
    double count_squared = 0;

    [[nodiscard]] double share() const { return hits / count; }
    // From the differences of runs (linearised ratio estimator); at least that of independent samples.
    [[nodiscard]] double variance() const {
        const double p = share();
        const double squares = hits_squared - 2 * p * hits_by_count + p * p * count_squared;
        return std::max(runs / (runs - 1) * squares / (count * count), (p * (1 - p) + 1 / count) / count);
    }
};

// C(n, k), or `max` where it is greater.
std::size_t binomial_up_to(std::size_t n, std::size_t k, std::size_t max) {
    double ways = 1;
    for (std::size_t i = 1; i <= k; ++i) {
        ways = ways * static_cast<double>(n - k + i) / static_cast<double>(i);
    }
    return ways >= static_cast<double>(max) ? max : static_cast<std::size_t>(std::llround(ways));
}

}  // namespace

JointLevel::JointLevel(std::vector<std::uint64_t> counts, std::size_t before_count)
    : counts_{counts.begin(), counts.end()}, before_count_{before_count} {
    PERFLEET_ASSERT(before_count <= counts_.size());
}

void JointLevel::add(std::span<const std::uint64_t> hits) {
    PERFLEET_ASSERT(hits.size() == counts_.size());
    if (++line_count_ <= kLinesMax) {
        hits_.insert(hits_.end(), hits.begin(), hits.end());
    }
}

std::vector<std::vector<std::uint32_t>> JointLevel::ways() const {
    std::vector<std::vector<std::uint32_t>> found;
    std::vector<std::uint32_t> runs(counts_.size());
    std::iota(runs.begin(), runs.end(), 0U);
    const auto is_one = runs.begin() + static_cast<std::ptrdiff_t>(before_count_);
    if (binomial_up_to(runs.size(), before_count_, kWaysMax) < kWaysMax) {
        std::vector<bool> is_before(runs.size());
        std::fill_n(is_before.begin(), before_count_, true);
        do {
            std::vector<std::uint32_t>& way = found.emplace_back();
            std::copy_if(runs.begin(), runs.end(), std::back_inserter(way),
                         [&](std::uint32_t run) { return is_before[run]; });
        } while (std::prev_permutation(is_before.begin(), is_before.end()));
        return found;
    }
    RandomStream random{kJointLevelSeed};
    found.emplace_back(runs.begin(), is_one);  // the real assignment
    while (found.size() < kWaysMax) {
        for (std::size_t i = 0; i < before_count_; ++i) {
            std::swap(runs[i], runs[i + random.below(runs.size() - i)]);
        }
        found.emplace_back(runs.begin(), is_one);
    }
    return found;
}

double JointLevel::least_p_value(std::span<const std::uint32_t> before) const {
    const std::size_t run_count = counts_.size();
    SideSums sides[2];
    for (std::size_t side = 0; side < 2; ++side) {
        sides[side].runs = static_cast<double>(side == 0 ? before.size() : run_count - before.size());
    }
    std::vector<std::uint8_t> side_of(run_count, 1);
    for (const std::uint32_t run : before) {
        side_of[run] = 0;
    }
    for (std::size_t run = 0; run < run_count; ++run) {
        sides[side_of[run]].count += counts_[run];
        sides[side_of[run]].count_squared += counts_[run] * counts_[run];
    }
    double least = 1;
    double far_enough = 0;  // shorter distances can't have a p value below `least`
    for (const double* hits = hits_.data(); hits != hits_.data() + hits_.size(); hits += run_count) {
        for (SideSums& side : sides) {
            side.hits = side.hits_squared = side.hits_by_count = 0;
        }
        for (std::size_t run = 0; run < run_count; ++run) {
            SideSums& side = sides[side_of[run]];
            side.hits += hits[run];
            side.hits_squared += hits[run] * hits[run];
            side.hits_by_count += hits[run] * counts_[run];
        }
        const double first = sides[0].variance();
        const double second = sides[1].variance();
        const double distance = std::abs(sides[0].share() - sides[1].share()) / std::sqrt(first + second);
        if (distance <= far_enough) {
            continue;
        }
        const auto degrees = static_cast<double>(welch_degrees(first, static_cast<long double>(sides[0].runs - 1),
                                                               second, static_cast<long double>(sides[1].runs - 1)));
        const auto p = static_cast<double>(2 * student_probability(-distance, degrees));
        if (p < least) {
            least = p;
            far_enough = -quick_student_quantile(least / 2, static_cast<double>(run_count - 2));
        }
    }
    return least;
}

std::optional<long double> JointLevel::level(long double alpha) const {
    if (line_count_ < 2 || line_count_ > kLinesMax || before_count_ < 2 || counts_.size() - before_count_ < 2 ||
        binomial_up_to(counts_.size(), before_count_, kWaysMin) < kWaysMin) {
        return std::nullopt;
    }
    std::vector<double> least;
    for (const std::vector<std::uint32_t>& way : ways()) {
        least.push_back(least_p_value(way));
    }
    // Of these ways, at most the fraction `alpha` lies below the level.
    const auto place = static_cast<std::size_t>(alpha * static_cast<long double>(least.size()));
    std::nth_element(least.begin(), least.begin() + static_cast<std::ptrdiff_t>(place), least.end());
    return std::clamp(static_cast<long double>(least[place]), alpha / static_cast<long double>(line_count_), alpha);
}

}  // namespace perfleet
