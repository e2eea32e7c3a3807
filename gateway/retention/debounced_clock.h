// The wall clock that decides what is too old. When it is stepped, by hand or by NTP, time continues from the old value
// until the new one has lasted for kBelievedAfterNs: otherwise a clock that is years ahead for a minute would expire
// everything.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

class DebouncedClock {
public:
    // A greater change between two readings, relative to the monotonic clock, is a step. NTP's slewing is far slower.
    static constexpr std::int64_t kStepNs = 60'000'000'000;
    static constexpr std::uint64_t kBelievedAfterNs = 600'000'000'000;

    // `log` is called for each step, and when the new time is believed; may be empty.
    explicit DebouncedClock(LogSink log) : log_{std::move(log)} {}

    // Both clocks, read at the same moment: ns since 1970, and ns since any moment. The first reading is believed.
    [[nodiscard]] UtcNs now(UtcNs wall, std::uint64_t monotonic_ns);

private:
    // Difference between the wall clock and the monotonic clock.
    struct Offset {
        std::int64_t ns = 0;
        std::uint64_t since_ns = 0;  // by the monotonic clock
    };

    void log(LogLevel level, const std::string& text) const;

    LogSink log_;
    std::optional<Offset> believed_;
    std::optional<Offset> stepped_;
};

}  // namespace perfleet
