#include "query-engine/statistic/number/bernat.h"

#include <algorithm>
#include <vector>

#include "schemas/vocabulary/assert.h"
#include "storage/number/wide_integer.h"

namespace perfleet {

BernatRanks bernat_ranks(std::uint64_t percent, std::uint64_t count, BernatRule rule) {
    const Uint128 product = Uint128{percent} * count;
    const auto index = static_cast<std::uint64_t>(product / 100);
    if (product % 100 == 0) {
        return {index, index};
    }
    const bool is_last = rule == BernatRule::kIntended && index + 1 == count;
    return {index, is_last ? index - (index == 0 ? 0 : 1) : index + 1};
}

BernatFigure bernat_percentile(std::span<const std::uint64_t> ascending, std::uint64_t percent, BernatRule rule) {
    PERFLEET_ASSERT(!ascending.empty() && percent <= 100);
    const BernatRanks ranks = bernat_ranks(percent, ascending.size(), rule);
    const std::uint64_t last = ascending.size() - 1;
    const Uint128 sum = Uint128{ascending[std::min(ranks.index, last)]} + ascending[std::min(ranks.next, last)];
    return {static_cast<std::uint64_t>(sum / 2), std::max(ranks.index, ranks.next) > last};
}

BernatFigure bernat_deviation(std::span<const std::uint64_t> ascending, BernatRule rule) {
    const BernatFigure median = bernat_percentile(ascending, 50, rule);
    std::vector<std::uint64_t> distances;
    for (const std::uint64_t value : ascending) {
        distances.push_back(value > median.value ? value - median.value : median.value - value);
    }
    std::sort(distances.begin(), distances.end());
    BernatFigure deviation = bernat_percentile(distances, 50, rule);
    deviation.is_clamped = deviation.is_clamped || median.is_clamped;
    return deviation;
}

}  // namespace perfleet
