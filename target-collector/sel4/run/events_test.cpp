// The events of a run, by the kernel's features.
#include "target-collector/sel4/run/events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "schemas/vocabulary/uncovered_time.h"

namespace perfleet::sel4::events_test {
namespace {

class NoCounters final : public EventCounters {
public:
    [[nodiscard]] std::size_t count() const override { return 0; }
    [[nodiscard]] std::string_view name(std::size_t /*index*/) const override { return {}; }
    std::uint64_t read(std::size_t /*index*/) override { return 0; }
};

TEST(RunEvents, TracepointsHaveThePortsNamesOrTheirNumbers) {
    NoCounters counters;
    constexpr std::array<std::string_view, 2> kNames{"interrupt", "system call"};
    const RunEvents events{{.mode = BenchmarkMode::kTracepoints, .architecture_name = "aarch64", .tracepoint_count = 3},
                           1'000'000,
                           counters,
                           kNames};
    std::vector<std::string> names;
    for (const EventDescription& event : events.descriptions()) {
        if (event.kind == Kind::kTracepoint) {
            names.emplace_back(event.name);
        }
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"tracepoints of unknown id", "interrupt", "system call", "tracepoint-2"}));
    EXPECT_EQ(events.descriptions()[RunEvents::kUncoveredTime.value].name, kUncoveredTimeEvent);
}

// Their amounts are cycles only where the kernel reports how long a thread has run.
TEST(RunEvents, SamplesHaveTheUnitOfTheirWeights) {
    NoCounters counters;
    const RunEvents known{{.mode = BenchmarkMode::kUtilisation, .architecture_name = "aarch64"}, 1'000'000, counters};
    EXPECT_EQ(known.descriptions()[RunEvents::kSamples.value].unit, "cycles");
    const RunEvents unknown{
        {.mode = BenchmarkMode::kKernelEntries, .architecture_name = "aarch64"}, 1'000'000, counters};
    EXPECT_EQ(unknown.descriptions()[RunEvents::kSamples.value].unit, "samples");
}

}  // namespace
}  // namespace perfleet::sel4::events_test
