// A generated history for tests: programs that ran and were sampled, as plain rows; and the same put into a store in
// any batching and order, as a collector would have sent it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "schemas/vocabulary/kinds.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/store/store.h"

namespace perfleet {

struct ScenarioFrame {
    std::uint32_t image = 0;
    std::uint64_t offset = 0;
};

struct ScenarioSample {
    std::uint64_t ticks = 0;
    std::uint16_t event = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t weight = 1;
    std::vector<ScenarioFrame> frames;  // innermost first; empty: none
    std::uint32_t cpu = 0;
};

struct ScenarioTask {
    std::uint64_t ticks = 0;
    TaskOp op{};
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t parent_tid = 0;
    std::string name;
};

struct ScenarioReading {
    std::uint64_t ticks = 0;
    std::uint32_t cpu = 0;
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
};

struct ScenarioEpoch {
    std::uint32_t hour = 0;               // of the session
    std::vector<ScenarioTask> tasks;      // ascending by ticks
    std::vector<ScenarioSample> samples;  // ascending by ticks
    std::vector<ScenarioReading> readings;
};

struct ScenarioSession {
    SessionRecord record;
    std::vector<ScenarioEpoch> epochs;
    std::uint64_t kernel_lost = 0;  // samples of event 0, reported with the last batch
    bool has_ended = true;
};

struct ProfileScenario {
    std::vector<ImageDefinition> images;
    std::vector<ScenarioSession> sessions;
};

inline constexpr std::uint64_t kScenarioEpochTicks = 3'600'000'000'000;

// Two targets, three sessions, several epochs, threads that are forked, renamed and reused.
[[nodiscard]] ProfileScenario make_scenario(std::uint64_t seed);

struct DeliveryOrder {
    std::size_t rows_per_batch = 100;
    std::uint64_t order_seed = 0;  // 0: in the order of seq
    bool twice = false;
    std::size_t compact_every = 0;  // the store compacts what it may after so many batches, and at the end; 0: never
};

void deliver(const ProfileScenario& scenario, const DeliveryOrder& delivery, Store& store);

}  // namespace perfleet
