// The wall clock as far as what is stored may be dropped by it. When it is stepped, by hand or by NTP, time goes on
// from where it was, until the new one has stood for a while: a clock that is years ahead for a minute would let
// everything be too old.
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
    // From one reading to the next, against the monotonic clock. What NTP slews it by is far less.
    static constexpr std::int64_t kStepNs = 60'000'000'000;
    static constexpr std::uint64_t kBelievedAfterNs = 600'000'000'000;

    // `log` is called for each step, and when the new time is believed; may be empty.
    explicit DebouncedClock(LogSink log) : log_{std::move(log)} {}

    // Both clocks read at the same moment, ns since 1970 and since any moment. The first reading is believed.
    [[nodiscard]] UtcNs now(UtcNs wall, std::uint64_t monotonic_ns);

private:
    // From the monotonic clock to the wall clock.
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
