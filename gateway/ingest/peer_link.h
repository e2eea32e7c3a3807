// How replies go out.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace perfleet {

class PeerLink {
public:
    PeerLink() = default;
    PeerLink(const PeerLink&) = delete;
    PeerLink& operator=(const PeerLink&) = delete;
    virtual ~PeerLink() = default;

    // A frame that can't be sent is dropped; what matters is repeated.
    virtual void send(std::string_view routing_id, std::span<const std::byte> frame) = 0;

    // Ends the peer's connection. It may come back over another.
    virtual void cut(std::string_view routing_id) = 0;
};

}  // namespace perfleet
