#include "query-engine/statistic/number/validity_warning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/quantile.h"
#include "query-engine/statistic/number/rank_search.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kSideMin = 10;
constexpr std::size_t kGridPoints = 512;
constexpr long double kModeShareMin = 0.05L;
constexpr long double kModeValuesMin = 5;
constexpr long double kValleyMax = 0.75L;
constexpr std::uint64_t kFences = 3;

struct Quartiles {
    std::uint64_t first = 0;
    std::uint64_t third = 0;
};

Quartiles quartiles_of(std::span<const std::uint64_t> ascending) {
    return {ascending[nearest_rank(Quantile::of_percent(25), ascending.size())],
            ascending[nearest_rank(Quantile::of_percent(75), ascending.size())]};
}

std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) { return a > ~0ULL - b ? ~0ULL : a + b; }

std::uint64_t fence_distance(const Quartiles& quartiles, std::uint64_t step) {
    const std::uint64_t distance = std::max(quartiles.third - quartiles.first, step);
    return distance > ~0ULL / kFences ? ~0ULL : kFences * distance;
}

// Density at equally spaced points, not normalised.
std::vector<long double> density_of(std::span<const std::uint64_t> values, long double low, long double spacing,
                                    long double bandwidth) {
    std::vector<long double> binned(kGridPoints, 0);
    for (const std::uint64_t value : values) {
        const long double place = (static_cast<long double>(value) - low) / spacing;
        const auto point = std::min(static_cast<std::size_t>(place), kGridPoints - 2);
        const long double part = place - static_cast<long double>(point);
        binned[point] += 1 - part;
        binned[point + 1] += part;
    }
    const auto reach = static_cast<std::size_t>(
        std::min<long double>(std::ceil(4 * bandwidth / spacing), static_cast<long double>(kGridPoints)));
    std::vector<long double> kernel(reach + 1);
    for (std::size_t i = 0; i <= reach; ++i) {
        const long double distance = static_cast<long double>(i) * spacing / bandwidth;
        kernel[i] = std::exp(-distance * distance / 2);
    }
    std::vector<long double> density(kGridPoints, 0);
    for (std::size_t i = 0; i < kGridPoints; ++i) {
        if (binned[i] > 0) {
            for (std::size_t j = i > reach ? i - reach : 0; j < std::min(kGridPoints, i + reach + 1); ++j) {
                density[j] += binned[i] * kernel[i > j ? i - j : j - i];
            }
        }
    }
    return density;
}

struct Peak {
    std::size_t top = 0;
    std::size_t end = 0;  // its part of the density ends here
    long double height = 0;
    long double mass = 0;
};

// Whether the valley isn't chance: low enough relative to the lower peak, and lower by more than the density's noise
// (at each point Σ K² is 1/√2 of Σ K). Without the latter, one mode in ten looks like two if values are few.
bool is_valley(long double valley, long double peak) {
    constexpr long double kNoiseMax = 1.5L;
    const long double noise = std::sqrt((valley + peak) / std::sqrt(2.0L));
    return valley < kValleyMax * peak && peak - valley > kNoiseMax * noise;
}

// From the left: a peak ends in the valley after it, once that is deep enough and the next rise is high enough.
std::vector<Peak> peaks_of(const std::vector<long double>& density) {
    std::vector<Peak> peaks(1);
    long double valley = density[0];
    std::size_t valley_at = 0;
    for (std::size_t i = 0; i < density.size(); ++i) {
        Peak& last = peaks.back();
        if (density[i] > last.height && !is_valley(valley, last.height)) {
            last.top = i;
            last.height = density[i];
            valley = density[i];
            valley_at = i;
        } else if (density[i] < valley) {
            valley = density[i];
            valley_at = i;
        } else if (is_valley(valley, std::min(last.height, density[i]))) {
            last.end = valley_at;
            peaks.push_back({i, 0, density[i], 0});
            valley = density[i];
            valley_at = i;
        }
    }
    peaks.back().end = density.size();
    std::size_t at = 0;
    for (Peak& peak : peaks) {
        for (; at < peak.end; ++at) {
            peak.mass += density[at];
        }
    }
    return peaks;
}

long double median_of(std::span<const std::uint64_t> ascending) {
    const RankBetween middle = rank_between(kMedian, ascending.size());
    return middle.between(ascending[middle.index], ascending[middle.next()]);
}

std::optional<Drift> drift_between(std::vector<std::uint64_t> first, std::vector<std::uint64_t> second) {
    if (std::min(first.size(), second.size()) < kSideMin) {
        return std::nullopt;
    }
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    const RankTest test = rank_test(first, second);
    const long double shift = median_of(second) - median_of(first);
    const long double centre = (median_of(first) + median_of(second)) / 2;
    return Drift{test.p_value, test.superiority, centre > 0 ? shift / centre : 0};
}

