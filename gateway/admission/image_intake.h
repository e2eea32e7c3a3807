// Images that collectors offer and the store doesn't have: asked for chunk by chunk, put together, checked, handed over
// whole.
//
// One image on its way per peer, at most `size_bytes_max` over all of them; the same image is asked of one peer at a
// time, so that it travels once however many have it. What a session has sent of one when its connection ends is kept
// for when it comes back. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gateway/admission/intake_limits.h"
#include "gateway/admission/untrusted.h"
#include "gateway/gateway_counts.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet {

class ImageIntake {
public:
    // What to ask a peer for: NeedImage. Without a build-id: nothing more of its last offer_more().
    struct Question {
        std::string routing_id;
        std::string build_id;
        std::uint64_t offset = 0;
    };
    struct Whole {
        std::string build_id;
        ImageContent content;
    };

    struct Taken {
        std::optional<Whole> whole;           // the chunk made it so
        std::optional<ImageRefusal> refusal;  // it isn't asked for again
    };

    // Of 0 bytes: no image is ever asked for.
    explicit ImageIntake(std::size_t size_bytes_max) : size_bytes_max_{size_bytes_max} {}

    // What the peer has, which speaks for the session; offers out of limits are left out. Replaces what it offered
    // before.
    void offer(std::string_view routing_id, SessionId session, std::span<const ImageOfferUntrusted> offers_untrusted);

    // What else it has. It is told when nothing more of it is needed.
    void offer_more(std::string_view routing_id, SessionId session,
                    std::span<const ImageOfferUntrusted> offers_untrusted);

    // The peer is gone.
    void forget(std::string_view routing_id);

    // Takes a chunk up if it is the one that was asked for.
    [[nodiscard]] Taken take(std::string_view routing_id, const ImageUntrusted& image_untrusted, std::uint64_t now_ns);

    // It is durable: nobody is asked for it again.
    void remember(const std::string& build_id);

    // The next question to this peer that is due: a new image, the next chunk, or one that wasn't answered.
    [[nodiscard]] Result<std::optional<Question>> next(std::string_view routing_id, const StoreReader& store,
                                                       std::uint64_t now_ns);

    // Peers that have something left to be asked for.
    [[nodiscard]] std::vector<std::string> busy_peers() const;

    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] bool has_room(std::size_t size_bytes) const { return size_bytes_ + size_bytes <= size_bytes_max_; }

private:
    struct Offer {
        std::string build_id;
        std::uint16_t type = 0;
        std::uint64_t size_bytes = 0;  // 0: told with its first chunk
    };
    struct Flight {
        Offer offer;
        std::uint64_t reserved_bytes = 0;  // of size_bytes_
        std::string bytes;
        std::uint64_t asked_ns = 0;
        std::uint32_t ask_count = 0;  // without an answer
    };
    // What came of an image before its peer was gone.
    struct Rest {
        SessionId session;
        Offer offer;
        std::string bytes;
    };
    struct Peer {
        SessionId session;
        std::deque<Offer> offers;
        std::optional<Flight> flight;
        bool is_end_expected = false;  // after offer_more()
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };

    void add_offers(Peer& peer, std::span<const ImageOfferUntrusted> offers_untrusted);
    void land(Peer& peer);
    [[nodiscard]] bool reserve(std::uint64_t size_bytes);
    void keep_rest(Peer& peer);
    void take_up_rest(Peer& peer);
    [[nodiscard]] Result<Done> take_off(Peer& peer, const StoreReader& store);

    std::size_t size_bytes_max_;
    std::unordered_map<std::string, Peer, TextHash, std::equal_to<>> peers_;
    std::unordered_set<std::string> flying_;  // build-ids
    std::unordered_set<std::string> stored_;  // build-ids
    std::deque<Rest> rests_;                  // the oldest first
    std::uint64_t size_bytes_ = 0;            // of what is on its way, as announced, and of rests
};

}  // namespace perfleet
