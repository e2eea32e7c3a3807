#include "gateway/wire/fair_inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

InboxMessage::InboxMessage(std::string_view routing_id, std::span<const std::byte> frame, Origin origin)
    : routing_id_{routing_id}, origin_{std::move(origin)}, size_bytes_{frame.size()} {
    words_.reset(new std::uint64_t[(size_bytes_ + 7) / 8]);  // not cleared: the caller fills it
    if (size_bytes_ > 0) {
        std::memcpy(words_.get(), frame.data(), size_bytes_);
    }
}

bool FairInbox::has_room(std::string_view routing_id, std::size_t frame_size_bytes) const {
    const std::size_t cost = frame_size_bytes + InboxMessage::kOverheadBytes;
    const std::size_t free = size_bytes_max_ - size_bytes_;
    if (cost > free) {
        return false;
    }
    const auto peer = peers_.find(routing_id);
    return peer == peers_.end() ||
           (peer->second.size_bytes + cost <= free && peer->second.messages.size() < kMessagesOfPeerMax);
}

void FairInbox::put(InboxMessage message) {
    const std::size_t cost = message.cost_bytes();
    PERFLEET_ASSERT(cost <= size_bytes_max_ - size_bytes_);
    const auto [at, is_new] = peers_.try_emplace(message.routing_id());
    Peer& peer = at->second;
    if (is_new) {
        peer.is_first = cost <= kTurnSizeBytes;
        (peer.is_first ? first_ : turns_).push_back(&*at);
    }
    peer.messages.push_back(std::move(message));
    peer.size_bytes += cost;
    size_bytes_ += cost;
}

// Takes a message of the first peer in the list; if the peer has more, it waits for its next turn.
InboxMessage FairInbox::take_front(std::list<Peers::value_type*>& from) {
    Peer& peer = from.front()->second;
    InboxMessage message = std::move(peer.messages.front());
    peer.messages.pop_front();
    peer.size_bytes -= message.cost_bytes();
    size_bytes_ -= message.cost_bytes();
    if (peer.messages.empty()) {
        peers_.erase(peers_.find(from.front()->first));
        from.pop_front();
    } else {
        peer.is_first = false;
        turns_.splice(turns_.end(), from, from.begin());
    }
    return message;
}

std::optional<InboxMessage> FairInbox::take() {
    if (!first_.empty() && (turns_.empty() || first_size_bytes_ < kFirstSizeBytesMax)) {
        first_size_bytes_ += first_.front()->second.messages.front().cost_bytes();
        return take_front(first_);
    }
    first_size_bytes_ = 0;
    while (!turns_.empty()) {
        Peer& peer = turns_.front()->second;
        const std::size_t cost = peer.messages.front().cost_bytes();
        const bool is_alone = turns_.size() == 1;
        if (peer.owed_bytes > 0 && !is_alone) {
            peer.owed_bytes -= std::min(peer.owed_bytes, kTurnSizeBytes);
            turns_.splice(turns_.end(), turns_, turns_.begin());
            continue;
        }
        // A peer saves up no more turns than its waiting message needs.
        peer.saved_bytes = std::min(peer.saved_bytes + kTurnSizeBytes, std::max(cost, kTurnSizeBytes));
        if (cost > peer.saved_bytes && !is_alone) {
            turns_.splice(turns_.end(), turns_, turns_.begin());
            continue;
        }
        peer.saved_bytes -= std::min(cost, peer.saved_bytes);
        return take_front(turns_);
    }
    return std::nullopt;
}

void FairInbox::charge(std::string_view routing_id, std::size_t size_bytes) {
    if (const auto peer = peers_.find(routing_id); peer != peers_.end()) {
        peer->second.owed_bytes = std::min(peer->second.owed_bytes + size_bytes, kOwedTurnsMax * kTurnSizeBytes);
    }
}

std::size_t FairInbox::forget(std::string_view routing_id) {
    const auto peer = peers_.find(routing_id);
    if (peer == peers_.end()) {
        return 0;
    }
    const std::size_t count = peer->second.messages.size();
    size_bytes_ -= peer->second.size_bytes;
    (peer->second.is_first ? first_ : turns_).remove(&*peer);
    peers_.erase(peer);
    return count;
}

}  // namespace perfleet
