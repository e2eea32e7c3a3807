// The ZeroMQ sockets of queries: a ROUTER that answers, a DEALER that asks. One thread each; what ZeroMQ holds is
// bounded.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

class QuerySocket {
public:
    // Errors name the endpoint: kUsage, kBusy (address in use), kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<QuerySocket>> bind(const std::string& endpoint);
    [[nodiscard]] static Result<std::unique_ptr<QuerySocket>> connect(const std::string& endpoint);
    ~QuerySocket();
    QuerySocket(const QuerySocket&) = delete;
    QuerySocket& operator=(const QuerySocket&) = delete;

    // Really bound, with the port; or connected to.
    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

    struct Ready {
        bool socket = false;
        std::array<bool, 2> descriptors{};
    };
    // Until a message is there, one of the descriptors (-1: none) is readable, or the time is over.
    [[nodiscard]] Ready wait(const std::array<int, 2>& descriptors, long timeout_ms);

    struct Received {
        std::string peer;  // routing id; empty at a DEALER
        std::string bytes_untrusted;

        [[nodiscard]] std::span<const std::byte> frame() const { return std::as_bytes(std::span{bytes_untrusted}); }
    };
    // What is there now. A message of more than one frame comes as an empty frame.
    [[nodiscard]] std::optional<Received> receive();

    // Never waits. False when the peer is gone or doesn't read.
    [[nodiscard]] bool send(const std::string& peer, const std::string& message);

private:
    QuerySocket() = default;
    [[nodiscard]] static Result<std::unique_ptr<QuerySocket>> make(int type, std::size_t message_size_bytes_max);

    void* context_ = nullptr;
    void* socket_ = nullptr;
    bool is_router_ = false;
    std::string endpoint_;
};

}  // namespace perfleet
