#include "gateway/admission/image_intake.h"

#include <algorithm>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {

void ImageIntake::offer(std::string_view routing_id, Offerer from,
                        std::span<const ImageOfferUntrusted> offers_untrusted) {
    forget(routing_id);
    Peer peer;
    peer.from = std::move(from);
    add_offers(peer, offers_untrusted);
    if (!peer.offers.empty()) {
        peers_.emplace(routing_id, std::move(peer));
    }
}

void ImageIntake::offer_more(std::string_view routing_id, Offerer from,
                             std::span<const ImageOfferUntrusted> offers_untrusted) {
    auto found = peers_.find(routing_id);
    if (found == peers_.end()) {
        found = peers_.emplace(routing_id, Peer{}).first;
        found->second.from = std::move(from);
    }
    add_offers(found->second, offers_untrusted);
    found->second.is_end_expected = true;
}

void ImageIntake::add_offers(Peer& peer, std::span<const ImageOfferUntrusted> offers_untrusted) {
    const auto is_known = [&](std::string_view build_id) {
        return (peer.transfer.has_value() && peer.transfer->offer.build_id == build_id) ||
               std::any_of(peer.offers.begin(), peer.offers.end(),
                           [&](const Offer& offer) { return offer.build_id == build_id; });
    };
    for (const ImageOfferUntrusted& offer : offers_untrusted) {
        const bool within = !offer.build_id.empty() && offer.build_id.size() <= limits::kBuildIdSizeBytesMax &&
                            offer.size_bytes <= limits::kImageSizeBytesMax && offer.size_bytes <= size_bytes_max_ &&
                            size_bytes_max_ > 0;
        if (within && peer.offers.size() < intake_limits::kImageOffersMax &&
            !stored_.contains(std::string{offer.build_id}) && !is_known(offer.build_id)) {
            peer.offers.push_back({std::string{offer.build_id}, offer.type, offer.size_bytes});
        }
    }
}

void ImageIntake::forget(std::string_view routing_id) {
    const auto found = peers_.find(routing_id);
    if (found != peers_.end()) {
        keep_rest(found->second);
        peers_.erase(found);
    }
}

void ImageIntake::land(Peer& peer) {
    if (peer.transfer.has_value()) {
        size_bytes_ -= peer.transfer->reserved_bytes;
        flying_.erase(peer.transfer->offer.build_id);
        peer.transfer.reset();
    }
}

// Reserves memory; incomplete images of disconnected peers are discarded for it.
bool ImageIntake::reserve(std::uint64_t size_bytes) {
    while (size_bytes_ + size_bytes > size_bytes_max_ && !rests_.empty()) {
        size_bytes_ -= rests_.front().bytes.size();
        rests_.pop_front();
    }
    if (size_bytes_ + size_bytes > size_bytes_max_) {
        return false;
    }
    size_bytes_ += size_bytes;
    return true;
}

void ImageIntake::keep_rest(Peer& peer) {
    if (peer.transfer.has_value() && !peer.transfer->bytes.empty()) {
        Rest rest{peer.from.session, peer.transfer->offer, std::move(peer.transfer->bytes)};
        land(peer);
        if (rests_.size() == intake_limits::kImageRestsMax) {
            size_bytes_ -= rests_.front().bytes.size();
            rests_.pop_front();
        }
        size_bytes_ += rest.bytes.size();
        rests_.push_back(std::move(rest));
    }
    land(peer);
}

void ImageIntake::take_up_rest(Peer& peer) {
    Transfer& transfer = *peer.transfer;
    const auto found = std::find_if(rests_.begin(), rests_.end(), [&](const Rest& rest) {
        return rest.session == peer.from.session && rest.offer.build_id == transfer.offer.build_id &&
               rest.offer.type == transfer.offer.type &&
               (transfer.offer.size_bytes == 0 || transfer.offer.size_bytes == rest.offer.size_bytes);
    });
    if (found == rests_.end()) {
        return;
    }
    Rest rest = std::move(*found);
    rests_.erase(found);
    size_bytes_ -= rest.bytes.size() + transfer.reserved_bytes;
    if (!reserve(rest.offer.size_bytes)) {
        size_bytes_ += transfer.reserved_bytes;
        return;
    }
    transfer.reserved_bytes = rest.offer.size_bytes;
    transfer.offer.size_bytes = rest.offer.size_bytes;
    transfer.bytes = std::move(rest.bytes);
}

void ImageIntake::remember(const std::string& build_id) {
    if (stored_.size() >= intake_limits::kImagesRememberedMax) {
        stored_.clear();
    }
    stored_.insert(build_id);
}

