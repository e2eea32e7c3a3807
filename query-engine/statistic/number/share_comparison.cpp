#include "query-engine/statistic/number/share_comparison.h"

#include <algorithm>
#include <cmath>

#include "query-engine/statistic/number/distribution.h"

namespace perfleet {
namespace {

// How far the interval reaches from the measured difference towards `value`, by the normal quantile z of its
// confidence; nearly proportional to z. The interval excludes the value if it lies beyond the reach.
class Reach {
public:
    Reach(const ClusteredShare& before, const ClusteredShare& after, long double value)
        : before_{before},
          after_{after},
          first_{before.share()},
          second_{after.share()},
          distance_{std::abs(second_ - first_ - value)},
          is_down_{second_ - first_ > value} {}

    [[nodiscard]] long double distance() const { return distance_; }

    // As difference_of() computes it. z > 0.
    [[nodiscard]] long double at(long double z) const {
        const long double tail = normal_probability(-z);
        const long double before_count = effective_count_at(before_, tail);
        const long double after_count = effective_count_at(after_, tail);
        return is_down_ ? std::hypot(second_ - share_low(second_, after_count, tail),
                                     share_high(first_, before_count, tail) - first_)
                        : std::hypot(share_high(second_, after_count, tail) - second_,
                                     first_ - share_low(first_, before_count, tail));
    }

    // The z at which the normal approximation's interval ends at `value`.
    [[nodiscard]] long double likely_z() const {
        const auto variance = [](const ClusteredShare& side, long double share) {
            const long double count = static_cast<long double>(side.sum.count) / side.weight_of_one / side.effect;
            return (share * (1 - share) + 1 / count) / count;
        };
        return distance_ / std::sqrt(variance(before_, first_) + variance(after_, second_));
    }

private:
    const ClusteredShare& before_;
    const ClusteredShare& after_;
    long double first_;
    long double second_;
    long double distance_;
    bool is_down_;
};

}  // namespace

bool has_share_contrast(const ClusteredShare& before, const ClusteredShare& after) {
    return before.degrees > 0 && after.degrees > 0;
}

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

bool share_p_value_is_below(const ClusteredShare& before, const ClusteredShare& after, long double bound) {
    if (!has_share_contrast(before, after)) {
        return false;
    }
    const Reach reach{before, after, 0};
    return reach.distance() > 0 && reach.distance() > reach.at(-normal_quantile(bound / 2));
}

long double share_p_value(const ClusteredShare& before, const ClusteredShare& after, long double difference) {
    constexpr int kStepsMax = 60;            // bisection alone takes 28
    constexpr long double kZMin = 1e-5L;     // p = 0.999992: what lies above is 1
    constexpr long double kZError = 1e-8L;   // changes p by less than 1e-7 of it
    constexpr long double kZNearly = 1e-5L;  // after so small a secant step the error is below kZError
    if (!has_share_contrast(before, after)) {
        return 1;
    }
    const Reach reach{before, after, difference};
    if (reach.distance() <= 0) {
        return 1;
    }
    const long double z_max = -normal_quantile(kPValueMin / 2);
    long double excluded = 0;  // the z looked for lies between these
    long double held = z_max;
    bool is_held_known = false;
    long double z = std::clamp(reach.likely_z(), kZMin, z_max);
    long double last_z = 0;
    long double last_excess = 0;
    for (int step = 0; step < kStepsMax && held - excluded > kZError; ++step) {
        const long double excess = reach.distance() - reach.at(z);
        const bool is_excluded = excess > 0;
        if (is_excluded && z >= z_max) {
            return kPValueMin;
        }
        if (!is_excluded && z <= kZMin) {
            return 1;
        }
        is_held_known = is_held_known || !is_excluded;
        (is_excluded ? excluded : held) = z;
        const long double slope = step == 0 ? (excess - reach.distance()) / z : (excess - last_excess) / (z - last_z);
        last_z = z;
        last_excess = excess;
        // A secant step where it leads downhill, otherwise bisection.
        long double next = slope < 0 ? z - excess / slope : (excluded + held) / 2;
        if (excluded == 0) {
            next = std::max(next, kZMin);
        }
        if (!is_held_known) {
            next = std::min(next, z_max);
        }
        if (step > 0 && std::abs(next - z) < kZNearly) {
            z = next;
            break;
        }
        z = next > excluded && (next < held || !is_held_known) ? next : (excluded + held) / 2;
    }
    return std::clamp(2 * normal_probability(-z), kPValueMin, 1.0L);
}

}  // namespace perfleet
