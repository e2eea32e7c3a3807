// The gateway without its socket: frames in, replies out, batches into the store. Protocol: schemas/wire/README.md.
//
// One thread, except counts(). The caller passes the time. Whatever a reply promises is durable before it is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/admission/image_checker.h"
#include "gateway/admission/intake_limits.h"
#include "gateway/counts/gateway_counts.h"
#include "gateway/ingest/cardinality.h"
#include "gateway/ingest/control_request_queue.h"
#include "gateway/ingest/peer_link.h"
#include "gateway/process/memory_plan.h"
#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"
#include "schemas/wire/delivery_limits.h"
#include "storage/store/store.h"

namespace perfleet {

class Ingest : NonCopyable {
public:
    struct Now {
        std::uint64_t monotonic_ns = 0;
        UtcNs utc;
    };

    struct Options {
        std::uint64_t incarnation = 0;             // of this run: random, not 0
        std::function<SessionId()> grant_session;  // 128 random bits
        LogSink log;                               // gets messages for operators
        std::string data;                          // the store as --data names it, for log messages
        // Reads the clock after long steps. Without it the time of the call is used.
        std::function<std::uint64_t()> monotonic_ns;
        MemoryPlan memory;
        std::uint32_t sessions_max = limits::kGatewaySessionsMax;  // in memory
        Cardinality::Limits cardinality;
        std::uint64_t clock_timeout_ns = intake_limits::kClockTimeoutNs;
        bool asks_for_symbols = true;                                          // requests images that collectors offer
        std::function<std::uint8_t(const SessionRecord&)> retention_class_of;  // empty: all are in class 0
        // Starts the check of an image; its outcome goes to image_checked(). Empty: images are checked at once.
        std::function<void(ReceivedImage)> check_image;
    };

    // `store` and `link` are borrowed. Errors: those of reading the store.
    [[nodiscard]] static Result<std::unique_ptr<Ingest>> open(Options options, Store& store, PeerLink& link);
    ~Ingest();

    // How a frame was received.
    struct Origin {
        const Enrolment* enrolment = nullptr;  // of the peer's key; null without keys
        std::uint64_t arrived_ns = 0;          // monotonic; 0: now
        // The peer may write to the store itself: the limits of new targets, sessions and labels don't apply.
        bool is_local = false;
    };

    // Handles one frame of a peer.
    void take(std::string_view routing_id, std::span<const std::byte> frame_untrusted, const Now& now,
              const Origin& origin);
    void take(std::string_view routing_id, std::span<const std::byte> frame_untrusted, const Now& now) {
        take(routing_id, frame_untrusted, now, {});
    }

    // The peer's connection has ended.
    void forget_peer(std::string_view routing_id);

    // An operator's request to a session; it is answered once, unless it is withdrawn. From the thread of take().
    void place_request(RequestTicket ticket, const OperatorCommand& order, const Now& now);
    void withdraw_request(RequestTicket ticket);
    // Answers since the last call.
    [[nodiscard]] std::vector<RequestAnswer> take_request_answers();

    // Takes the outcome of Options::check_image. From the thread of take().
    void image_checked(CheckedImage checked, const Now& now);

    // Stores symbols that passed check_image(), with the current group, which is committed now. Errors: kTooLarge (no
    // memory for them beside what collectors send); those of tick().
    [[nodiscard]] Result<Done> keep_image(std::string build_id, ImageContent content, const Now& now);

    // Does what is due: commits, acknowledges, requests images. Call it after a few take()s and at next_due_ns().
    // Errors: those of the store that can't be retried. One that can (full disk, I/O) is logged once; the group is kept
    // and retried, and no batch is accepted until it is stored.
    [[nodiscard]] Result<Done> tick(const Now& now);

    // Nanoseconds until tick() has something to do.
    [[nodiscard]] std::uint64_t next_due_ns(const Now& now) const;

    // The group is large: call tick() before the next take().
    [[nodiscard]] bool is_group_full() const;

    // Commits and acknowledges everything. Errors: those of the store; batches that could not be stored stay with their
    // collectors.
    [[nodiscard]] Result<Done> finish(const Now& now);

    // From any thread.
    [[nodiscard]] GatewayCounts counts() const;

private:
    struct State;
    explicit Ingest(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfleet
