#include "query-engine/statistic/number/interval.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {

long double interval_factor(MeanBasis basis, long double count, long double confidence) {
    PERFLEET_ASSERT(confidence > 0 && confidence < 1);
    // From the lower tail, which keeps its digits.
    const long double tail = (1 - confidence) / 2;
    return basis == MeanBasis::kNormal ? -normal_quantile(tail) : -student_quantile(tail, std::max(1.0L, count - 1));
}

std::optional<Interval> mean_interval(const Moments& moments, MeanBasis basis, long double confidence,
                                      long double dependence) {
    const auto deviation = moments.standard_deviation();
    if (!deviation) {
        return std::nullopt;
    }
    const long double count = static_cast<long double>(moments.count()) / dependence;
    const long double half_width = interval_factor(basis, count, confidence) * *deviation / std::sqrt(count);
    return Interval{*moments.mean() - half_width, *moments.mean() + half_width};
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
