// What a crowd of simulated targets does: how many there are, what each sends, and who they are. Plain values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;

inline constexpr Series kCrowdSamples{Kind::kSample, EventNumber{0}};

struct CrowdPlan {
    std::uint64_t first = 0;  // number of the first target
    std::uint64_t target_count = 100;
    double seconds = 10;
    std::uint64_t interval_ms = 2'000;
    std::uint32_t row_count = 304;  // samples of a batch
    double connect_seconds = 0;     // in which all connect, one after the other
    double timeout_s = 60;          // for what isn't acknowledged when the time is over

    // Of each target, whatever its fate.
    [[nodiscard]] std::uint64_t batch_count() const {
        return std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(std::llround(seconds * 1e3)) / std::max<std::uint64_t>(1, interval_ms));
    }
};

[[nodiscard]] inline std::string crowd_name(std::uint64_t number) { return "crowd-" + std::to_string(number); }
[[nodiscard]] inline TargetId crowd_target(std::uint64_t number) { return target_id_of(crowd_name(number)); }
[[nodiscard]] inline SessionId crowd_session(std::uint64_t number) { return {0x63726f7764000001, number}; }

}  // namespace perfleet
