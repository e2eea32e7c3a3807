// Fetches the images that collectors offer and the store lacks: requests them chunk by chunk, puts the chunks together,
// and hands over complete images to be checked (image_checker.h).
//
// One image is in transfer per peer. Images in transfer and images that wait for their check take at most
// `size_bytes_max`; an image that doesn't fit, or whose owner has no budget (image_budget.h), is requested later. An
// image is requested from one peer at a time, so it travels once even if many peers have it. When a connection ends in
// the middle of an image, the received part is kept for when the session comes back. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "gateway/admission/image_budget.h"
#include "gateway/admission/image_checker.h"
#include "gateway/admission/intake_limits.h"
#include "gateway/admission/untrusted.h"
#include "schemas/peers/text_map.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet {

class ImageIntake {
public:
    // A NeedImage message to a peer. Without a build-id: nothing more of the last offer_more() is needed.
    struct Request {
        std::string routing_id;
        std::string build_id;
        std::uint64_t offset = 0;
    };
    struct Taken {
        std::optional<ReceivedImage> whole;   // complete with this chunk: check it, then call end_check()
        std::optional<ImageRefusal> refusal;  // why the image isn't asked for again
    };

    // Where an offer comes from: the peer's session, and the owner whose budget pays for checks of its images.
    struct Offerer {
        SessionId session;
        std::string owner;
        bool is_local = false;  // it may write to the store itself, so its budget is unlimited
    };

    // With 0 bytes no image is ever asked for.
    explicit ImageIntake(std::size_t size_bytes_max) : size_bytes_max_{size_bytes_max} {}

    // The images that a peer has; offers beyond limits are ignored. Replaces the peer's earlier offers.
    void offer(std::string_view routing_id, Offerer from, std::span<const ImageOfferUntrusted> offers_untrusted);

    // Adds offers. When none of them is needed any more, next() returns a request without a build-id.
    void offer_more(std::string_view routing_id, Offerer from, std::span<const ImageOfferUntrusted> offers_untrusted);

    // The peer's connection has ended.
    void forget(std::string_view routing_id);

    // Takes a chunk if it is the one that was asked for; ignores others.
    [[nodiscard]] Taken take(std::string_view routing_id, const ImageUntrusted& image_untrusted, std::uint64_t now_ns);

    // Ends the check of an image that take() gave, at this cost.
    void end_check(const ReceivedImage& image, const ImageCost& cost, std::uint64_t now_ns);

    // The image is durable in the store: no peer is asked for it again.
    void remember(const std::string& build_id);

    // The next due request to this peer: a new image, the next chunk, or a chunk that wasn't answered.
    [[nodiscard]] Result<std::optional<Request>> next(std::string_view routing_id, const StoreReader& store,
                                                      std::uint64_t now_ns);

    // Peers that may have a request due; call next() for them from time to time.
    [[nodiscard]] std::vector<std::string> busy_peers(std::uint64_t now_ns);

    [[nodiscard]] std::size_t checks_now() const { return budget_.checks_now(); }
    // How often a peer has waited for its owner's budget.
    [[nodiscard]] std::uint64_t deferred_count() const { return deferred_count_; }

    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] bool has_room(std::size_t size_bytes) const { return size_bytes_ + size_bytes <= size_bytes_max_; }

private:
    struct Offer {
        std::string build_id;
        std::uint16_t type = 0;
        std::uint64_t size_bytes = 0;  // 0: unknown before the first chunk
    };
    struct Transfer {
        Offer offer;
        std::uint64_t reserved_bytes = 0;  // of size_bytes_
        std::string bytes;
        std::uint64_t asked_ns = 0;
        std::uint32_t ask_count = 0;  // requests without an answer
    };
    // The received part of an image whose peer has disconnected.
    struct Rest {
        SessionId session;
        Offer offer;
        std::string bytes;
    };
    struct Peer {
        Offerer from;
        std::deque<Offer> offers;
        std::optional<Transfer> transfer;
        bool is_end_expected = false;  // after offer_more()
        bool is_deferred = false;      // until its owner has a budget again
    };

    void add_offers(Peer& peer, std::span<const ImageOfferUntrusted> offers_untrusted);
    void land(Peer& peer);
    [[nodiscard]] bool reserve(std::uint64_t size_bytes);
    void keep_rest(Peer& peer);
    void take_up_rest(Peer& peer);
    [[nodiscard]] bool has_budget(Peer& peer, std::uint64_t now_ns);
    [[nodiscard]] Result<Done> take_off(Peer& peer, const StoreReader& store, std::uint64_t now_ns);

    std::size_t size_bytes_max_;
    TextMap<Peer> peers_;
    std::unordered_set<std::string> flying_;  // build-ids of images in transfer or being checked
    std::unordered_set<std::string> stored_;  // build-ids
    std::deque<Rest> rests_;                  // oldest first
    std::uint64_t size_bytes_ = 0;            // announced sizes in transfer, images being checked, and rests
    ImageBudget budget_;
    std::uint64_t deferred_count_ = 0;
};

}  // namespace perfleet
