// Varies fixed periods, so that they aren't in step with a program's loops: a fixed period that is a multiple or
// fraction of a loop's length hits the same places again and again.
//
// A value. The same seed gives the same periods.
#pragma once

#include <cstdint>

#include "target-collector/process/word_hash.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/event/perf_attr.h"

namespace perfleet {

class PeriodJitter {
public:
    static constexpr std::uint32_t kPercentMax = 50;
    static constexpr std::uint64_t kPeriodMin = 100;  // shorter ones aren't varied: each event, or every few, is wanted

    PeriodJitter() = default;
    PeriodJitter(std::uint32_t percent, std::uint64_t seed) : percent_{percent}, seed_{seed} {}

    [[nodiscard]] bool changes(const EventSpec& event, const SamplingRate& rate) const {
        return percent_ > 0 && !rate.is_frequency && rate.value >= kPeriodMin && !event.is_tracepoint() &&
               !event.is_breakpoint() && event.is_opened();
    }

    // Deviates by between a quarter of the percentage and all of it, in either direction: at least a quarter, so that a
    // loop as long as the period is hit elsewhere each time.
    [[nodiscard]] std::uint64_t next(std::uint64_t period) {
        constexpr double kHashMax = 18446744073709551616.0;
        const std::uint64_t bits = hash_words(seed_, ++drawn_count_);
        const double part = 0.25 + (0.75 * (static_cast<double>(bits) / kHashMax));
        const double change = static_cast<double>(period) * part * static_cast<double>(percent_) / 100.0;
        const auto whole = static_cast<std::uint64_t>(change) + 1;
        return (bits & 1U) != 0 ? period + whole : period - whole;
    }

private:
    std::uint32_t percent_ = 0;  // 0: no jitter
    std::uint64_t seed_ = 0;
    std::uint64_t drawn_count_ = 0;
};

}  // namespace perfleet
