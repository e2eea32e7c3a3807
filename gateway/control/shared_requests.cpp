#include "gateway/control/shared_requests.h"

#include <utility>

#include "storage/engine/request_box.h"

namespace perfleet {

RequestSource::Incoming SharedRequests::take() {
    Incoming incoming;
    for (ShardLeases::Message& message : leases_.take_requests()) {
        auto request = decode_operator_request(message.text);
        const std::uint32_t id = request.ok() ? request->id : 0;
        const auto refuse = [&](std::string reason) {
            leases_.answer({message.id, encode_operator_reply({id, RequestOutcome::kRefused, std::move(reason)})});
        };
        if (!request.ok()) {
            refuse(request.error().message);
        } else if (request->order.edit == SessionEdit::kKeepSymbols) {
            refuse("symbols are written into a shared store by the client that has them");
        } else if (unanswered_.size() >= RequestBox::kRequestsMax) {
            refuse("too many control requests wait for answers");
        } else {
            unanswered_.emplace(++last_ticket_, Unanswered{std::move(message.id), id});
            incoming.requests.emplace_back(last_ticket_, std::move(request->order));
        }
    }
    return incoming;
}

void SharedRequests::answer(std::uint64_t ticket, RequestOutcome outcome, std::string reason) {
    if (auto found = unanswered_.extract(ticket)) {
        Unanswered& request = found.mapped();
        leases_.answer(
            {std::move(request.id), encode_operator_reply({request.operators_id, outcome, std::move(reason)})});
    }
}

}  // namespace perfleet
