// Measures how long a peer owes an answer. A peer without a pending request may be silent: a gateway repeats its last
// message at growing intervals.
//
// Updated once in each turn of the loop; one thread. Times are monotonic nanoseconds.
#pragma once

#include <cstdint>
#include <optional>

namespace perfleet {

class AnswerWait {
public:
    // A request was sent, or would have been if connected.
    void asked() { was_asked_ = true; }
    void heard() { was_heard_ = true; }

    // The end of a turn. Within a turn, answers precede requests.
    void note_time(std::uint64_t now_ns) {
        if (was_heard_) {
            since_ns_.reset();
        }
        if (was_asked_ && !since_ns_.has_value()) {
            since_ns_ = now_ns;
        }
        was_heard_ = false;
        was_asked_ = false;
        now_ns_ = now_ns;
    }

    [[nodiscard]] std::uint64_t duration_ns() const { return since_ns_.has_value() ? now_ns_ - *since_ns_ : 0; }

    // Requests go to another peer from now on.
    void restart() { since_ns_ = now_ns_; }

private:
    std::optional<std::uint64_t> since_ns_;
    std::uint64_t now_ns_ = 0;
    bool was_asked_ = false;
    bool was_heard_ = false;
};

}  // namespace perfleet