ImageIntake::Taken ImageIntake::take(std::string_view routing_id, const ImageUntrusted& image_untrusted,
                                     std::uint64_t now_ns) {
    const ImageUntrusted& image = image_untrusted;
    const auto found = peers_.find(routing_id);
    if (found == peers_.end() || !found->second.transfer.has_value()) {
        return {};
    }
    Peer& peer = found->second;
    Transfer& transfer = *peer.transfer;
    if (image.build_id != transfer.offer.build_id || image.type != transfer.offer.type ||
        image.offset != transfer.bytes.size() || image.bytes.size() > limits::kImageChunkSizeBytes) {
        return {};
    }
    if (transfer.offer.size_bytes == 0) {
        if (image.size_bytes == 0) {  // the peer doesn't have the image
            land(peer);
            return {};
        }
        if (image.size_bytes > limits::kImageSizeBytesMax || image.size_bytes > size_bytes_max_) {
            land(peer);
            return {std::nullopt, ImageRefusal::kTooLarge};
        }
        const std::uint64_t more = image.size_bytes - std::min(image.size_bytes, transfer.reserved_bytes);
        if (!reserve(more)) {  // try again later
            peer.offers.push_back({transfer.offer.build_id, transfer.offer.type, image.size_bytes});
            land(peer);
            return {};
        }
        transfer.reserved_bytes += more;
        transfer.offer.size_bytes = image.size_bytes;
    }
    if (image.size_bytes != transfer.offer.size_bytes || image.bytes.empty() ||
        image.bytes.size() > transfer.offer.size_bytes - transfer.bytes.size()) {
        return {};
    }
    transfer.bytes.append(image.bytes);
    transfer.ask_count = 0;
    transfer.asked_ns = now_ns;
    if (transfer.bytes.size() < transfer.offer.size_bytes) {
        return {};
    }
    size_bytes_ -= transfer.reserved_bytes - transfer.bytes.size();
    // Until end_check() its bytes stay reserved, and no other peer is asked for it.
    budget_.begin_check(peer.from.owner, now_ns);
    ReceivedImage whole{std::string{routing_id}, peer.from.owner, transfer.offer.build_id,
                        ImageContent{transfer.offer.type, std::move(transfer.bytes)}};
    peer.transfer.reset();
    return {std::move(whole), std::nullopt};
}

void ImageIntake::end_check(const ReceivedImage& image, const ImageCost& cost, std::uint64_t now_ns) {
    budget_.end_check(image.owner, cost, now_ns);
    size_bytes_ -= image.content.bytes.size();
    flying_.erase(image.build_id);
}

bool ImageIntake::has_budget(Peer& peer, std::uint64_t now_ns) {
    const bool has_some = peer.from.is_local || budget_.has_some(peer.from.owner, now_ns);
    if (!has_some && !budget_.is_checking(peer.from.owner) && !std::exchange(peer.is_deferred, true)) {
        ++deferred_count_;
    }
    peer.is_deferred = peer.is_deferred && !has_some;
    return has_some;
}

// Takes the first offer that the store doesn't have and no other peer is sending.
Result<Done> ImageIntake::take_off(Peer& peer, const StoreReader& store, std::uint64_t now_ns) {
    if (peer.transfer.has_value() || peer.offers.empty() || !has_budget(peer, now_ns)) {
        return Done{};
    }
    for (auto offer = peer.offers.begin(); offer != peer.offers.end() && !peer.transfer.has_value();) {
        if (stored_.contains(offer->build_id)) {
            offer = peer.offers.erase(offer);
            continue;
        }
        if (flying_.contains(offer->build_id)) {
            ++offer;
            continue;
        }
        if (PERFLEET_TRY(store.has_image(offer->build_id))) {
            remember(offer->build_id);
            continue;
        }
        const std::uint64_t reserved_bytes = offer->size_bytes != 0 ? offer->size_bytes : limits::kImageChunkSizeBytes;
        if (!reserve(reserved_bytes)) {
            return Done{};  // try again later
        }
        flying_.insert(offer->build_id);
        peer.transfer = Transfer{std::move(*offer), reserved_bytes, {}, 0, 0};
        peer.offers.erase(offer);
        take_up_rest(peer);
        return Done{};
    }
    return Done{};
}

Result<std::optional<ImageIntake::Request>> ImageIntake::next(std::string_view routing_id, const StoreReader& store,
                                                              std::uint64_t now_ns) {
    const auto found = peers_.find(routing_id);
    if (found == peers_.end()) {
        return std::optional<Request>{};
    }
    Peer& peer = found->second;
    if (peer.transfer.has_value() && peer.transfer->ask_count >= intake_limits::kImageAsksMax &&
        now_ns - peer.transfer->asked_ns >= intake_limits::kImageAskAgainNs) {
        land(peer);  // the peer doesn't answer
    }
    PERFLEET_TRY(take_off(peer, store, now_ns));
    if (!peer.transfer.has_value()) {
        if (!peer.offers.empty() || budget_.is_checking(peer.from.owner)) {
            return std::optional<Request>{};
        }
        const bool is_end_expected = peer.is_end_expected;
        peers_.erase(found);
        return is_end_expected ? std::optional{Request{std::string{routing_id}, {}, 0}} : std::nullopt;
    }
    Transfer& transfer = *peer.transfer;
    if (transfer.ask_count > 0 && now_ns - transfer.asked_ns < intake_limits::kImageAskAgainNs) {
        return std::optional<Request>{};
    }
    ++transfer.ask_count;
    transfer.asked_ns = now_ns;
    return std::optional<Request>{Request{std::string{routing_id}, transfer.offer.build_id, transfer.bytes.size()}};
}

std::vector<std::string> ImageIntake::busy_peers(std::uint64_t now_ns) {
    budget_.forget_idle(now_ns);
    std::vector<std::string> routing_ids;
    for (const auto& [routing_id, peer] : peers_) {
        routing_ids.push_back(routing_id);
    }
    return routing_ids;
}

}  // namespace perfleet
