#include "target-collector/source/linux/switch_times.h"

#include <algorithm>

namespace perfleet {

std::uint64_t SwitchTimes::random_below(std::uint64_t limit) {
    return limit == 0 ? 0 : std::uniform_int_distribution<std::uint64_t>{0, limit - 1}(random_);
}

bool SwitchTimes::leave(std::uint32_t tid, const Left& left) {
    auto known = threads_.find(tid);
    if (known == threads_.end()) {
        if (threads_.size() == kThreadsMax) {
            return false;
        }
        // Begins at a random point of a period.
        known = threads_.emplace(tid, Thread{}).first;
        known->second.blocked = {random_below(period_ns_), period_ns_};
        known->second.runnable = {random_below(period_ns_), period_ns_};
    }
    known->second.left = left;
    known->second.is_away = true;
    known->second.is_preempted = false;
    return true;
}

void SwitchTimes::note_preempted(std::uint32_t tid) {
    if (const auto known = threads_.find(tid); known != threads_.end()) {
        known->second.is_preempted = true;
    }
}

std::uint64_t SwitchTimes::take_due(Sum& sum) {
    if (sum.time_ns < sum.due_ns || period_ns_ == 0) {
        return 0;
    }
    const std::uint64_t weight = sum.due_ns + (sum.time_ns - sum.due_ns) / period_ns_ * period_ns_;
    sum.time_ns -= weight;
    sum.due_ns = period_ns_ / 2 + random_below(period_ns_);
    return weight;
}

std::optional<SwitchTimes::Back> SwitchTimes::come(std::uint32_t tid, std::uint64_t time_ns) {
    const auto known = threads_.find(tid);
    if (known == threads_.end() || !known->second.is_away) {
        return std::nullopt;
    }
    Thread& thread = known->second;
    thread.is_away = false;
    (thread.is_preempted ? thread.runnable : thread.blocked).time_ns +=
        time_ns - std::min(time_ns, thread.left.time_ns);
    Back back{thread.left, take_due(thread.blocked), take_due(thread.runnable)};
    return back.blocked_ns + back.runnable_ns > 0 ? std::optional{back} : std::nullopt;
}

}  // namespace perfleet
