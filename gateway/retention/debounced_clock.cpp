#include "gateway/retention/debounced_clock.h"

namespace perfleet {
namespace {

bool is_step(std::int64_t from_ns, std::int64_t to_ns) {
    const std::int64_t by_ns = to_ns - from_ns;
    return by_ns > DebouncedClock::kStepNs || by_ns < -DebouncedClock::kStepNs;
}

}  // namespace

UtcNs DebouncedClock::now(UtcNs wall, std::uint64_t monotonic_ns) {
    const Offset offset{wall.value - static_cast<std::int64_t>(monotonic_ns), monotonic_ns};
    if (!believed_ || !is_step(believed_->ns, offset.ns)) {
        believed_ = offset;
        stepped_.reset();
        return wall;
    }
    if (!stepped_ || is_step(stepped_->ns, offset.ns)) {
        stepped_ = offset;
        log(LogLevel::kWarning, "the clock was set by " + std::to_string((offset.ns - believed_->ns) / kNsPerSecond) +
                                    " s: retention keeps using the old time until the new one has lasted for " +
                                    std::to_string(kBelievedAfterNs / 60'000'000'000) + " minutes");
    }
    if (monotonic_ns - stepped_->since_ns < kBelievedAfterNs) {
        return UtcNs{believed_->ns + static_cast<std::int64_t>(monotonic_ns)};
    }
    believed_ = offset;
    stepped_.reset();
    log(LogLevel::kNotice, "the new time of the clock is used from now on");
    return wall;
}

void DebouncedClock::log(LogLevel level, const std::string& text) const {
    if (log_) {
        log_({level, "retention", text});
    }
}

}  // namespace perfleet
