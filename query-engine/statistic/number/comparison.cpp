#include "query-engine/statistic/number/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr std::size_t kExactSizeMax = 50;
constexpr std::size_t kExactTiedSizeMax = 25;
constexpr long double kPower = 0.8L;

// How many of the orders of m + n untied values have U = 0, 1, … `u`: coefficients of the Gaussian binomial. Counts fit
// a long double's exponent, and those of small U are exact.
std::vector<long double> untied_orders(std::size_t m, std::size_t n, std::size_t u) {
    std::vector<long double> ways(u + 1, 0);
    ways[0] = 1;
    for (std::size_t i = 1; i <= m; ++i) {
        for (std::size_t at = u + 1; at-- > n + i;) {
            ways[at] -= ways[at - n - i];
        }
        for (std::size_t at = i; at <= u; ++at) {
            ways[at] += ways[at - i];
        }
    }
    return ways;
}

long double order_count(std::size_t m, std::size_t n) {
    long double count = 1;
    for (std::size_t i = 1; i <= m; ++i) {
        count = count * static_cast<long double>(n + i) / static_cast<long double>(i);
    }
    return count;
}

// P(U ≤ u) when all orders of m + n untied values are equally likely.
long double exact_lower_tail(std::size_t m, std::size_t n, std::size_t u) {
    const std::vector<long double> ways = untied_orders(m, n, u);
    return std::accumulate(ways.begin(), ways.end(), 0.0L) / order_count(m, n);
}

// P(2 U ≤ twice_u) for m of the values, which are tied in groups of these sizes, ascending.
long double tied_lower_tail(const std::vector<std::size_t>& groups, std::size_t m, std::size_t n, std::size_t twice_u) {
    // ways[k][u]: how often k values of the groups so far are among the m, with 2 U = u.
    std::vector<std::vector<long double>> ways(m + 1, std::vector<long double>(twice_u + 1, 0));
    ways[0][0] = 1;
    std::size_t seen = 0;
    for (const std::size_t size : groups) {
        std::vector<std::vector<long double>> next(m + 1, std::vector<long double>(twice_u + 1, 0));
        for (std::size_t chosen = seen > n ? seen - n : 0; chosen <= std::min(m, seen); ++chosen) {
            long double times = 1;  // the ways to choose `more` of the group
            for (std::size_t more = 0; more <= std::min(size, m - chosen); ++more) {
                const std::size_t beaten = more * (2 * (seen - chosen) + size - more);
                for (std::size_t at = beaten; at <= twice_u; ++at) {
                    next[chosen + more][at] += times * ways[chosen][at - beaten];
                }
                times = times * static_cast<long double>(size - more) / static_cast<long double>(more + 1);
            }
        }
        ways = std::move(next);
        seen += size;
    }
    return std::accumulate(ways[m].begin(), ways[m].end(), 0.0L) / order_count(m, n);
}

}  // namespace

