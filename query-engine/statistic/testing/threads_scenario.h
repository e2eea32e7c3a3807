// Threads without names: each is a row, or a command, of its own for each of its functions. What takes the most memory
// of the fewest samples.
#pragma once

#include <cstddef>
#include <utility>

#include "query-engine/statistic/testing/profile_scenario.h"

namespace perfleet {

[[nodiscard]] inline ProfileScenario make_threads_scenario(std::size_t thread_count) {
    constexpr std::size_t kFrames = 12;
    constexpr std::size_t kFunctions = 500;
    ProfileScenario scenario = make_scenario(1);
    scenario.sessions.resize(1);
    ScenarioSession& session = scenario.sessions.front();
    session.epochs.resize(1);
    session.epochs.front().tasks.clear();
    session.epochs.front().samples.clear();
    session.epochs.front().readings.clear();
    session.kernel_lost = 0;
    for (std::size_t i = 0; i < thread_count; ++i) {
        ScenarioSample sample;
        sample.ticks = 1'000 + i;
        sample.pid = static_cast<std::uint32_t>(100 + i);
        sample.tid = sample.pid;
        for (std::size_t frame = 0; frame < kFrames; ++frame) {
            sample.frames.push_back({0, 16 * ((i + frame * frame) % kFunctions)});
        }
        session.epochs.front().samples.push_back(std::move(sample));
    }
    return scenario;
}

}  // namespace perfleet
