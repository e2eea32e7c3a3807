// Receives messages: a thread serves the gateway's peers (schemas/zmtp/server.h) and puts their messages into a
// FairInbox, also while a batch is being checked or the disk is slow.
//
// If the inbox has no space for a peer's message, the peer isn't read until there is; nothing is dropped.
//
// take(), send() and wait() are for one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gateway/wire/fair_inbox.h"
#include "schemas/host/wake_event.h"
#include "schemas/peers/local_socket.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/zmtp/server.h"

namespace perfleet {

struct ReceptionOptions {
    std::vector<std::string> endpoints;
    // The store's folder: processes of its user on this machine connect through kGatewaySocketName in it, without keys
    // even if endpoints require them, and under the name that they state. The caller must hold the store's lock. Empty:
    // no such socket.
    std::string folder;
    // Both or none: with keys all peers speak CURVE and are identified by their keys.
    std::string key_file;
    std::string collectors_folder;
    std::size_t connections_max = 0;                        // 0: what the process's limit of descriptors allows
    std::size_t connections_default_max = ~std::size_t{0};  // limit of that default
    std::size_t inbox_size_bytes = 0;
    std::size_t buffered_size_bytes = 0;        // of unfinished messages and of unread replies
    std::function<void(std::string_view)> log;  // called on any thread
};

class Reception final : private zmtp::Server::Sink, NonCopyable {
public:
    struct Counts {
        std::uint64_t messages_dropped = 0;  // of disconnected peers
        std::uint64_t replies_dropped = 0;   // too many at once, or the peer doesn't read
        std::size_t inbox_bytes = 0;         // now
        std::size_t buffered_bytes = 0;      // now
    };

    // Replies that wait for one peer; further ones are dropped. Replies are small, and important ones are repeated.
    static constexpr std::size_t kRepliesWaitingMax = 16;

    // Listens at all endpoints and starts the thread. A folder in which no socket can be made is logged; it is an error
    // only if there is no endpoint. Errors: kUsage (not an endpoint, a remote one without keys, not an address of this
    // machine), kBusy (address in use), kPermission (also of key files), kIo, and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<Reception>> open(const ReceptionOptions& options);
    // Sends the pending replies.
    ~Reception() override;

    // The endpoints that were bound, with their ports.
    [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }

    // The next waiting message; empty: none.
    [[nodiscard]] std::optional<InboxMessage> take();

    // Never blocks. Drops the reply if there is no space for it.
    void send(std::string_view routing_id, std::span<const std::byte> frame);

    // Charges the peer for a message that took longer to handle than its size suggests.
    void charge(const InboxMessage& message, std::uint64_t duration_ns);

    // Disconnects the peer and drops its waiting messages.
    void cut(std::string_view routing_id);

    // Sends the replies of earlier send()s; call it after a few of them.
    void flush();

    // Peers that were found disconnected when a reply was sent to them, since the last call.
    [[nodiscard]] std::vector<std::string> take_gone();

    // Waits until a message is there, `wake_fd` (-1: none) is readable, or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    // From any thread.
    [[nodiscard]] Counts counts() const;
    [[nodiscard]] TransportCounts transport_counts() const;

private:
    static constexpr std::size_t kRepliesSizeBytesMax = 16U << 20;
    static constexpr std::size_t kGoneMax = 65'536;

    struct Replies {
        std::vector<std::byte> bytes;  // routing id and frame of each, one after the other
        std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;

        [[nodiscard]] std::size_t size_bytes() const { return bytes.size() + sizes.size() * sizeof sizes[0]; }
        void add(std::string_view routing_id, std::span<const std::byte> frame);
        void clear();
    };

    explicit Reception(std::size_t inbox_size_bytes) : inbox_{inbox_size_bytes} {}
    [[nodiscard]] Result<Done> listen_in(const std::string& folder);
    [[nodiscard]] bool take(const zmtp::Server::Message& message) override;
    void run();
    void send_replies();

    std::optional<LocalSocket> local_;
    std::vector<std::string> endpoints_;
    std::unique_ptr<zmtp::Server> server_;  // the thread's, while it runs
    WakeEvent inbox_event_;                 // wakes wait()

    mutable std::mutex mutex_;
    FairInbox inbox_;
    bool is_waited_for_ = false;
    bool is_over_ = false;
    std::optional<std::size_t> resume_at_bytes_;  // peers are paused until the inbox has shrunk to this
    bool is_to_resume_ = false;
    Replies replies_due_;
    std::vector<std::string> gone_;
    std::vector<zmtp::ConnectionId> cuts_due_;
    TransportCounts transport_counts_;
    std::size_t buffered_bytes_ = 0;

    Replies replies_gathered_;  // of the user's thread
    Replies replies_going_;     // of this one
    std::atomic<std::uint64_t> messages_dropped_{0};
    std::atomic<std::uint64_t> replies_dropped_{0};
    std::thread thread_;
};

}  // namespace perfleet