// The step of a clock on which nearly all values lie, to a unit or an eighth of a step: the distance from the most
// frequent value to the nearest other frequent one. 0: there is none of kStepMin units. Few values don't show it.
std::uint64_t clock_step(std::span<const std::uint64_t> ascending) {
    constexpr std::uint64_t kStepMin = 5;
    constexpr long double kFrequentMin = 0.01L;
    constexpr long double kOnStepsMin = 0.95L;
    constexpr std::size_t kStepsMin = 3;
    const auto frequent =
        static_cast<std::size_t>(std::max(kModeValuesMin, kFrequentMin * static_cast<long double>(ascending.size())));
    std::vector<std::uint64_t> places;
    std::uint64_t top = 0;
    std::size_t most = 0;
    for (std::size_t i = 0, end = 0; i < ascending.size(); i = end) {
        while (end < ascending.size() && ascending[end] == ascending[i]) {
            ++end;
        }
        if (end - i >= frequent) {
            places.push_back(ascending[i]);
        }
        if (end - i > most) {
            most = end - i;
            top = ascending[i];
        }
    }
    const auto distance = [&](std::uint64_t value) { return value > top ? value - top : top - value; };
    std::uint64_t step = 0;
    for (const std::uint64_t place : places) {
        if (distance(place) >= kStepMin && (step == 0 || distance(place) < step)) {
            step = distance(place);
        }
    }
    if (step == 0) {
        return 0;
    }
    const std::uint64_t off_max = std::max<std::uint64_t>(1, step / 8);
    const auto off = [&](std::uint64_t value) {
        return std::min(distance(value) % step, step - distance(value) % step);
    };
    const auto on_steps = std::ranges::count_if(ascending, [&](std::uint64_t value) { return off(value) <= off_max; });
    std::vector<std::uint64_t> steps;
    for (const std::uint64_t value : ascending) {
        const std::uint64_t one = (value - ascending.front() + step / 2) / step;
        if (steps.empty() || steps.back() != one) {
            steps.push_back(one);
        }
    }
    return steps.size() >= kStepsMin &&
                   static_cast<long double>(on_steps) >= kOnStepsMin * static_cast<long double>(ascending.size())
               ? step
               : 0;
}

}  // namespace

std::optional<long double> lag_one_correlation(std::span<const std::uint64_t> in_order) {
    if (in_order.size() < 3) {
        return std::nullopt;
    }
    // Relative to the first value, so that large ones keep their digits.
    long double sum = 0;
    const auto centred = [&](std::uint64_t value) {
        return value >= in_order[0] ? static_cast<long double>(value - in_order[0])
                                    : -static_cast<long double>(in_order[0] - value);
    };
    for (const std::uint64_t value : in_order) {
        sum += centred(value);
    }
    const long double mean = sum / static_cast<long double>(in_order.size());
    long double squares = 0;
    long double products = 0;
    long double before = 0;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        const long double distance = centred(in_order[i]) - mean;
        squares += distance * distance;
        products += i == 0 ? 0 : before * distance;
        before = distance;
    }
    return squares > 0 ? std::optional{products / squares} : std::nullopt;
}

std::optional<long double> runs_test(std::span<const std::uint64_t> in_order) {
    if (in_order.empty()) {
        return std::nullopt;
    }
    const RankBetween middle = rank_between(kMedian, in_order.size());
    const std::vector<std::uint64_t> ranks{middle.index, middle.next()};
    const std::vector<std::uint64_t> around = values_at_ranks(in_order, ranks);
    std::uint64_t above = 0;
    std::uint64_t below = 0;
    std::uint64_t runs = 0;
    int side = 0;
    for (const std::uint64_t value : in_order) {
        const long double centre = middle.between(around[0], around[1]);
        const auto real = static_cast<long double>(value);
        const int now = real > centre ? 1 : real < centre ? -1 : 0;
        if (now == 0) {
            continue;
        }
        ++(now > 0 ? above : below);
        runs += now != side ? 1 : 0;
        side = now;
    }
    if (above < kSideMin || below < kSideMin) {
        return std::nullopt;
    }
    const auto a = static_cast<long double>(above);
    const auto b = static_cast<long double>(below);
    const long double expected = 2 * a * b / (a + b) + 1;
    const long double variance = (expected - 1) * (expected - 2) / (a + b - 1);
    const long double z = (static_cast<long double>(runs) - expected) / std::sqrt(variance);
    return std::min(1.0L, 2 * normal_probability(-std::abs(z)));
}

bool Drift::is_effect() const {
    constexpr long double kSuperiorityMin = 0.05L;
    constexpr long double kShiftMin = 0.01L;
    return std::abs(superiority - 0.5L) > kSuperiorityMin && std::abs(shift) > kShiftMin;
}

std::optional<Drift> drift_of(std::span<const std::uint64_t> in_order) {
    const std::size_t half = in_order.size() / 2;
    const auto size = static_cast<std::ptrdiff_t>(half);
    return drift_between({in_order.begin(), in_order.begin() + size}, {in_order.end() - size, in_order.end()});
}

