#include "query-engine/statistic/number/interval.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// s ÷ √n of the effective size. Values that depend on each other vary less about their own mean than about the true
// one: their variance is 1 − dependence ÷ n of it on average, which for independent ones is the divisor n − 1.
long double standard_error(const Moments& moments, long double dependence) {
    constexpr long double kLeft = 1.0L / 3;  // of the variance, at least
    const auto count = static_cast<long double>(moments.count());
    const long double left = std::max(kLeft, 1 - dependence / count);
    const long double bias = dependence > 1 ? std::sqrt((1 - 1 / count) / left) : 1;
    return bias * *moments.standard_deviation() / std::sqrt(count / dependence);
}

}  // namespace

long double interval_factor(MeanBasis basis, long double count, long double confidence) {
    PERFLEET_ASSERT(confidence > 0 && confidence < 1);
    // From the lower tail, which keeps its digits.
    const long double tail = (1 - confidence) / 2;
    return basis == MeanBasis::kNormal ? -normal_quantile(tail) : -student_quantile(tail, std::max(1.0L, count - 1));
}

std::optional<Interval> mean_interval(const Moments& moments, MeanBasis basis, long double confidence,
                                      long double dependence) {
    if (!moments.standard_deviation()) {
        return std::nullopt;
    }
    const long double count = static_cast<long double>(moments.count()) / dependence;
    const long double half_width = interval_factor(basis, count, confidence) * standard_error(moments, dependence);
    return Interval{*moments.mean() - half_width, *moments.mean() + half_width};
}

std::optional<Interval> skewed_mean_interval(const Moments& moments, long double skewness, long double confidence,
                                             long double dependence) {
    const auto plain = mean_interval(moments, MeanBasis::kStudent, confidence, dependence);
    const long double count = static_cast<long double>(moments.count()) / dependence;
    const long double slope = skewness / std::sqrt(count);
    constexpr long double kSlopeMin = 1e-6L;  // below, digits are lost and nothing changes
    if (!plain || std::abs(slope) < kSlopeMin) {
        return plain;
    }
    const long double error = standard_error(moments, dependence);
    const long double factor = interval_factor(MeanBasis::kStudent, count, confidence);
    // T + γ T² ÷ 3√n + γ² T³ ÷ 27n + γ ÷ 6√n is nearly t-distributed, T being the mean's own statistic.
    const auto statistic = [&](long double t) { return (std::cbrt(1 + slope * (t - slope / 6)) - 1) * 3 / slope; };
    return Interval{*moments.mean() - statistic(factor) * error, *moments.mean() - statistic(-factor) * error};
}

long double skewness_of(std::span<const std::uint64_t> values) {
    const auto distance = [&](std::uint64_t value) {  // from the first: large ones keep their digits
        return value >= values[0] ? static_cast<long double>(value - values[0])
                                  : -static_cast<long double>(values[0] - value);
    };
    long double mean = 0;
    for (const std::uint64_t value : values) {
        mean += distance(value) / static_cast<long double>(values.size());
    }
    long double second = 0;
    long double third = 0;
    for (const std::uint64_t value : values) {
        const long double off = distance(value) - mean;
        second += off * off / static_cast<long double>(values.size());
        third += off * off * off / static_cast<long double>(values.size());
    }
    return second > 0 ? third / (second * std::sqrt(second)) : 0;
}

std::optional<SampleSize> sample_size_for(const Moments& moments, long double factor, long double fraction) {
    const auto deviation = moments.standard_deviation();
    if (!deviation || moments.sum() == 0 || fraction <= 0) {
        return std::nullopt;
    }
    const long double root = *deviation * factor / (*moments.mean() * fraction);
    const long double exact = root * root;
    if (!(exact < 0x1p63L)) {
        return std::nullopt;
    }
    return SampleSize{exact, static_cast<std::uint64_t>(std::ceil(exact))};
}

}  // namespace perfleet
