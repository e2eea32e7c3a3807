// Histories of many hours, with rows in every minute of them: for tests of what is counted from summaries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "query-engine/statistic/testing/profile_scenario.h"

namespace perfleet {

inline constexpr std::uint64_t kStretch = 340'000'000;  // a scenario's hour has 10,000 ticks with rows
inline constexpr std::int64_t kMinuteNs = 60 * kNsPerSecond;
inline constexpr std::int64_t kHourNs = 60 * kMinuteNs;

// Spreads a scenario's rows over their hours, `times` as many in all.
inline ProfileScenario stretched(ProfileScenario scenario, std::uint64_t seed, std::size_t times) {
    std::mt19937_64 random{seed};
    const auto stretch = [](std::uint64_t& ticks) {
        const std::uint64_t hour = ticks / kScenarioEpochTicks * kScenarioEpochTicks;
        ticks = hour + (ticks - hour) * kStretch;
    };
    for (ScenarioSession& session : scenario.sessions) {
        for (ScenarioEpoch& epoch : session.epochs) {
            for (ScenarioTask& task : epoch.tasks) {
                stretch(task.ticks);
            }
            for (std::size_t i = 0, count = epoch.samples.size(); i < (times - 1) * count; ++i) {
                epoch.samples.push_back(epoch.samples[i % count]);
                epoch.samples.back().ticks = epoch.hour * kScenarioEpochTicks + 1'000 + random() % 10'000;
            }
            for (ScenarioSample& sample : epoch.samples) {
                stretch(sample.ticks);
                sample.ticks += random() % kStretch;
            }
            std::stable_sort(epoch.samples.begin(), epoch.samples.end(),
                             [](const ScenarioSample& a, const ScenarioSample& b) { return a.ticks < b.ticks; });
        }
    }
    return scenario;
}

inline ProfileScenario long_scenario(std::uint64_t seed) { return stretched(make_scenario(seed), seed, 10); }

// Sessions of so many hours, an epoch an hour, of different length.
inline ProfileScenario scenario_of_hours(std::uint64_t seed, std::uint32_t hours) {
    ProfileScenario scenario = make_scenario(seed);
    std::mt19937_64 random{seed};
    for (std::size_t i = 0; i < scenario.sessions.size(); ++i) {
        std::vector<ScenarioEpoch>& epochs = scenario.sessions[i].epochs;
        epochs.clear();
        for (std::uint32_t hour = 0; hour + 5 * i < hours; ++hour) {
            epochs.push_back(make_scenario(random()).sessions.front().epochs.front());
            ScenarioEpoch& epoch = epochs.back();
            epoch.samples.resize(epoch.samples.size() / 4);
            epoch.hour = hour;
            const std::uint64_t start = hour * kScenarioEpochTicks;
            std::for_each(epoch.tasks.begin(), epoch.tasks.end(), [&](ScenarioTask& task) { task.ticks += start; });
            std::for_each(epoch.samples.begin(), epoch.samples.end(), [&](ScenarioSample& row) { row.ticks += start; });
            std::for_each(epoch.readings.begin(), epoch.readings.end(),
                          [&](ScenarioReading& row) { row.ticks += start; });
        }
    }
    return stretched(std::move(scenario), seed, 1);
}

}  // namespace perfleet
