// Who may ask, and how many: answers ZeroMQ's questions about keys (ZAP), follows the connections of the query socket,
// reads the allow-list again. Works on the socket's own thread, between its waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schemas/peers/abuse_limiter.h"
#include "schemas/peers/connection_table.h"
#include "schemas/peers/key_folder.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class QueryGuard {
public:
    static constexpr std::uint64_t kLookEveryNs = 250'000'000;
    static constexpr std::uint64_t kDecayEveryNs = 1'000'000'000;
    // Messages of one peer that aren't understood; half is forgiven every kDecayEveryNs. Who asks in another
    // release's way sends one and reads the answer.
    static constexpr AbuseLimiter::Limits kGarbageLimits{16, 256U << 10, 1'024};

    // `socket` is a ZeroMQ socket of `context` that isn't bound yet; both are borrowed. `allowed` is null where there
    // are no keys. Errors: kIo.
    [[nodiscard]] static Result<std::unique_ptr<QueryGuard>> open(void* context, void* socket,
                                                                  std::unique_ptr<KeyFolder> allowed,
                                                                  const ConnectionTable::Limits& limits);
    QueryGuard(const QueryGuard&) = delete;
    QueryGuard& operator=(const QueryGuard&) = delete;
    ~QueryGuard();

    // ZeroMQ sockets to be waited for, beside the time; the second one is null where there are no keys.
    [[nodiscard]] void* events() const { return monitor_; }
    [[nodiscard]] void* questions() const { return zap_; }

    // Does what is due. To be called after each wait, and every kLookEveryNs.
    void look_after();

    // Whether the sender of a message (zmq_msg_t) may ask.
    [[nodiscard]] bool may_ask(const void* message);

    // By which connection a message (zmq_msg_t) came.
    [[nodiscard]] ConnectionName connection_of(const void* message);

    // A message that wasn't understood, of this peer (routing id). True: it has sent too many of them lately, and is
    // cut off.
    [[nodiscard]] bool is_cut_for_garbage(std::string_view peer, const ConnectionName& connection,
                                          std::size_t size_bytes);

    [[nodiscard]] TransportCounts counts() const;

private:
    QueryGuard(std::unique_ptr<KeyFolder> allowed, const ConnectionTable::Limits& limits);
    [[nodiscard]] bool take_event();
    [[nodiscard]] bool answer_question();

    std::unique_ptr<KeyFolder> allowed_;
    ConnectionTable connections_;
    void* socket_ = nullptr;
    void* monitor_ = nullptr;
    void* zap_ = nullptr;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t next_forgiving_ns_ = 0;
    AbuseLimiter abuse_limiter_{kGarbageLimits};
    std::uint64_t malformed_count_ = 0;
};

}  // namespace perfleet
