// Receives SIGTERM, SIGINT, and SIGHUP unless it was ignored (nohup): sets a flag and an eventfd, for loops that wait
// on descriptors.
//
// Only one exists at a time. Threads started later block the signals, and a thread of this object receives them;
// threads that exist already pass them on to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "schemas/vocabulary/error.h"

namespace perfleet {

class StopSignal {
public:
    // Limit from the first signal to the destruction of this object: last commit, last replies (at most half a second),
    // query process (QueryProcess::kStopWithinNs), and closing the store.
    static constexpr std::uint64_t kStopWithinNs = 10'000'000'000;

    // Calls `overdue` on this object's thread if the program still runs `stop_within_ns` after the first signal;
    // `overdue` should end it.
    [[nodiscard]] static Result<std::unique_ptr<StopSignal>> catch_signals(
        std::function<void()> overdue, std::uint64_t stop_within_ns = kStopWithinNs);
    virtual ~StopSignal() = default;

    // Set before fd() becomes readable; both stay set.
    [[nodiscard]] virtual const std::atomic<bool>& flag() const = 0;
    [[nodiscard]] virtual int fd() const = 0;
};

}  // namespace perfleet
