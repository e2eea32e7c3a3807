#include "target-collector/wire/delivery_requests.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

bool DeliveryRequests::take(const Reply& control) {
    if (control.number == 0) {
        return false;
    }
    if (is_waiting_) {
        return true;  // a repetition of the current request; another gateway repeats its own
    }
    if (control.incarnation == incarnation_ && control.number <= number_) {
        is_answer_due_ = is_answer_due_ || control.number == number_;
        return control.number == number_;
    }
    incarnation_ = control.incarnation;
    number_ = control.number;
    order_ = {static_cast<protocol::ControlCommand>(control.command), control.event, control.value};
    is_waiting_ = true;
    is_answer_due_ = false;
    if (taken_ == Taken::kNotAtAll) {
        answer({protocol::ControlOutcome::kUnsupported, "it supports no control requests"});
    } else if (taken_ == Taken::kEnded) {
        answer({protocol::ControlOutcome::kEnded, "nothing is measured any more"});
    }
    return true;
}

void DeliveryRequests::answer(const ControlAnswer& answer) {
    PERFLEET_ASSERT(is_waiting_);
    is_waiting_ = false;
    is_answer_due_ = true;
    outcome_ = answer.outcome;
    reason_size_bytes_ = answer.reason.size() < reason_.size() ? answer.reason.size() : reason_.size();
    if (reason_size_bytes_ > 0) {
        std::memcpy(reason_.data(), answer.reason.data(), reason_size_bytes_);
    }
}

std::span<const std::byte> DeliveryRequests::due(SessionId session, std::uint64_t incarnation) {
    if (!is_answer_due_ || incarnation != incarnation_) {
        return {};
    }
    const auto size = write_controlled(session, number_, {outcome_, {reason_.data(), reason_size_bytes_}}, frame_);
    PERFLEET_ASSERT(size.ok());
    return std::span<const std::byte>{frame_}.first(*size);
}

}  // namespace perfleet
