// The ZeroMQ sockets of queries: a ROUTER that answers, a DEALER that asks. One thread each; what ZeroMQ holds is
// bounded.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "query-engine/wire/query_guard.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Of an endpoint that asks for keys: its own secret key, and the folder of the public keys of those who may ask.
struct QueryServerKeys {
    std::string key_file;
    std::string askers_folder;
    std::function<void(std::string_view)> notice;  // what an operator should know of the folder; may be empty
};

class QuerySocket {
public:
    // Null `keys`: without. Errors name the endpoint or the key: kUsage, kBusy (address in use), kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<QuerySocket>> bind(const std::string& endpoint,
                                                                   const QueryServerKeys* keys = nullptr);
    [[nodiscard]] static Result<std::unique_ptr<QuerySocket>> connect(const std::string& endpoint,
                                                                      const ConnectKeys* keys = nullptr);
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
        ConnectionName connection;  // of a ROUTER

        [[nodiscard]] std::span<const std::byte> frame() const { return std::as_bytes(std::span{bytes_untrusted}); }
    };
    // What is there now. A message of more than one frame comes as an empty frame.
    [[nodiscard]] std::optional<Received> receive();

    // What a ROUTER received wasn't understood. True: its peer has sent too much of that, and is cut off.
    [[nodiscard]] bool is_cut_for_garbage(const Received& received) {
        return guard_ != nullptr &&
               guard_->is_cut_for_garbage(received.peer, received.connection, received.bytes_untrusted.size());
    }

    // Never waits. False when the peer is gone or doesn't read.
    [[nodiscard]] bool send(const std::string& peer, const std::string& message);

    // What a bound one saw of connections; of a connected one all are 0.
    [[nodiscard]] TransportCounts counts() const { return guard_ == nullptr ? TransportCounts{} : guard_->counts(); }

private:
    QuerySocket() = default;
    [[nodiscard]] static Result<std::unique_ptr<QuerySocket>> make(int type, std::size_t message_size_bytes_max);
    [[nodiscard]] Result<Done> guard_with(const QueryServerKeys* keys);
    [[nodiscard]] bool set_text(int option, const std::string& text);

    void* context_ = nullptr;
    void* socket_ = nullptr;
    std::unique_ptr<QueryGuard> guard_;  // null at a DEALER
    bool is_router_ = false;
    std::string endpoint_;
};

}  // namespace perfleet
