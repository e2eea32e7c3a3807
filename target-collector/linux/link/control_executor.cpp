#include "target-collector/linux/link/control_executor.h"

#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

ControlExecutor::ControlExecutor() { PERFLEET_ASSERT(event_); }

void ControlExecutor::place(const ControlRequest& order) {
    const std::lock_guard lock{mutex_};
    if (is_closed_) {
        answer_ = Answer{protocol::ControlOutcome::kEnded, "the collection is over"};
        return;
    }
    if (!order_ && !answer_) {
        order_ = order;
        is_taken_ = false;
        event_.signal();
    }
}

std::optional<ControlExecutor::Answer> ControlExecutor::take_answer() {
    const std::lock_guard lock{mutex_};
    return std::exchange(answer_, std::nullopt);
}

std::optional<ControlRequest> ControlExecutor::take() {
    const std::lock_guard lock{mutex_};
    if (!order_ || is_taken_) {
        return std::nullopt;
    }
    event_.clear();
    is_taken_ = true;
    return order_;
}

void ControlExecutor::answer(const ControlAnswer& answer) {
    const std::lock_guard lock{mutex_};
    order_.reset();
    answer_ = Answer{answer.outcome, std::string{answer.reason}};
}

void ControlExecutor::close() {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    if (order_) {
        order_.reset();
        answer_ = Answer{protocol::ControlOutcome::kEnded, "the collection is over"};
    }
}

}  // namespace perfleet
