// SIGTERM, SIGINT, and SIGHUP unless it was ignored (nohup), as a flag and an eventfd, for loops that wait on
// descriptors.
//
// To be made by main before any thread: the signals are blocked in all of them, and taken by a thread of this object.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "schemas/vocabulary/error.h"

namespace perfleet {

class StopSignal {
public:
    // From the first signal to the destruction of this object: the last commit, the last replies (half a second at
    // most), the query process (QueryProcess::kStopWithinNs), the closing of the store.
    static constexpr std::uint64_t kStopWithinNs = 10'000'000'000;

    // `overdue` is called, on the thread of this object, when the program is still there so long after the first
    // signal: it should end it.
    [[nodiscard]] static Result<std::unique_ptr<StopSignal>> catch_signals(
        std::function<void()> overdue, std::uint64_t stop_within_ns = kStopWithinNs);
    virtual ~StopSignal() = default;

    // Set before fd() becomes readable; both stay so.
    [[nodiscard]] virtual const std::atomic<bool>& flag() const = 0;
    [[nodiscard]] virtual int fd() const = 0;
};

}  // namespace perfleet
