#include "query-engine/statistic/number/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

constexpr long double kEpsilon = std::numeric_limits<long double>::epsilon();
constexpr long double kSmall = 1e-300L;

long double log_gamma(long double x) {
    int sign = 0;  // lgamma's own sign would be a global
    return lgammal_r(x, &sign);
}

// The continued fraction of I_x(a, b), which converges fast for x < (a + 1) / (a + b + 2).
long double beta_fraction(long double x, long double a, long double b) {
    // It takes O(√max(a, b)) steps; a count of 2^40 needs a million.
    constexpr int kStepsMax = 10'000'000;
    const auto away_from_zero = [](long double value) { return std::abs(value) < kSmall ? kSmall : value; };
    long double c = 1;
    long double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
    long double fraction = d;
    for (int m = 1; m < kStepsMax; ++m) {
        const auto i = static_cast<long double>(m);
        const long double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        fraction *= d * c;
        const long double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        const long double step = d * c;
        fraction *= step;
        if (std::abs(step - 1) < 2 * kEpsilon) {
            break;
        }
    }
    return fraction;
}

// Where a probability reaches `wanted`: bisection until Newton's steps are safe, then those.
template <class Probability, class Density>
long double inverse(Probability probability, Density density, long double wanted, long double low, long double high) {
    constexpr int kStepsMax = 8;
    while (high - low > 0.01L * std::max(1.0L, -low)) {
        const long double middle = low + (high - low) / 2;
        (probability(middle) < wanted ? low : high) = middle;
    }
    long double at = low + (high - low) / 2;
    for (int i = 0; i < kStepsMax; ++i) {
        const long double step = (probability(at) - wanted) / density(at);
        at = std::clamp(at - step, low, high);
        if (std::abs(step) <= 4 * kEpsilon * std::abs(at)) {
            break;
        }
    }
    return at;
}

}  // namespace

long double normal_probability(long double z) { return std::erfc(-z / std::sqrt(2.0L)) / 2; }

long double normal_quantile(long double p) {
    PERFLEET_ASSERT(p > 0 && p < 1);
    if (p > 0.5L) {
        return -normal_quantile(1 - p);  // the lower tail is the one without cancellation
    }
    const auto density = [](long double z) {
        return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi_v<long double>);
    };
    return inverse(normal_probability, density, p, -150, 0);
}

long double incomplete_beta(long double x, long double a, long double b) {
    PERFLEET_ASSERT(a > 0 && b > 0 && x >= 0 && x <= 1);
    if (x == 0 || x == 1) {
        return x;
    }
    const long double front =
        std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a : 1 - front * beta_fraction(1 - x, b, a) / b;
}

long double student_probability(long double t, long double degrees) {
    PERFLEET_ASSERT(degrees > 0);
    const long double tail = incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5L) / 2;
    return t < 0 ? tail : 1 - tail;
}

long double student_quantile(long double p, long double degrees) {
    PERFLEET_ASSERT(p > 0 && p < 1);
    if (p == 0.5L) {
        return 0;
    }
    if (p > 0.5L) {
        return -student_quantile(1 - p, degrees);
    }
    const auto probability = [&](long double t) { return student_probability(t, degrees); };
    long double low = -1;
    while (probability(low) > p) {
        low *= 2;
    }
    const long double front = std::exp(log_gamma((degrees + 1) / 2) - log_gamma(degrees / 2)) /
                              std::sqrt(degrees * std::numbers::pi_v<long double>);
    const auto density = [&](long double t) {
        return front * std::exp(-(degrees + 1) / 2 * std::log1p(t * t / degrees));
    };
    return inverse(probability, density, p, low, 0);
}

long double binomial_probability(std::uint64_t k, std::uint64_t n, long double p) {
    PERFLEET_ASSERT(p > 0 && p < 1);
    return k >= n ? 1 : incomplete_beta(1 - p, static_cast<long double>(n - k), static_cast<long double>(k) + 1);
}

}  // namespace perfleet
