#include "target-collector/linux/gateway_link.h"

#include <utility>

namespace perfleet {

Result<std::unique_ptr<GatewayLink>> GatewayLink::connect(Peer peer) {
    std::unique_ptr<GatewayLink> link{new GatewayLink(std::move(peer))};
    for (const std::string& endpoint : link->peer_.endpoints) {
        auto driver = link->connect_to(endpoint);
        if (!driver.ok()) {
            return std::move(driver).error();
        }
        if (link->driver_ == nullptr) {
            link->driver_ = std::move(*driver);
        }
    }
    return link;
}

Result<std::unique_ptr<SocketDriver>> GatewayLink::connect_to(const std::string& endpoint) const {
    return SocketDriver::connect(endpoint, peer_.keys.has_value() ? &*peer_.keys : nullptr);
}

Checked<std::size_t> GatewayLink::receive(std::span<std::byte> into) {
    auto size = driver_->receive(into);
    if (!size.ok() || *size > 0) {
        wait_.heard();
    }
    return size;
}

bool GatewayLink::reconnected() {
    const bool is_new = driver_->reconnected() || has_switched_;
    has_switched_ = false;
    return is_new;
}

void GatewayLink::note_time(std::uint64_t now_ns) {
    if (!driver_->is_connected()) {
        wait_.asked();  // nothing to say doesn't mean that somebody is there
    }
    wait_.note_time(now_ns);
    if (peer_.endpoints.size() == 1 || wait_.duration_ns() < kTimeoutNs) {
        return;
    }
    wait_.restart();
    const std::size_t next = (current_ + 1) % peer_.endpoints.size();
    auto driver = connect_to(peer_.endpoints[next]);
    if (driver.ok()) {
        driver_ = std::move(*driver);
        current_ = next;
        has_switched_ = true;
    }
}

}  // namespace perfleet
