#include "query-engine/statistic/number/share_comparison.h"

namespace perfleet {

Contrast share_contrast(const ClusteredShare& before, const ClusteredShare& after, long double confidence) {
    const long double before_count = effective_count(before, confidence);
    const long double after_count = effective_count(after, confidence);
    Contrast contrast;
    if (before_count > 0 && after_count > 0) {
        const Interval first = share_interval(before.share(), before_count, confidence);
        const Interval second = share_interval(after.share(), after_count, confidence);
        contrast.difference = difference_of(before.share(), first, after.share(), second);
        contrast.ratio = ratio_of(before.share(), first, after.share(), second);
    }
    return contrast;
}

long double share_p_value(const ClusteredShare& before, const ClusteredShare& after, long double difference) {
    return p_value_from([&](long double confidence) { return share_contrast(before, after, confidence).difference; },
                        difference);
}

}  // namespace perfleet
