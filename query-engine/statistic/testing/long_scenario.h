// Histories of many hours, with rows in every minute of them: for tests of what is counted from rollups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "query-engine/statistic/testing/profile_scenario.h"

namespace perfleet {

inline constexpr std::uint64_t kStretch = 340'000'000;  // a story's hour has 10,000 ticks with rows
inline constexpr std::int64_t kMinuteNs = 60 * kNsPerSecond;
inline constexpr std::int64_t kHourNs = 60 * kMinuteNs;

// Spreads a story's rows over their hours, `times` as many in all.
inline ProfileStory stretched(ProfileStory story, std::uint64_t seed, std::size_t times) {
    std::mt19937_64 random{seed};
    const auto stretch = [](std::uint64_t& ticks) {
        const std::uint64_t hour = ticks / kStoryEpochTicks * kStoryEpochTicks;
        ticks = hour + (ticks - hour) * kStretch;
    };
    for (StorySession& session : story.sessions) {
        for (StoryEpoch& epoch : session.epochs) {
            for (StoryTask& task : epoch.tasks) {
                stretch(task.ticks);
            }
            for (std::size_t i = 0, count = epoch.samples.size(); i < (times - 1) * count; ++i) {
                epoch.samples.push_back(epoch.samples[i % count]);
                epoch.samples.back().ticks = epoch.hour * kStoryEpochTicks + 1'000 + random() % 10'000;
            }
            for (StorySample& sample : epoch.samples) {
                stretch(sample.ticks);
                sample.ticks += random() % kStretch;
            }
            std::stable_sort(epoch.samples.begin(), epoch.samples.end(),
                             [](const StorySample& a, const StorySample& b) { return a.ticks < b.ticks; });
        }
    }
    return story;
}

inline ProfileStory long_story(std::uint64_t seed) { return stretched(make_story(seed), seed, 10); }

// Sessions of so many hours, an epoch an hour, of different length.
inline ProfileStory story_of_hours(std::uint64_t seed, std::uint32_t hours) {
    ProfileStory story = make_story(seed);
    std::mt19937_64 random{seed};
    for (std::size_t i = 0; i < story.sessions.size(); ++i) {
        std::vector<StoryEpoch>& epochs = story.sessions[i].epochs;
        epochs.clear();
        for (std::uint32_t hour = 0; hour + 5 * i < hours; ++hour) {
            epochs.push_back(make_story(random()).sessions.front().epochs.front());
            StoryEpoch& epoch = epochs.back();
            epoch.samples.resize(epoch.samples.size() / 4);
            epoch.hour = hour;
            const std::uint64_t start = hour * kStoryEpochTicks;
            std::for_each(epoch.tasks.begin(), epoch.tasks.end(), [&](StoryTask& task) { task.ticks += start; });
            std::for_each(epoch.samples.begin(), epoch.samples.end(), [&](StorySample& row) { row.ticks += start; });
            std::for_each(epoch.readings.begin(), epoch.readings.end(), [&](StoryReading& row) { row.ticks += start; });
        }
    }
    return stretched(std::move(story), seed, 1);
}

}  // namespace perfleet
