#include "schemas/peers/abuse_limiter.h"

#include <algorithm>

namespace perfleet {

bool AbuseLimiter::is_enough(std::string_view routing_id, std::size_t type, std::size_t size_bytes) {
    auto found = peers_.find(routing_id);
    if (found == peers_.end()) {
        if (peers_.size() >= limits_.peers_max) {
            peers_.clear();
        }
        found = peers_.emplace(routing_id, Record{}).first;
    }
    Strikes& strikes = found->second.at(type);
    ++strikes.count;
    strikes.size_bytes += size_bytes;
    if (strikes.count <= limits_.count_max && strikes.size_bytes <= limits_.size_bytes_max) {
        return false;
    }
    peers_.erase(found);
    return true;
}

std::uint32_t AbuseLimiter::count_of(std::string_view routing_id, std::size_t type) const {
    const auto found = peers_.find(routing_id);
    return found == peers_.end() ? 0 : found->second.at(type).count;
}

void AbuseLimiter::forget(std::string_view routing_id) {
    if (const auto found = peers_.find(routing_id); found != peers_.end()) {
        peers_.erase(found);
    }
}

void AbuseLimiter::decay() {
    for (auto& [routing_id, record] : peers_) {
        for (Strikes& strikes : record) {
            strikes.count /= 2;
            strikes.size_bytes /= 2;
        }
    }
    std::erase_if(peers_, [](const auto& peer) {
        return std::all_of(peer.second.begin(), peer.second.end(),
                           [](const Strikes& strikes) { return strikes.count == 0; });
    });
}

}  // namespace perfleet
