// The events that a run sends on its kernel: their numbers and descriptions.
//
// Texts live as long as this object, which the collector borrows for its life.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/vocabulary/event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/sel4/run/machine.h"
#include "target-collector/source/sel4/kernel_description.h"
#include "target-collector/source/sel4/log_source.h"

namespace perfleet::sel4 {

class RunEvents : NonCopyable {
public:
    static constexpr EventNumber kSamples{0};
    static constexpr EventNumber kCallLatency{1};
    static constexpr EventNumber kNotificationLatency{2};
    static constexpr EventNumber kCollectorTime{3};
    static constexpr EventNumber kCycleSamples{4};
    static constexpr EventNumber kUncoveredTime{5};
    static constexpr EventNumber kFirstCounter{6};  // one for each event counter of the PMU

    // `sample_period`: mean ticks of the clock between two samples. `tracepoint_names`: by id; others are called
    // "tracepoint-N".
    RunEvents(const KernelFeatures& features, std::uint64_t sample_period, const EventCounters& counters,
              std::span<const std::string_view> tracepoint_names = {});

    // Of utilisation, kernel entries, or tracepoints.
    [[nodiscard]] EventNumber first_of_mode() const { return first_of_mode_; }
    [[nodiscard]] std::span<const EventDescription> descriptions() const { return std::span{events_}.first(count_); }

private:
    static constexpr std::size_t kEventsMax = kFirstCounter.value + EventCounters::kEventsMax + 1 + kTracepointIdsMax;

    void add_samples(std::string_view name, const KernelFeatures& features, std::uint64_t period);
    void add(std::string_view name, Kind kind, std::string_view unit, std::string_view format = {});
    [[nodiscard]] std::string_view describe(const KernelFeatures& features, const EventFacts& facts);

    EventNumber first_of_mode_;
    std::array<EventDescription, kEventsMax> events_{};
    std::size_t count_ = 0;
    std::array<std::optional<KernelDescription>, kEventsMax> formats_{};
    std::size_t format_count_ = 0;
};

}  // namespace perfleet::sel4
