// Where messages come in: a thread that serves the gateway's peers (schemas/zmtp/server.h) and puts what they send into
// a FairInbox. So peers are served while a batch is checked or the disk is waited for.
//
// A peer whose messages find no space in the inbox isn't read until there is some: it waits, nothing is dropped.
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
#include "schemas/zmtp/server.h"

namespace perfleet {

struct ReceptionOptions {
    std::vector<std::string> endpoints;
    // The store's folder: its user's processes on this machine come in through kGatewaySocketName there, without keys
    // whatever the endpoints ask for, and are who they say. Whoever binds has the store for itself. Empty: nobody does.
    std::string folder;
    // Both or none: with keys all peers speak CURVE and are known by it.
    std::string key_file;
    std::string collectors_folder;
    std::size_t connections_max = 0;                        // 0: what the process's limit of descriptors allows
    std::size_t connections_default_max = ~std::size_t{0};  // not more unless connections_max says so
    std::size_t inbox_size_bytes = 0;
    std::size_t buffered_size_bytes = 0;        // of unfinished messages, and of replies that nobody reads
    std::function<void(std::string_view)> log;  // called on any thread
};

class Reception final : private zmtp::Server::Sink {
public:
    struct Counts {
        std::uint64_t messages_dropped = 0;  // of peers that were cut
        std::uint64_t replies_dropped = 0;   // too many at once, or the peer doesn't read
        std::size_t inbox_bytes = 0;         // now
        std::size_t buffered_bytes = 0;      // now
    };

    // Replies that wait for one peer; what comes beyond them is dropped. They are small, and those that matter are
    // repeated.
    static constexpr std::size_t kRepliesWaitingMax = 16;

    // Listens at all endpoints and starts the thread. A folder that takes no socket is reported, and an error only
    // where there is no endpoint. Errors: kUsage (not an endpoint, a remote one without keys, not an address of this
    // machine), kBusy (address in use), kPermission (also of key files), kIo, and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<Reception>> open(const ReceptionOptions& options);
    // Sends what replies there are.
    ~Reception() override;
    Reception(const Reception&) = delete;
    Reception& operator=(const Reception&) = delete;

    // Those really bound, with the port.
    [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }

    // The next message that is there now.
    [[nodiscard]] std::optional<InboxMessage> take();

    // Never waits. Dropped when there is no room for replies.
    void send(std::string_view routing_id, std::span<const std::byte> frame);

    // What handling the message cost in time, where that is more than a message of its size does.
    void charge(const InboxMessage& message, std::uint64_t duration_ns);

    // Ends the peer's connection; what else has come from it is dropped.
    void cut(std::string_view routing_id);

    // Replies go out; to be called after a few send()s.
    void flush();

    // Peers that turned out to be gone when something was sent to them, since the last call.
    [[nodiscard]] std::vector<std::string> take_gone();

    // Until a message is there, `wake_fd` is readable (-1: none), or the time is over.
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
    WakeEvent inbox_event_;                 // wakes who waits

    mutable std::mutex mutex_;
    FairInbox inbox_;
    bool is_waited_for_ = false;
    bool is_over_ = false;
    std::optional<std::size_t> resume_at_bytes_;  // peers wait until the inbox has shrunk to this
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
