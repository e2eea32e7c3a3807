#include "query-engine/statistic/number/dependence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perfleet {
namespace {

constexpr std::size_t kValuesForLag = 5;
constexpr double kAkaikePenalty = 2;

// Autocovariances of lags 0 to `lag_max`; values have mean 0. Divided by n at every lag: no order gets a negative
// variance.
std::vector<double> autocovariances(const std::vector<double>& values, std::size_t lag_max) {
    std::vector<double> found;
    for (std::size_t lag = 0; lag <= lag_max; ++lag) {
        const double sum =
            std::inner_product(values.begin() + static_cast<std::ptrdiff_t>(lag), values.end(), values.begin(), 0.0);
        found.push_back(sum / static_cast<double>(values.size()));
    }
    return found;
}

std::span<const std::uint64_t> looked_at(std::span<const std::uint64_t> in_order) {
    return in_order.first(std::min(in_order.size(), kDependenceValuesMax));
}

// Relative to the first, so that large ones keep their digits.
std::vector<double> reals_of(std::span<const std::uint64_t> in_order) {
    const auto values = looked_at(in_order);
    std::vector<double> reals;
    for (const std::uint64_t value : values) {
        reals.push_back(value >= values[0] ? static_cast<double>(value - values[0])
                                           : -static_cast<double>(values[0] - value));
    }
    return reals;
}

}  // namespace

long double dependence_factor(std::vector<double> values) {
    if (values.size() < kDependenceValuesMin) {
        return 1;
    }
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    for (double& value : values) {
        value -= mean;
    }
    const auto lag_max = std::min(values.size() / kValuesForLag, static_cast<std::size_t>(10 * std::log10(count)));
    const std::vector<double> covariances = autocovariances(values, lag_max);
    if (covariances[0] <= 0) {
        return 1;
    }
    // Levinson and Durbin's recursion from order to order.
    std::vector<double> weights;
    double rest = covariances[0];
    double best = count * std::log(rest);
    double factor = 1;
    for (std::size_t order = 1; order <= lag_max; ++order) {
        double reflection = covariances[order];
        for (std::size_t i = 0; i + 1 < order; ++i) {
            reflection -= weights[i] * covariances[order - 1 - i];
        }
        reflection /= rest;
        std::vector<double> next = weights;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            next[i] -= reflection * weights[weights.size() - 1 - i];
        }
        next.push_back(reflection);
        weights = std::move(next);
        rest *= 1 - reflection * reflection;
        if (rest <= 0) {
            break;  // each value determines the next
        }
        const double penalised = count * std::log(rest) + kAkaikePenalty * static_cast<double>(order);
        if (penalised < best) {
            best = penalised;
            // Estimates from few values are too small: by (1 + 3 ρ) ÷ n in order 1 (Kendall, 1954), and by about that
            // in others, with the sum of the weights as ρ.
            const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
            const double gain = 1 - sum - std::max(0.0, 1 + 3 * sum) / count;
            const double unbiased = count / (count - static_cast<double>(order) - 1);
            factor = gain > 0 ? rest * unbiased / (gain * gain) / covariances[0] : count;
        }
    }
    return std::clamp(factor, 1.0, count);
}

long double dependence_of_mean(std::span<const std::uint64_t> in_order) {
    return dependence_factor(reals_of(in_order));
}

std::optional<std::uint64_t> values_needed_for_percentiles(std::span<const std::uint64_t> in_order) {
    constexpr double kCorrelationMin = 0.5;
    constexpr double kIndependentMin = 40;  // values with as much information, of a process of order 1
    constexpr double kNeededMax = 1e15;
    std::vector<double> values = reals_of(in_order);
    if (values.size() < kDependenceValuesMin) {
        return std::nullopt;
    }
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (double& value : values) {
        value -= mean;
    }
    const std::vector<double> covariances = autocovariances(values, 1);
    const double correlation = covariances[0] > 0 ? covariances[1] / covariances[0] : 0;
    const double needed = kIndependentMin * (1 + correlation) / std::max(1 - correlation, 1 / kNeededMax);
    return correlation < kCorrelationMin || static_cast<double>(values.size()) >= needed
               ? std::nullopt
               : std::optional{static_cast<std::uint64_t>(std::ceil(std::min(needed, kNeededMax)))};
}

long double dependence_of_share(std::span<const std::uint64_t> in_order, std::uint64_t limit) {
    std::vector<double> hits;
    for (const std::uint64_t value : looked_at(in_order)) {
        hits.push_back(value <= limit ? 1 : 0);
    }
    return dependence_factor(std::move(hits));
}

}  // namespace perfleet