RankTest rank_test(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second) {
    PERFLEET_ASSERT(!first.empty() && !second.empty());
    RankTest test;
    long double tie_sum = 0;  // Σ t³ − t
    std::size_t at_first = 0;
    for (std::size_t i = 0; i < second.size();) {
        const std::uint64_t value = second[i];
        std::size_t equal_second = 0;
        for (; i < second.size() && second[i] == value; ++i) {
            ++equal_second;
        }
        while (at_first < first.size() && first[at_first] < value) {
            ++at_first;
        }
        std::size_t equal_first = 0;
        while (at_first + equal_first < first.size() && first[at_first + equal_first] == value) {
            ++equal_first;
        }
        test.u += static_cast<long double>(equal_second) *
                  (static_cast<long double>(at_first) + static_cast<long double>(equal_first) / 2);
    }
    // Counts ties over both samples together.
    std::vector<std::size_t> groups;
    for (std::size_t i = 0, j = 0; i < first.size() || j < second.size();) {
        const std::uint64_t value = i == first.size()    ? second[j]
                                    : j == second.size() ? first[i]
                                                         : std::min(first[i], second[j]);
        long double tied = 0;
        for (; i < first.size() && first[i] == value; ++i) {
            ++tied;
        }
        for (; j < second.size() && second[j] == value; ++j) {
            ++tied;
        }
        tie_sum += tied * tied * tied - tied;
        groups.push_back(static_cast<std::size_t>(tied));
    }
    const auto m = static_cast<long double>(first.size());
    const auto n = static_cast<long double>(second.size());
    test.superiority = test.u / (m * n);
    const std::size_t size_max = std::max(first.size(), second.size());
    if (groups.size() > 1 && size_max <= (tie_sum == 0 ? kExactSizeMax : kExactTiedSizeMax)) {
        const auto twice_lesser = static_cast<std::size_t>(2 * std::min(test.u, m * n - test.u));
        test.is_exact = true;
        test.p_value =
            std::min(1.0L, 2 * (tie_sum == 0 ? exact_lower_tail(second.size(), first.size(), twice_lesser / 2)
                                             : tied_lower_tail(groups, second.size(), first.size(), twice_lesser)));
        return test;
    }
    const long double all = m + n;
    const long double variance = m * n / 12 * (all + 1 - tie_sum / (all * (all - 1)));
    if (variance <= 0) {
        return test;  // every value is the same
    }
    const long double distance = std::abs(test.u - m * n / 2);
    const long double z = std::max(0.0L, distance - 0.5L) / std::sqrt(variance);
    test.p_value = std::min(1.0L, 2 * normal_probability(-z));
    return test;
}

std::optional<std::uint64_t> rank_bound(std::size_t m, std::size_t n, long double confidence) {
    const long double tail = (1 - confidence) / 2;
    if (std::max(m, n) <= kExactSizeMax) {
        const std::vector<long double> ways = untied_orders(m, n, m * n / 2);
        const long double count = order_count(m, n);
        long double below = 0;
        std::uint64_t bound = 0;
        while (bound < ways.size() && below + ways[bound] <= tail * count) {
            below += ways[bound++];
        }
        return bound == 0 ? std::nullopt : std::optional{bound - 1};
    }
    const auto first = static_cast<long double>(m);
    const auto second = static_cast<long double>(n);
    const long double rank =
        std::floor(first * second / 2 + normal_quantile(tail) * std::sqrt(first * second * (first + second + 1) / 12));
    return rank < 1 ? std::nullopt : std::optional{static_cast<std::uint64_t>(rank) - 1};
}

std::optional<MeanContrast> mean_contrast(const Moments& first, const Moments& second, long double first_dependence,
                                          long double second_dependence) {
    const auto is_enough = [](const Moments& side) {
        return side.count() >= (side.count() > 1 && *side.variance() > 0 ? 2 : kAlikeMin);
    };
    if (!is_enough(first) || !is_enough(second)) {
        return std::nullopt;
    }
    const long double m = static_cast<long double>(first.count()) / first_dependence;
    const long double n = static_cast<long double>(second.count()) / second_dependence;
    MeanContrast means{*first.mean(), *second.mean(), mean_difference(first, second), *first.variance() / m,
                       *second.variance() / n};
    means.degrees =
        welch_degrees(means.first_variance, std::max(1.0L, m - 1), means.second_variance, std::max(1.0L, n - 1));
    return means;
}

long double welch_degrees(long double first_variance, long double first_degrees, long double second_variance,
                          long double second_degrees) {
    const long double sum = first_variance + second_variance;
    return sum <= 0 ? first_degrees + second_degrees
                    : sum * sum /
                          (first_variance * first_variance / first_degrees +
                           second_variance * second_variance / second_degrees);
}

Interval widened_difference(const Interval& interval, long double difference, long double reach_min) {
    return {std::min(interval.low, difference - reach_min), std::max(interval.high, difference + reach_min)};
}

Interval widened_ratio(const Interval& interval, long double first, long double second, long double reach_min) {
    const long double reach = reach_min / 2;
    return {std::min(interval.low, std::max(0.0L, second - reach) / (first + reach)),
            std::max(interval.high, first > reach ? (second + reach) / (first - reach) : interval.high)};
}

