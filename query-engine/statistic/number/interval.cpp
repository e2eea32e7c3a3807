#include "query-engine/statistic/number/interval.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"
#include "query-engine/statistic/number/random_stream.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {

long double interval_factor(MeanBasis basis, std::uint64_t count, long double confidence) {
    PERFLEET_ASSERT(confidence > 0 && confidence < 1);
    // From the lower tail, which keeps its digits.
    const long double tail = (1 - confidence) / 2;
    return basis == MeanBasis::kNormal ? -normal_quantile(tail)
                                       : -student_quantile(tail, static_cast<long double>(count - 1));
}

std::optional<Interval> mean_interval(const Moments& moments, MeanBasis basis, long double confidence) {
    const auto deviation = moments.standard_deviation();
    if (!deviation) {
        return std::nullopt;
    }
    const long double half_width = interval_factor(basis, moments.count(), confidence) * *deviation /
                                   std::sqrt(static_cast<long double>(moments.count()));
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

Interval bootstrap_interval(std::span<const std::uint64_t> values,
                            const std::function<long double(std::span<std::uint64_t>)>& statistic,
                            long double confidence, std::uint64_t rounds, std::uint64_t seed) {
    PERFLEET_ASSERT(!values.empty() && rounds > 0 && confidence > 0 && confidence < 1);
    RandomStream random{seed};
    std::vector<std::uint64_t> sample(values.size());
    std::vector<long double> results;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::generate(sample.begin(), sample.end(), [&] { return values[random.below(values.size())]; });
        results.push_back(statistic(sample));
    }
    std::sort(results.begin(), results.end());
    const auto cut = static_cast<std::uint64_t>((1 - confidence) / 2 * static_cast<long double>(rounds));
    return {results[cut], results[rounds - 1 - cut]};
}

}  // namespace perfleet
