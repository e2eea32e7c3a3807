// Messages that have arrived and wait to be handled: bounded in bytes over all peers, and taken in turn, so that a peer
// that sends much delays only itself.
//
//   peers with messages:  A ─ a1 a2 a3 a4 …      taken: a1 b1 c1 a2 c2 a3 …
//                         B ─ b1
//                         C ─ c1 c2
//
// A small message of a peer without waiting messages comes before these turns, up to kFirstSizeBytesMax between two of
// them: a peer that sends little doesn't wait for the large messages of others, however many connections they use.
//
// A peer may have as many bytes waiting as are still free, and kMessagesOfPeerMax messages, which bounds floods of
// small ones. One flooding peer thus leaves half of the space to others, n such peers one part in n + 1. A peer whose
// message has no space isn't read for now.
// No threads of its own, no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/peers/key_folder.h"
#include "schemas/peers/text_map.h"

namespace perfleet {

// A message that owns its bytes, aligned to 8.
class InboxMessage {
public:
    InboxMessage() = default;
    // Where it came from.
    struct Origin {
        KeySet::Entry peer;            // of its key; null without keys
        std::uint64_t arrived_ns = 0;  // CLOCK_MONOTONIC
        bool is_local = false;         // over the socket in the store's folder
    };

    // `frame` is copied.
    InboxMessage(std::string_view routing_id, std::span<const std::byte> frame, Origin origin);
    InboxMessage(std::string_view routing_id, std::span<const std::byte> frame)
        : InboxMessage{routing_id, frame, Origin{}} {}

    [[nodiscard]] const std::string& routing_id() const { return routing_id_; }
    [[nodiscard]] std::span<const std::byte> frame() const {
        return {reinterpret_cast<const std::byte*>(words_.get()), size_bytes_};
    }
    [[nodiscard]] const Enrolment* peer() const { return origin_.peer.get(); }
    [[nodiscard]] std::uint64_t arrived_ns() const { return origin_.arrived_ns; }
    [[nodiscard]] bool is_local() const { return origin_.is_local; }
    // What it counts against the limits.
    [[nodiscard]] std::size_t cost_bytes() const { return size_bytes_ + kOverheadBytes; }

    static constexpr std::size_t kOverheadBytes = 256;  // its list entries, routing id, and malloc's overhead

private:
    std::string routing_id_;
    Origin origin_;
    std::unique_ptr<std::uint64_t[]> words_;
    std::size_t size_bytes_ = 0;
};

class FairInbox {
public:
    static constexpr std::size_t kMessagesOfPeerMax = 512;

    explicit FairInbox(std::size_t size_bytes_max) : size_bytes_max_{size_bytes_max} {}

    // Whether a message of this size may be put in now.
    [[nodiscard]] bool has_room(std::string_view routing_id, std::size_t frame_size_bytes) const;

    // Adds a message for which has_room() was true. The turn of a new peer comes after those of all waiting peers.
    void put(InboxMessage message);

    // The next message: peers with messages take turns; a large message costs its peer several turns. Empty if there is
    // none.
    [[nodiscard]] std::optional<InboxMessage> take();

    // Charges the peer for a message of take() that cost `size_bytes` more than its own size: later turns of the peer
    // are skipped accordingly, as long as it has messages waiting.
    void charge(std::string_view routing_id, std::size_t size_bytes);

    // Drops the waiting messages of this peer; returns how many.
    std::size_t forget(std::string_view routing_id);

    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::size_t size_bytes_max() const { return size_bytes_max_; }
    [[nodiscard]] bool is_empty() const { return peers_.empty(); }

private:
    // Bytes that one turn allows.
    static constexpr std::size_t kTurnSizeBytes = 64U << 10;
    static constexpr std::size_t kOwedTurnsMax = 64;
    // Small messages that come first, between two turns of other peers.
    static constexpr std::size_t kFirstSizeBytesMax = 1U << 20;

    struct Peer {
        std::deque<InboxMessage> messages;
        std::size_t size_bytes = 0;
        std::size_t saved_bytes = 0;  // of turns that were too few for its next message
        std::size_t owed_bytes = 0;   // to be paid by skipped turns before its next message
        bool is_first = false;        // in first_ instead of turns_
    };
    using Peers = TextMap<Peer>;

    [[nodiscard]] InboxMessage take_front(std::list<Peers::value_type*>& from);

    std::size_t size_bytes_max_;
    std::size_t size_bytes_ = 0;
    Peers peers_;                          // those with messages
    std::list<Peers::value_type*> turns_;  // each peer once, here or in first_
    std::list<Peers::value_type*> first_;
    std::size_t first_size_bytes_ = 0;  // taken from first_ since the last turn
};

}  // namespace perfleet
