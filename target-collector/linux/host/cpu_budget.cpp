#include "target-collector/linux/host/cpu_budget.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr double kScaleMin = 1.0 / 256;
constexpr double kAimedAt = 0.8;      // of the budget, after a change of the frequency
constexpr double kRaisedBelow = 0.5;  // of the budget: above it the frequency stays, so that it doesn't oscillate
constexpr double kRaisedBy = 2;       // at most, per change

}  // namespace

std::optional<double> CpuBudget::update(std::uint64_t now_ns, std::uint64_t used_ns) {
    if (now_ns < at_ns_ + kEveryNs) {
        return std::nullopt;
    }
    used_share_ = static_cast<double>(used_ns - std::min(used_ns, used_ns_)) / static_cast<double>(now_ns - at_ns_);
    at_ns_ = now_ns;
    used_ns_ = used_ns;
    const bool is_above = used_share_ > share_;
    const bool can_rise = scale_ < 1 && used_share_ < share_ * kRaisedBelow;
    if (!is_above && !can_rise) {
        return std::nullopt;
    }
    const double aimed = scale_ * std::min(share_ * kAimedAt / std::max(used_share_, 1e-9), kRaisedBy);
    const double before = scale_;
    scale_ = std::clamp(aimed, kScaleMin, 1.0);
    return scale_ == before ? std::nullopt : std::optional{scale_};
}

}  // namespace perfleet
