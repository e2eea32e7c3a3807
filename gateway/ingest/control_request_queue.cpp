#include "gateway/ingest/control_request_queue.h"

#include <algorithm>
#include <utility>

#include "gateway/admission/intake_limits.h"
#include "gateway/ingest/reply.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet {
namespace {

using protocol::ControlOutcome;

// The session's event of this name, if it has one.
std::optional<EventNumber> event_of(const SessionRecord& session, std::string_view name) {
    for (std::size_t i = 0; i < session.events.size(); ++i) {
        if (session.events[i].name == name) {
            return EventNumber{static_cast<std::uint16_t>(i)};
        }
    }
    return std::nullopt;
}

std::string names_of_events(const SessionRecord& session) {
    std::string names;
    for (const EventRecord& event : session.events) {
        names += (names.empty() ? "" : ", ") + event.name;
    }
    return names;
}

// The reason of an outcome if the target gives none.
std::string_view plain_reason(ControlOutcome outcome) {
    switch (outcome) {
        case ControlOutcome::kApplied: return "";
        case ControlOutcome::kUnsupported: return "it can't do that";
        case ControlOutcome::kUnknownEvent: return "it has no such event";
        case ControlOutcome::kOutOfRange: return "not with this value";
        case ControlOutcome::kFailed: return "it tried, and failed";
        case ControlOutcome::kEnded: return "nothing is measured any more";
    }
    return "for a reason that this gateway doesn't know";
}

std::string seconds_text(std::uint64_t ns) { return std::to_string(ns / kNsPerSecond) + " s"; }

}  // namespace

void ControlRequestQueue::answer(RequestTicket ticket, RequestOutcome outcome, std::string reason) {
    answers_.push_back({ticket, outcome, std::move(reason)});
}

void ControlRequestQueue::place(RequestTicket ticket, const OperatorCommand& order, const SessionPtr& session,
                                std::uint64_t now_ns) {
    if (session == nullptr || session->routing_id.empty()) {
        return answer(ticket, RequestOutcome::kNotConnected, "");
    }
    if (session->finished) {
        return answer(ticket, RequestOutcome::kRefused, "the session has ended");
    }
    EventNumber event = kNoEvent;
    if (!order.event.empty()) {
        const auto found = event_of(session->record, order.event);
        if (!found) {
            return answer(ticket, RequestOutcome::kRefused, "its events are " + names_of_events(session->record));
        }
        event = *found;
    }
    Queue& queue = queues_[session->record.session];
    if (queue.size() >= intake_limits::kRequestsOfSessionMax || request_count_ >= intake_limits::kRequestsMax) {
        return answer(ticket, RequestOutcome::kRefused, "too many control requests wait for answers");
    }
    const std::uint64_t timeout_ns = std::min(order.timeout_ns, intake_limits::kRequestTimeoutNsMax);
    queue.push_back({ticket, order.command, event, order.value, timeout_ns, now_ns + timeout_ns});
    ++request_count_;
    if (queue.size() == 1) {
        send_first(*session, queue, now_ns);
    }
}

void ControlRequestQueue::send_first(const Session& session, Queue& queue, std::uint64_t now_ns) {
    Pending& order = queue.front();
    order.number = order.number == 0 ? ++last_number_ : order.number;
    order.sent_ns = now_ns;
    link_.send(session.routing_id, encode_control({session.record.session, order.command, order.event, order.value,
                                                   order.number, incarnation_}));
}

void ControlRequestQueue::withdraw(RequestTicket ticket) {
    for (auto queue = queues_.begin(); queue != queues_.end(); ++queue) {
        request_count_ -= std::erase_if(queue->second, [&](const Pending& order) { return order.ticket == ticket; });
        if (queue->second.empty()) {
            queues_.erase(queue);
            return;
        }
    }
}

void ControlRequestQueue::attach(const Session& session, std::uint64_t now_ns) {
    if (const auto queue = queues_.find(session.record.session); queue != queues_.end()) {
        send_first(session, queue->second, now_ns);
    }
}

void ControlRequestQueue::take(const Session& session, const ControlledUntrusted& controlled, std::uint64_t now_ns) {
    const auto found = queues_.find(session.record.session);
    if (found == queues_.end() || controlled.number == 0 || found->second.front().number != controlled.number) {
        return;  // the request has timed out or was withdrawn
    }
    const RequestTicket ticket = found->second.front().ticket;
    found->second.pop_front();
    --request_count_;
    if (found->second.empty()) {
        queues_.erase(found);
    } else {
        send_first(session, found->second, now_ns);
    }
    const auto outcome = static_cast<ControlOutcome>(controlled.outcome);
    if (outcome == ControlOutcome::kApplied) {
        return answer(ticket, RequestOutcome::kApplied, "");
    }
    const std::string_view reason = controlled.reason.empty()
                                        ? plain_reason(outcome)
                                        : controlled.reason.substr(0, intake_limits::kReplyTextSizeBytesMax);
    answer(ticket, RequestOutcome::kRefused, std::string{reason});
}

void ControlRequestQueue::give_up(const Pending& order, bool is_connected) {
    const std::string within = " within " + seconds_text(order.timeout_ns);
    answer(order.ticket, RequestOutcome::kNoAnswer,
           order.number == 0 ? "an earlier request got no answer" + within + "; this one was not sent"
           : is_connected    ? "none" + within + "; it may have been applied"
                             : "the connection was lost and not restored" + within + "; it may have been applied");
}

void ControlRequestQueue::tick(const SessionTable& table, std::uint64_t now_ns) {
    for (auto entry = queues_.begin(); entry != queues_.end();) {
        Queue& queue = entry->second;
        const SessionPtr session = table.find(entry->first);
        const bool is_connected = session != nullptr && !session->routing_id.empty();
        request_count_ -= std::erase_if(queue, [&](const Pending& order) {
            const bool is_over = now_ns >= order.deadline_ns;
            if (is_over) {
                give_up(order, is_connected);
            }
            return is_over;
        });
        if (queue.empty()) {
            entry = queues_.erase(entry);
            continue;
        }
        const Pending& first = queue.front();
        if (is_connected && (first.number == 0 || now_ns - first.sent_ns >= limits::kAckIntervalNs)) {
            send_first(*session, queue, now_ns);
        }
        ++entry;
    }
}

std::uint64_t ControlRequestQueue::due_ns() const {
    std::uint64_t due_ns = ~0ULL;
    for (const auto& [session, queue] : queues_) {
        for (const Pending& order : queue) {
            due_ns = std::min(due_ns, order.deadline_ns);
        }
    }
    return due_ns;
}

std::vector<RequestAnswer> ControlRequestQueue::take_answers() { return std::exchange(answers_, {}); }

}  // namespace perfleet
