#include "gateway/ingest/image_intake.h"

#include <algorithm>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {

void ImageIntake::offer(std::string_view routing_id, std::span<const ImageOfferUntrusted> offers_untrusted) {
    forget(routing_id);
    Peer peer;
    add_offers(peer, offers_untrusted);
    if (!peer.offers.empty()) {
        peers_.emplace(routing_id, std::move(peer));
    }
}

void ImageIntake::offer_more(std::string_view routing_id, std::span<const ImageOfferUntrusted> offers_untrusted) {
    auto found = peers_.find(routing_id);
    if (found == peers_.end()) {
        found = peers_.emplace(routing_id, Peer{}).first;
    }
    add_offers(found->second, offers_untrusted);
    found->second.is_end_expected = true;
}

void ImageIntake::add_offers(Peer& peer, std::span<const ImageOfferUntrusted> offers_untrusted) {
    const auto is_known = [&](std::string_view build_id) {
        return (peer.flight.has_value() && peer.flight->offer.build_id == build_id) ||
               std::any_of(peer.offers.begin(), peer.offers.end(),
                           [&](const Offer& offer) { return offer.build_id == build_id; });
    };
    for (const ImageOfferUntrusted& offer : offers_untrusted) {
        const bool within = !offer.build_id.empty() && offer.build_id.size() <= limits::kBuildIdSizeBytesMax &&
                            offer.size_bytes > 0 && offer.size_bytes <= limits::kImageSizeBytesMax &&
                            offer.size_bytes <= size_bytes_max_;
        if (within && peer.offers.size() < intake_limits::kImageOffersMax &&
            !stored_.contains(std::string{offer.build_id}) && !is_known(offer.build_id)) {
            peer.offers.push_back({std::string{offer.build_id}, offer.type, offer.size_bytes});
        }
    }
}

void ImageIntake::forget(std::string_view routing_id) {
    const auto found = peers_.find(routing_id);
    if (found != peers_.end()) {
        land(found->second);
        peers_.erase(found);
    }
}

void ImageIntake::land(Peer& peer) {
    if (peer.flight.has_value()) {
        size_bytes_ -= peer.flight->offer.size_bytes;
        flying_.erase(peer.flight->offer.build_id);
        peer.flight.reset();
    }
}

void ImageIntake::remember(const std::string& build_id) {
    if (stored_.size() >= intake_limits::kImagesRememberedMax) {
        stored_.clear();
    }
    stored_.insert(build_id);
}

std::optional<ImageIntake::Whole> ImageIntake::take(std::string_view routing_id, const ImageUntrusted& image_untrusted,
                                                    std::uint64_t now_ns) {
    const ImageUntrusted& image = image_untrusted;
    const auto found = peers_.find(routing_id);
    if (found == peers_.end() || !found->second.flight.has_value()) {
        return std::nullopt;
    }
    Flight& flight = *found->second.flight;
    const bool expected = image.build_id == flight.offer.build_id && image.type == flight.offer.type &&
                          image.size_bytes == flight.offer.size_bytes && image.offset == flight.bytes.size() &&
                          !image.bytes.empty() && image.bytes.size() <= limits::kImageChunkSizeBytes &&
                          image.bytes.size() <= flight.offer.size_bytes - flight.bytes.size();
    if (!expected) {
        return std::nullopt;
    }
    flight.bytes.append(image.bytes);
    flight.ask_count = 0;
    flight.asked_ns = now_ns;
    if (flight.bytes.size() < flight.offer.size_bytes) {
        return std::nullopt;
    }
    Whole whole{flight.offer.build_id, {flight.offer.type, std::move(flight.bytes)}};
    land(found->second);
    return whole;
}

Result<Done> ImageIntake::take_off(Peer& peer, const StoreReader& store) {
    while (!peer.offers.empty() && !peer.flight.has_value()) {
        const Offer& offer = peer.offers.front();
        if (flying_.contains(offer.build_id) || size_bytes_ + offer.size_bytes > size_bytes_max_) {
            return Done{};  // later
        }
        if (!stored_.contains(offer.build_id)) {
            auto image = store.image(offer.build_id);
            if (!image) {
                return std::move(image).error();
            }
            if (image->has_value()) {
                remember(offer.build_id);
            } else {
                size_bytes_ += offer.size_bytes;
                flying_.insert(offer.build_id);
                peer.flight = Flight{offer, {}, 0, 0};
            }
        }
        peer.offers.pop_front();
    }
    return Done{};
}

Result<std::optional<ImageIntake::Question>> ImageIntake::next(std::string_view routing_id, const StoreReader& store,
                                                               std::uint64_t now_ns) {
    const auto found = peers_.find(routing_id);
    if (found == peers_.end()) {
        return std::optional<Question>{};
    }
    Peer& peer = found->second;
    if (peer.flight.has_value() && peer.flight->ask_count >= intake_limits::kImageAsksMax &&
        now_ns - peer.flight->asked_ns >= intake_limits::kImageAskAgainNs) {
        land(peer);  // it doesn't answer
    }
    if (auto done = take_off(peer, store); !done) {
        return std::move(done).error();
    }
    if (!peer.flight.has_value()) {
        if (!peer.offers.empty()) {
            return std::optional<Question>{};
        }
        const bool is_end_expected = peer.is_end_expected;
        peers_.erase(found);
        return is_end_expected ? std::optional{Question{std::string{routing_id}, {}, 0}} : std::nullopt;
    }
    Flight& flight = *peer.flight;
    if (flight.ask_count > 0 && now_ns - flight.asked_ns < intake_limits::kImageAskAgainNs) {
        return std::optional<Question>{};
    }
    ++flight.ask_count;
    flight.asked_ns = now_ns;
    return std::optional<Question>{Question{std::string{routing_id}, flight.offer.build_id, flight.bytes.size()}};
}

std::vector<std::string> ImageIntake::busy_peers() const {
    std::vector<std::string> routing_ids;
    for (const auto& [routing_id, peer] : peers_) {
        routing_ids.push_back(routing_id);
    }
    return routing_ids;
}

}  // namespace perfleet
