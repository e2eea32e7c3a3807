// How often to sample so that a collector nobody watches stays within its part of a processor: --cpu-budget.
//
// A value. What was used is measured by its user.
#pragma once

#include <cstdint>
#include <optional>

namespace perfleet {

class CpuBudget {
public:
    static constexpr double kPercentUnattended = 1;  // of one core, of a collector that a service manager has started
    static constexpr double kPercentMin = 0.01;
    static constexpr double kPercentMax = 100;
    static constexpr std::uint64_t kEveryNs = 5'000'000'000;

    CpuBudget(double percent, std::uint64_t now_ns, std::uint64_t used_ns)
        : share_{percent / 100}, at_ns_{now_ns}, used_ns_{used_ns} {}

    // With what was used since the beginning. The part of the wanted frequencies that is sampled from now on; empty: as
    // before, or it is too early to say.
    [[nodiscard]] std::optional<double> update(std::uint64_t now_ns, std::uint64_t used_ns);

    [[nodiscard]] double scale() const { return scale_; }
    // Of one core, of the last interval.
    [[nodiscard]] double used_share() const { return used_share_; }

private:
    double share_;
    double scale_ = 1;
    double used_share_ = 0;
    std::uint64_t at_ns_;
    std::uint64_t used_ns_;
};

}  // namespace perfleet
