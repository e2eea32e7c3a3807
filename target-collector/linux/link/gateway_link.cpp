#include "target-collector/linux/link/gateway_link.h"

#include <utility>

namespace perfleet {

Result<std::unique_ptr<GatewayLink>> GatewayLink::connect(Peer peer) {
    std::unique_ptr<GatewayLink> link{new GatewayLink(std::move(peer))};
    for (std::size_t i = 0; i < link->peer_.endpoints.size(); ++i) {
        auto driver = PERFLEET_TRY(link->connect_to(i));
        if (link->driver_ == nullptr) {
            link->driver_ = std::move(driver);
        }
    }
    return link;
}

Result<std::unique_ptr<SocketDriver>> GatewayLink::connect_to(std::size_t index) const {
    const std::vector<ConnectKeys>& keys = peer_.keys;
    return SocketDriver::connect(peer_.endpoints[index], keys.empty() ? nullptr : &keys[keys.size() == 1 ? 0 : index]);
}

void GatewayLink::switch_to(std::unique_ptr<SocketDriver> driver) {
    driver_ = std::move(driver);
    unknown_.clear();
    has_switched_ = true;
    wait_.restart();
}

void GatewayLink::go_to(std::string_view endpoint, std::string_view public_key) {
    const ConnectKeys* known = nullptr;
    for (const ConnectKeys& keys : peer_.keys) {
        known = encode_public_key(keys.server) == public_key ? &keys : known;
    }
    if (known == nullptr && (!peer_.keys.empty() || !public_key.empty())) {
        unknown_ = endpoint;
        return;
    }
    if (sent_ns_.has_value() && now_ns_ - *sent_ns_ < kRedirectIntervalNsMin) {
        return;
    }
    auto driver = SocketDriver::connect(std::string{endpoint}, known);
    if (driver.ok()) {
        sent_ns_ = now_ns_;
        elsewhere_ = endpoint;
        switch_to(std::move(*driver));
    }
}

Checked<std::size_t> GatewayLink::receive(std::span<std::byte> into) {
    auto size = driver_->receive(into);
    if (!size.ok() || *size > 0) {
        wait_.heard();
        unknown_.clear();  // unless the gateway reports it again
    }
    return size;
}

bool GatewayLink::reconnected() {
    const bool is_new = driver_->reconnected() || has_switched_;
    has_switched_ = false;
    if (is_new && is_alone()) {
        wait_.restart();  // the connection was down; the gateway wasn't silent
    }
    return is_new;
}

void GatewayLink::note_time(std::uint64_t now_ns) {
    if (!driver_->is_connected()) {
        wait_.asked();  // without a connection the gateway counts as silent, even if nothing is due
    }
    now_ns_ = now_ns;
    wait_.note_time(now_ns);
    if (wait_.duration_ns() < (is_alone() ? kAloneTimeoutNs : kTimeoutNs) || (is_alone() && !driver_->is_connected())) {
        return;
    }
    wait_.restart();
    const std::size_t next = (current_ + 1) % peer_.endpoints.size();
    if (auto driver = connect_to(next); driver.ok()) {
        current_ = next;
        elsewhere_.clear();
        switch_to(std::move(*driver));
    }
}

}  // namespace perfleet