std::optional<Drift> order_effect(std::span<const std::uint64_t> in_order) {
    if (in_order.empty()) {
        return std::nullopt;
    }
    const std::vector<std::uint64_t> rank{nearest_rank(kMedian, in_order.size())};
    const std::uint64_t median = values_at_ranks(in_order, rank)[0];
    std::vector<std::uint64_t> after_low;
    std::vector<std::uint64_t> after_high;
    for (std::size_t i = 1; i < in_order.size(); ++i) {
        (in_order[i - 1] > median ? after_high : after_low).push_back(in_order[i]);
    }
    return drift_between(std::move(after_low), std::move(after_high));
}

std::vector<long double> modes_of(std::span<const std::uint64_t> ascending) {
    if (ascending.size() < kSideMin) {
        return {};
    }
    const std::uint64_t step = step_of(ascending);
    if (step == 0) {
        return {static_cast<long double>(ascending.front())};
    }
    const Quartiles quartiles = quartiles_of(ascending);
    const std::uint64_t reach = fence_distance(quartiles, step);
    const std::uint64_t low_fence = quartiles.first > reach ? quartiles.first - reach : 0;
    const auto first = std::lower_bound(ascending.begin(), ascending.end(), low_fence);
    const auto last = std::upper_bound(first, ascending.end(), capped_sum(quartiles.third, reach));
    const std::span<const std::uint64_t> kept{first, last};
    if (kept.front() == kept.back()) {
        return {static_cast<long double>(kept.front())};
    }
    const auto count = static_cast<long double>(kept.size());
    long double sum = 0;
    long double squares = 0;
    for (const std::uint64_t value : kept) {
        const auto distance = static_cast<long double>(value - kept.front());
        sum += distance;
        squares += distance * distance;
    }
    const long double spread = std::sqrt(std::max(0.0L, squares / count - sum / count * (sum / count)));
    const long double quartile_spread = static_cast<long double>(quartiles.third - quartiles.first) / 1.34L;
    const long double scale = quartile_spread > 0 ? std::min(spread, quartile_spread) : spread;
    const long double bandwidth =
        std::max(0.9L * scale * std::pow(count, -0.2L), static_cast<long double>(std::max(step, clock_step(kept))));
    const long double low = static_cast<long double>(kept.front()) - 3 * bandwidth;
    const long double high = static_cast<long double>(kept.back()) + 3 * bandwidth;
    const long double spacing = (high - low) / static_cast<long double>(kGridPoints - 1);
    const std::vector<long double> density = density_of(kept, low, spacing, std::max(bandwidth, spacing));
    const long double whole = std::accumulate(density.begin(), density.end(), 0.0L);
    std::vector<long double> modes;
    for (const Peak& peak : peaks_of(density)) {
        if (peak.mass >= std::max(kModeShareMin, kModeValuesMin / count) * whole) {
            modes.push_back(low + static_cast<long double>(peak.top) * spacing);
        }
    }
    return modes;
}

std::uint64_t step_of(std::span<const std::uint64_t> values) {
    std::uint64_t step = 0;
    for (const std::uint64_t value : values) {
        step = std::gcd(step, value > values[0] ? value - values[0] : values[0] - value);
        if (step == 1) {
            break;
        }
    }
    return step;
}

std::optional<CoarseTimer> coarse_timer(std::span<const std::uint64_t> ascending) {
    constexpr std::uint64_t kQuartileStepsMin = 4;
    constexpr std::uint64_t kValueStepsMin = 20;  // 5 % of the value
    if (ascending.size() < kSideMin) {
        return std::nullopt;
    }
    const Quartiles quartiles = quartiles_of(ascending);
    CoarseTimer timer;
    timer.step = step_of(ascending);
    timer.median = ascending[nearest_rank(kMedian, ascending.size())];
    timer.quartile_steps = timer.step == 0 ? 0 : (quartiles.third - quartiles.first) / timer.step;
    // A step of 1 may be the unit's own: then only values that are small in steps are doubtful.
    const bool is_narrow = timer.step != 1 && timer.quartile_steps < kQuartileStepsMin;
    const bool is_small = timer.step != 0 && timer.median / timer.step < kValueStepsMin;
    return is_narrow || is_small ? std::optional{timer} : std::nullopt;
}

Outliers outliers_of(std::span<const std::uint64_t> ascending) {
    Outliers outliers;
    if (ascending.empty()) {
        return outliers;
    }
    const Quartiles quartiles = quartiles_of(ascending);
    outliers.limit = capped_sum(quartiles.third, fence_distance(quartiles, step_of(ascending)));
    outliers.count = static_cast<std::uint64_t>(ascending.end() -
                                                std::upper_bound(ascending.begin(), ascending.end(), outliers.limit));
    return outliers;
}

}  // namespace perfleet
