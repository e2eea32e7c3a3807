// Adapts sampling frequencies so that an unattended collector stays within its CPU budget: --cpu-budget.
//
// A value. The caller measures the CPU time.
#pragma once

#include <cstdint>
#include <optional>

namespace perfleet {

class CpuBudget {
public:
    static constexpr double kPercentUnattended = 1;  // of one core, if a service manager has started the collector
    static constexpr double kPercentMin = 0.01;
    static constexpr double kPercentMax = 100;
    static constexpr std::uint64_t kEveryNs = 5'000'000'000;

    CpuBudget(double percent, std::uint64_t now_ns, std::uint64_t used_ns)
        : share_{percent / 100}, at_ns_{now_ns}, used_ns_{used_ns} {}

    // `used_ns`: CPU time since the beginning. Returns the fraction of the wanted frequencies to sample from now on;
    // empty: no change, or too early to decide.
    [[nodiscard]] std::optional<double> update(std::uint64_t now_ns, std::uint64_t used_ns);

    [[nodiscard]] double scale() const { return scale_; }
    // Fraction of one core used in the last interval.
    [[nodiscard]] double used_share() const { return used_share_; }

private:
    double share_;
    double scale_ = 1;
    double used_share_ = 0;
    std::uint64_t at_ns_;
    std::uint64_t used_ns_;
};

}  // namespace perfleet
