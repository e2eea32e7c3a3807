// A made-up history for tests: what ran where and was sampled when, told as plain rows; and the same put into a store
// in any batching and order, as a collector would have sent it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "schemas/columns/layout.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/store/store.h"

namespace perfleet {

struct StoryFrame {
    std::uint32_t image = 0;
    std::uint64_t offset = 0;
};

struct StorySample {
    std::uint64_t ticks = 0;
    std::uint16_t event = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t weight = 1;
    std::vector<StoryFrame> frames;  // innermost first; empty: none
};

struct StoryTask {
    std::uint64_t ticks = 0;
    TaskOp op{};
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t parent_tid = 0;
    std::string name;
};

struct StoryReading {
    std::uint64_t ticks = 0;
    std::uint32_t cpu = 0;
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
};

struct StoryEpoch {
    std::uint32_t hour = 0;            // of the session
    std::vector<StoryTask> tasks;      // ascending by ticks
    std::vector<StorySample> samples;  // ascending by ticks
    std::vector<StoryReading> readings;
};

struct StorySession {
    SessionRecord record;
    std::vector<StoryEpoch> epochs;
    std::uint64_t kernel_lost = 0;  // samples of event 0, told with the last batch
    bool has_ended = true;
};

struct ProfileStory {
    std::vector<ImageDefinition> images;
    std::vector<StorySession> sessions;
};

inline constexpr std::uint64_t kStoryEpochTicks = 3'600'000'000'000;

// Two targets, three sessions, several epochs, threads that are forked, renamed and reused.
[[nodiscard]] ProfileStory make_story(std::uint64_t seed);

struct DeliveryOrder {
    std::size_t rows_per_batch = 100;
    std::uint64_t order_seed = 0;  // 0: in the order of seq
    bool twice = false;
    std::size_t join_every = 0;  // the store joins what it may after so many batches, and at the end; 0: never
};

void deliver(const ProfileStory& story, const DeliveryOrder& delivery, Store& store);

}  // namespace perfleet
