// Sends replies to peers.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class PeerLink : NonCopyable {
public:
    virtual ~PeerLink() = default;

    // Drops a frame that can't be sent; important ones are repeated.
    virtual void send(std::string_view routing_id, std::span<const std::byte> frame) = 0;

    // Closes the peer's connection. It may connect again.
    virtual void cut(std::string_view routing_id) = 0;
};

}  // namespace perfleet
