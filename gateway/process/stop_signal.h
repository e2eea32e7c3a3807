// SIGTERM and SIGINT as a flag and an eventfd, for loops that wait on descriptors.
//
// To be made by main before any thread: the signals are blocked in all of them, and taken by a thread of this object.
#pragma once

#include <atomic>
#include <memory>

#include "schemas/vocabulary/error.h"

namespace perfleet {

class StopSignal {
public:
    [[nodiscard]] static Result<std::unique_ptr<StopSignal>> catch_signals();
    virtual ~StopSignal() = default;

    // Set before fd() becomes readable; both stay so.
    [[nodiscard]] virtual const std::atomic<bool>& flag() const = 0;
    [[nodiscard]] virtual int fd() const = 0;
};

}  // namespace perfleet
