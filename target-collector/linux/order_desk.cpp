#include "target-collector/linux/order_desk.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

OrderDesk::OrderDesk() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} { PERFLEET_ASSERT(fd_ >= 0); }

OrderDesk::~OrderDesk() { ::close(fd_); }

void OrderDesk::place(const ControlOrder& order) {
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

std::optional<OrderDesk::Answer> OrderDesk::take_answer() {
    const std::lock_guard lock{mutex_};
    return std::exchange(answer_, std::nullopt);
}

std::optional<ControlOrder> OrderDesk::take() {
    const std::lock_guard lock{mutex_};
    if (!order_ || is_taken_) {
        return std::nullopt;
    }
    std::uint64_t count = 0;
    (void)!::read(fd_, &count, sizeof count);
    is_taken_ = true;
    return order_;
}

void OrderDesk::answer(const ControlAnswer& answer) {
    const std::lock_guard lock{mutex_};
    order_.reset();
    answer_ = Answer{answer.outcome, std::string{answer.reason}};
}

void OrderDesk::close() {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    if (order_) {
        order_.reset();
        answer_ = Answer{protocol::ControlOutcome::kEnded, "the collection is over"};
    }
}

}  // namespace perfleet
