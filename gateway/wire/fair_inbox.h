// Messages that came in and wait to be taken: bounded in bytes over all peers, and taken in turn, so that who sends
// much waits behind himself alone.
//
//   peers with messages:  A ─ a1 a2 a3 a4 …      taken: a1 b1 c1 a2 c2 a3 …
//                         B ─ b1
//                         C ─ c1 c2
//
// A peer of which nothing waits and that sends a small message comes before those turns, or some of them: who sends
// little doesn't wait for the large messages of many others, however many connections those come over.
//
// How much may wait of one peer: as much again as is still free, and kMessagesOfPeerMax. One flood leaves half of the
// room to others, n of them one part in n + 1; one of small messages is over soon when its peer is cut. What finds no
// room isn't read from its sender yet.
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
#include <unordered_map>

#include "schemas/peers/key_folder.h"

namespace perfleet {

// A message that owns its bytes, aligned to 8.
class InboxMessage {
public:
    InboxMessage() = default;
    // How it came.
    struct Origin {
        KeySet::Entry peer;            // null where there are no keys
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
    // What it takes of the room.
    [[nodiscard]] std::size_t cost_bytes() const { return size_bytes_ + kOverheadBytes; }

    static constexpr std::size_t kOverheadBytes = 256;  // its places in lists, its name, malloc's own

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

    // Whether a message of so many bytes may be put in now, without being made.
    [[nodiscard]] bool has_room(std::string_view routing_id, std::size_t frame_size_bytes) const;

    // has_room() was true. Its peer's turn comes after those of all who wait.
    void put(InboxMessage message);

    // The next one: each peer with messages in turn gives one; a large one costs its peer several turns. Nothing when
    // there is none.
    [[nodiscard]] std::optional<InboxMessage> take();

    // The message that take() gave of this peer cost so much more than its bytes: it pays by later turns, as long as it
    // has messages that wait.
    void charge(std::string_view routing_id, std::size_t size_bytes);

    // Leaves out what waits of this peer; how many messages.
    std::size_t forget(std::string_view routing_id);

    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::size_t size_bytes_max() const { return size_bytes_max_; }
    [[nodiscard]] bool is_empty() const { return peers_.empty(); }

private:
    // A turn is worth so much.
    static constexpr std::size_t kTurnSizeBytes = 64U << 10;
    static constexpr std::size_t kOwedTurnsMax = 64;
    // Of small messages that come first, between two of those that have turns.
    static constexpr std::size_t kFirstSizeBytesMax = 1U << 20;

    struct Peer {
        std::deque<InboxMessage> messages;
        std::size_t size_bytes = 0;
        std::size_t saved_bytes = 0;  // of turns that weren't enough for its next message
        std::size_t owed_bytes = 0;   // to be paid by turns before its next message
        bool is_first = false;        // in first_ instead of turns_
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    using Peers = std::unordered_map<std::string, Peer, TextHash, std::equal_to<>>;

    [[nodiscard]] InboxMessage take_front(std::list<Peers::value_type*>& from);

    std::size_t size_bytes_max_;
    std::size_t size_bytes_ = 0;
    Peers peers_;                          // those with messages
    std::list<Peers::value_type*> turns_;  // each once, there or in the next
    std::list<Peers::value_type*> first_;
    std::size_t first_size_bytes_ = 0;  // taken of these since a turn
};

}  // namespace perfleet
