// Images that collectors offer and the store doesn't have: asked for chunk by chunk, put together, handed over whole to
// be checked elsewhere (image_checker.h).
//
// One image on its way per peer. Those on their way and those that wait for their check are `size_bytes_max` at most;
// what doesn't fit is asked for later, and so is what its owner has no budget for (image_budget.h). The same image is
// asked of one peer at a time, so that it travels once however many have it. What a session has sent of one when its
// connection ends is kept for when it comes back. One thread.
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

#include "gateway/admission/image_budget.h"
#include "gateway/admission/image_checker.h"
#include "gateway/admission/intake_limits.h"
#include "gateway/admission/untrusted.h"
#include "gateway/counts/gateway_counts.h"
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
    struct Taken {
        std::optional<ReceivedImage> whole;   // the chunk made it so: to be checked, then reported to end_check()
        std::optional<ImageRefusal> refusal;  // it isn't asked for again
    };

    // Who offers: the session that the peer speaks for, and whose budget checks of its images take.
    struct Offerer {
        SessionId session;
        std::string owner;
        bool is_local = false;  // it may write to the store itself: its budget has no bounds
    };

    // Of 0 bytes: no image is ever asked for.
    explicit ImageIntake(std::size_t size_bytes_max) : size_bytes_max_{size_bytes_max} {}

    // What the peer has; offers out of limits are left out. Replaces what it offered before.
    void offer(std::string_view routing_id, Offerer from, std::span<const ImageOfferUntrusted> offers_untrusted);

    // What else it has. It is told when nothing more of it is needed.
    void offer_more(std::string_view routing_id, Offerer from, std::span<const ImageOfferUntrusted> offers_untrusted);

    // The peer is gone.
    void forget(std::string_view routing_id);

    // Takes a chunk up if it is the one that was asked for.
    [[nodiscard]] Taken take(std::string_view routing_id, const ImageUntrusted& image_untrusted, std::uint64_t now_ns);

    // An image that take() handed over was checked, at this cost.
    void end_check(const ReceivedImage& image, const ImageCost& cost, std::uint64_t now_ns);

    // It is durable: nobody is asked for it again.
    void remember(const std::string& build_id);

    // The next question to this peer that is due: a new image, the next chunk, or one that wasn't answered.
    [[nodiscard]] Result<std::optional<Question>> next(std::string_view routing_id, const StoreReader& store,
                                                       std::uint64_t now_ns);

    // Peers that have something left to be asked for. To be asked for from time to time.
    [[nodiscard]] std::vector<std::string> busy_peers(std::uint64_t now_ns);

    [[nodiscard]] std::size_t checks_now() const { return budget_.checks_now(); }
    // How often a peer had to wait for its owner's budget.
    [[nodiscard]] std::uint64_t deferred_count() const { return deferred_count_; }

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
        Offerer from;
        std::deque<Offer> offers;
        std::optional<Flight> flight;
        bool is_end_expected = false;  // after offer_more()
        bool is_deferred = false;      // until its owner has a budget again
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
    [[nodiscard]] bool has_budget(Peer& peer, std::uint64_t now_ns);
    [[nodiscard]] Result<Done> take_off(Peer& peer, const StoreReader& store, std::uint64_t now_ns);

    std::size_t size_bytes_max_;
    std::unordered_map<std::string, Peer, TextHash, std::equal_to<>> peers_;
    std::unordered_set<std::string> flying_;  // build-ids
    std::unordered_set<std::string> stored_;  // build-ids
    std::deque<Rest> rests_;                  // the oldest first
    std::uint64_t size_bytes_ = 0;            // of what is on its way, as announced, of checks, and of rests
    ImageBudget budget_;
    std::uint64_t deferred_count_ = 0;
};

}  // namespace perfleet
