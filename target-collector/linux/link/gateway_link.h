// Connects to the first gateway of a list that answers. After kTimeoutNs without an answer the next one is tried; a
// single gateway is reconnected after kAloneTimeoutNs, because its host may be gone. A gateway may redirect to another
// one with a known key, in the list or not.
//
// One thread (the wire's).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/link/answer_wait.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/wire/socket_driver.h"

namespace perfleet {

class GatewayLink final : public WaitingDriver {
public:
    static constexpr std::uint64_t kTimeoutNs = 5'000'000'000;
    // Longer, so that a busy gateway needn't repeat the handshakes with all of its collectors.
    static constexpr std::uint64_t kAloneTimeoutNs = 30'000'000'000;
    static constexpr std::uint64_t kRedirectIntervalNsMin =
        500'000'000;  // a further redirect isn't followed earlier: two gateways may redirect to each other
    static constexpr std::uint64_t kSilentAfterNs = 3'000'000'000;  // a Hello or a batch is normally answered at once

    struct Peer {
        std::vector<std::string> endpoints;  // not empty
        std::string name;                    // for messages; empty: the endpoint
        std::vector<ConnectKeys> keys;       // empty: none; one for all endpoints; or one for each
    };

    // Connects to the first endpoint; validates all. Errors: SocketDriver::connect().
    [[nodiscard]] static Result<std::unique_ptr<GatewayLink>> connect(Peer peer);

    [[nodiscard]] bool send(std::span<const std::byte> frame) override {
        wait_.asked();
        return driver_->send(frame);
    }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override;
    void go_to(std::string_view endpoint, std::string_view public_key) override;

    void wait(int wake_fd, std::uint64_t timeout_ns) override { driver_->wait(wake_fd, timeout_ns); }
    void note_time(std::uint64_t now_ns) override;
    [[nodiscard]] bool is_silent() const override { return wait_.duration_ns() >= kSilentAfterNs; }
    [[nodiscard]] std::string trouble() const override {
        const std::string trouble = driver_->trouble();
        return !trouble.empty() || unknown_.empty()
                   ? trouble
                   : "it sends this target to " + unknown_ + ", whose key --gateway-key doesn't name";
    }
    [[nodiscard]] std::string peer() const override {
        return peer_.name.empty() ? "the gateway at " + endpoint() : peer_.name;
    }
    [[nodiscard]] const std::string& endpoint() const {
        return elsewhere_.empty() ? peer_.endpoints[current_] : elsewhere_;
    }
    // A gateway that this target was sent to, but whose key isn't known; empty: none.
    [[nodiscard]] const std::string& unknown() const { return unknown_; }
    [[nodiscard]] bool is_connected() const { return driver_->is_connected(); }  // as of the last reconnected()

private:
    explicit GatewayLink(Peer peer) : peer_{std::move(peer)} {}
    [[nodiscard]] Result<std::unique_ptr<SocketDriver>> connect_to(std::size_t index) const;
    [[nodiscard]] bool is_alone() const { return peer_.endpoints.size() == 1 && elsewhere_.empty(); }
    void switch_to(std::unique_ptr<SocketDriver> driver);

    Peer peer_;
    std::unique_ptr<SocketDriver> driver_;
    std::size_t current_ = 0;
    std::string elsewhere_;  // target of a redirect; empty: none
    std::string unknown_;    // redirect to a gateway with an unknown key; empty: none
    std::optional<std::uint64_t> sent_ns_;
    std::uint64_t now_ns_ = 0;
    bool has_switched_ = false;  // since reconnected()
    AnswerWait wait_;
};

}  // namespace perfleet