Interval difference_interval(const MeanContrast& means, long double confidence) {
    const long double difference = means.difference;
    const long double half_width =
        -student_quantile((1 - confidence) / 2, means.degrees) *
        std::sqrt(std::max(0.0L, means.first_variance + means.second_variance - 2 * means.covariance));
    return widened_difference({difference - half_width, difference + half_width}, difference, means.reach_min);
}

std::optional<Interval> ratio_interval(const MeanContrast& means, long double confidence) {
    const long double t = student_quantile((1 - confidence) / 2, means.degrees);
    // The r with (m2 − r m1)² ≤ t² (v2 − 2 r c + r² v1).
    const long double a = means.first * means.first - t * t * means.first_variance;
    const long double b = means.first * means.second - t * t * means.covariance;
    const long double c = means.second * means.second - t * t * means.second_variance;
    const long double under_root = b * b - a * c;
    if (means.first <= 0 || a <= 0 || under_root < 0) {
        return std::nullopt;
    }
    const long double root = std::sqrt(under_root);
    return widened_ratio({(b - root) / a, (b + root) / a}, means.first, means.second, means.reach_min);
}

long double mean_p_value(const MeanContrast& means, long double ratio) {
    const long double distance = std::abs(means.difference + (1 - ratio) * means.first);
    if (distance <= means.reach_min * (1 + ratio) / 2) {
        return 1;
    }
    const long double variance =
        means.second_variance - 2 * ratio * means.covariance + ratio * ratio * means.first_variance;
    return variance <= 0
               ? kPValueMin
               : std::max(kPValueMin, 2 * student_probability(-distance / std::sqrt(variance), means.degrees));
}

Interval difference_of(long double first, const Interval& first_interval, long double second,
                       const Interval& second_interval) {
    const long double difference = second - first;
    const long double down = std::hypot(second - second_interval.low, first_interval.high - first);
    const long double up = std::hypot(second_interval.high - second, first - first_interval.low);
    return {difference - down, difference + up};
}

std::optional<Interval> ratio_of(long double first, const Interval& first_interval, long double second,
                                 const Interval& second_interval) {
    // The r at which difference_of() of second and r × first ends at 0. The form for the lower end keeps its digits,
    // and holds even if the first estimate may be more than twice as large.
    const long double product = first * second;
    const auto end = [](long double estimate, long double bound) { return bound * (2 * estimate - bound); };
    const long double divisor = end(first, first_interval.low);
    if (first_interval.low <= 0 || divisor <= 0) {
        return std::nullopt;
    }
    const auto root = [&](long double a, long double c) {
        return std::sqrt(std::max(0.0L, product * product - a * c));
    };
    const long double least = end(second, std::max(0.0L, second_interval.low));
    const long double low_divisor = product + root(end(first, first_interval.high), least);
    return Interval{low_divisor > 0 ? least / low_divisor : 0.0L,
                    (product + root(divisor, end(second, second_interval.high))) / divisor};
}

long double p_value_from(const IntervalAt& interval_at, long double value) {
    constexpr int kSteps = 20;
    const auto excludes = [&](long double p_value) {
        const auto interval = interval_at(1 - p_value);
        return interval && (value < interval->low || value > interval->high);
    };
    if (excludes(kPValueMin)) {
        return kPValueMin;
    }
    long double excluded = 0;  // logarithms: the p value lies between them
    long double held = std::log(kPValueMin);
    for (int step = 0; step < kSteps; ++step) {
        const long double middle = (excluded + held) / 2;
        (excludes(std::exp(middle)) ? excluded : held) = middle;
    }
    return std::exp(excluded);
}

long double detectable_change(long double half_width, long double confidence) {
    return half_width * (1 + normal_quantile(1 - kPower) / normal_quantile((1 - confidence) / 2));
}

std::optional<long double> cohens_d(const Moments& first, const Moments& second) {
    if (first.count() < 2 || second.count() < 2) {
        return std::nullopt;
    }
    const auto n1 = static_cast<long double>(first.count() - 1);
    const auto n2 = static_cast<long double>(second.count() - 1);
    const long double pooled = std::sqrt((n1 * *first.variance() + n2 * *second.variance()) / (n1 + n2));
    return pooled > 0 ? std::optional{(*second.mean() - *first.mean()) / pooled} : std::nullopt;
}

}  // namespace perfleet
