// The gateway's door: a thread that takes messages off the Router as fast as they come, into a FairInbox, and hands
// replies to it. So the socket is served while a batch is checked or the disk is waited for, and no queue of libzmq's
// grows.
//
// libzmq itself could hold messages back only for each peer, by their number: thousands of peers with large ones are no
// bound. And a peer that hangs up while libzmq holds its messages back stops the process (libzmq 4.3.4 asserts
// `!_io_error` when one of them is a PING). So libzmq holds nothing back; what finds no room here is dropped.
//
// take(), send() and wait() are for one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
#include "gateway/wire/router.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class Reception {
public:
    struct Counts {
        std::uint64_t messages_dropped = 0;  // for want of room
        std::uint64_t replies_dropped = 0;   // too many at once, or the peer doesn't read
        std::size_t inbox_bytes = 0;         // now
    };

    // Starts the thread. Errors: kIo.
    [[nodiscard]] static Result<std::unique_ptr<Reception>> open(std::unique_ptr<Router> router,
                                                                 std::size_t inbox_size_bytes);
    // Sends what replies there are; then the router is closed.
    ~Reception();
    Reception(const Reception&) = delete;
    Reception& operator=(const Reception&) = delete;

    [[nodiscard]] const std::vector<std::string>& endpoints() const { return router_->endpoints(); }

    // The next message that is there now.
    [[nodiscard]] std::optional<InboxMessage> take();

    // Never waits. Dropped when there is no room for replies.
    void send(std::string_view routing_id, std::span<const std::byte> frame);

    // Ends the connection that this message came over, now; what else has come from its peer is dropped.
    void cut(const InboxMessage& message);

    // Replies go out; to be called after a few send()s.
    void flush();

    // Peers that turned out to be gone when something was sent to them, since the last call.
    [[nodiscard]] std::vector<std::string> take_gone();

    // Until a message is there, `wake_fd` is readable (-1: none), or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    // From any thread.
    [[nodiscard]] Counts counts() const;
    [[nodiscard]] TransportCounts transport_counts() const { return router_->counts(); }

private:
    static constexpr std::size_t kRepliesSizeBytesMax = 16U << 20;
    static constexpr std::size_t kGoneMax = 65'536;
    static constexpr int kMessagesAtOnceMax = 256;

    struct Replies {
        std::vector<std::byte> bytes;  // routing id and frame of each, one after the other
        std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;

        [[nodiscard]] std::size_t size_bytes() const { return bytes.size() + sizes.size() * sizeof sizes[0]; }
        void add(std::string_view routing_id, std::span<const std::byte> frame);
        void clear();
    };

    Reception(std::unique_ptr<Router> router, std::size_t inbox_size_bytes);
    void run();
    [[nodiscard]] bool receive_some();
    void send_replies();

    std::unique_ptr<Router> router_;  // the thread's, while it runs
    int door_fd_ = -1;                // wakes the thread
    int inbox_fd_ = -1;               // wakes who waits

    mutable std::mutex mutex_;
    FairInbox inbox_;
    bool is_waited_for_ = false;
    bool is_over_ = false;
    Replies replies_due_;
    std::vector<std::string> gone_;

    Replies replies_gathered_;  // of the user's thread
    Replies replies_going_;     // of this one
    std::atomic<std::uint64_t> messages_dropped_{0};
    std::atomic<std::uint64_t> replies_dropped_{0};
    std::thread thread_;
};

}  // namespace perfleet
