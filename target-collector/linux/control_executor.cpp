#include "target-collector/linux/control_executor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

ControlExecutor::ControlExecutor() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} { PERFLEET_ASSERT(fd_ >= 0); }

ControlExecutor::~ControlExecutor() { ::close(fd_); }

void ControlExecutor::place(const ControlRequest& order) {
    const std::lock_guard lock{mutex_};
    if (is_closed_) {
        answer_ = Answer{protocol::ControlOutcome::kEnded, "the collection is over"};
        return;
    }
    if (!order_ && !answer_) {
        order_ = order;
        is_taken_ = false;
        const std::uint64_t one = 1;
        (void)!::write(fd_, &one, sizeof one);
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
    std::uint64_t count = 0;
    (void)!::read(fd_, &count, sizeof count);
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
