// A query client that sends what a test gives it, messages or any other bytes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "query-engine/wire/query_message.h"
#include "schemas/zeromq/dealer.h"

namespace perfleet {

class RawClient {
public:
    explicit RawClient(const std::string& endpoint, const ConnectKeys* keys = nullptr) {
        zeromq::DealerOptions options;
        options.message_size_bytes_max = kQueryReplySizeBytesMax;
        auto client = zeromq::Dealer::connect(endpoint, keys, options);
        EXPECT_TRUE(client.ok()) << client.error().message;
        client_ = std::move(*client);
    }

    // Over this connection or the next one; answers that wait are dropped where it can't be sent at once, for the
    // connection's end stands behind them. False: there can be none.
    bool send(std::string_view message) {
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        while (std::chrono::steady_clock::now() < deadline) {
            (void)client_->reconnected();
            if (client_->send(std::as_bytes(std::span{message}))) {
                return true;
            }
            if (!client_->trouble().empty()) {
                return false;
            }
            while (client_->receive().has_value()) {
            }
            wait(10);
        }
        ADD_FAILURE() << "no connection";
        return false;
    }
    // The bytes received so far.
    std::optional<std::string> receive() {
        const auto bytes = client_->receive();
        return bytes.has_value()
                   ? std::optional{std::string{reinterpret_cast<const char*>(bytes->data()), bytes->size()}}
                   : std::nullopt;
    }
    // The next one; nothing: none came.
    std::optional<std::string> next() {
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        std::optional<std::string> message = receive();
        while (!message && std::chrono::steady_clock::now() < deadline) {
            wait(10);
            message = receive();
        }
        return message;
    }
    void wait(std::uint64_t timeout_ms) { client_->wait(-1, timeout_ms * 1'000'000); }

    static constexpr std::chrono::seconds kTimeout{60};

private:
    std::unique_ptr<zeromq::Dealer> client_;
};

}  // namespace perfleet
