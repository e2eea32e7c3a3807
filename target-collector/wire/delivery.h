// The collector's side of delivery: sends Hello, sends batches within its credit, keeps them in a bounded spool until
// they are acknowledged, resends them after a reconnect, and sends Bye. States and timing: schemas/wire/README.md.
//
// Freestanding: no heap, no blocking call. The wire's loop calls step() repeatedly, on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/duration_histogram.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"
#include "schemas/wire/delivery_limits.h"
#include "target-collector/message/bye.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/reply_reader.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/wire/delivery_journal.h"
#include "target-collector/wire/delivery_losses.h"
#include "target-collector/wire/delivery_requests.h"
#include "target-collector/wire/delivery_spool.h"
#include "target-collector/wire/driver.h"
#include "target-collector/wire/resend_timeout.h"

namespace perfleet {

// Content of an image that the gateway may request. Borrowed for the delivery's lifetime.
struct ImageSupply {
    std::span<const std::byte> build_id;
    std::uint16_t type = 0;            // protocol::ImageType
    std::span<const std::byte> bytes;  // empty: a late image that is read on request
};

// Images that appear while the session runs. Called on the delivery's thread.
class LateImages {
public:
    // The next images to offer, at most hello_limits::kImageOffersMax, borrowed until the next call; empty: none now.
    // The call means that the gateway needs nothing more of the earlier ones; their memory may be freed.
    [[nodiscard]] virtual std::span<const ImageSupply> next() = 0;

    // The bytes of an image of the last next() that had none, by its index; borrowed like those. Empty: not available.
    struct Content {
        bool is_read = true;  // false: call again
        std::span<const std::byte> bytes;
    };
    [[nodiscard]] virtual Content content(std::size_t /*index*/) { return {}; }

protected:
    ~LateImages() = default;
};

class DeliveryCore : NonCopyable {
public:
    // Memory of the caller for counts and the Bye: kCountTables tables of one size, and a Bye that carries one
    // (bye_size_bytes_max()), aligned to 8. Borrowed.
    static constexpr std::size_t kCountTables = DeliveryLosses::kCountTables + 2;
    struct Memory {
        std::span<CountEntry> counts;
        std::span<std::byte> bye;
    };

    static constexpr std::uint64_t kImageBytesPerSecond = 4U << 20;

    struct Options {
        SessionId session;
        std::span<std::byte> hello;  // the whole Hello message (message/hello.h); patched when it is sent
        std::span<std::byte> spool;  // memory for unacknowledged batches
        std::span<const ImageSupply> images;
        LateImages* late_images = nullptr;                       // borrowed; null: no late images
        std::uint64_t resend_after_ns = limits::kResendAfterNs;  // initial value (resend_timeout.h)

        std::uint64_t image_bytes_per_second = kImageBytesPerSecond;  // 0: no limit
        // Longest time that the Bye waits for images in total; images that aren't fetched by then are lost.
        std::uint64_t images_wait_ns = 5'000'000'000;
        // Memory to build image chunks; empty: uses part of `spool`, which isn't possible if the spool outlives the
        // process.
        std::span<std::byte> image_memory{};
        // Written whenever the spool changes: before the memory of a batch is reused, and before a batch is first sent.
        // Borrowed; null: the spool ends with the process.
        DeliveryJournal* journal = nullptr;
        // To deliver a session that another process left in `spool`: the journal's last entry and the session's final
        // counts, without the wire's losses. Its source has ended; `batches` stays empty. Borrowed until the
        // constructor returns; null: a new session.
        const JournalEntry* orphan = nullptr;
        std::span<const CountEntry> final_counts{};
        ClockPoint end_point{};
        // An earlier process may have delivered the session's first batches: accepts the prefix that the gateway
        // reports, and continues after it (prefix of status()).
        bool may_be_known = false;
        // Whether the caller answers control requests; if not, the gateway gets the answer that they aren't supported.
        bool takes_requests = false;
    };

    // The delivery's state, available at any time, for messages to the user and for tests.
    struct Status {
        bool welcomed = false;  // since the last (re)connect
        Seq prefix;             // all batches up to here are acknowledged
        Seq last_sealed;        // taken from the ring so far
        std::uint64_t spool_used_bytes = 0;
        std::uint64_t batches_kept = 0;  // in the spool
        std::uint64_t batches_acknowledged = 0;
        std::uint64_t batches_dropped = 0;
        std::uint64_t rows_given_up = 0;  // those of the dropped batches that give_up() dropped
        std::uint64_t batches_resent = 0;
        std::uint64_t batches_refused = 0;
        std::uint64_t gateway_changes = 0;  // times that another incarnation answered
        std::uint64_t replies_ignored = 0;  // malformed, or with impossible values
        SessionId session;                  // as given, or as granted by the gateway; none before
        bool session_refused = false;       // for refused_reason: the gateway accepts no more of it
        bool is_deferred = false;          // reason likewise: asked again after kRetryDeferredNs, or when it reconnects
        std::uint16_t refused_reason = 0;  // protocol::RefusedReason
        bool finished = false;             // the Bye is acknowledged: everything is durable or resolved
        UtcNs gateway_utc;                 // the gateway's time of the last welcomed Hello; 0 before
        Ticks hello_clock;                 // clock of advance_clock() in that Hello
    };

    // `batches` (from the sealer) and `losses` (to the sealer) are borrowed, like everything in Options.
    DeliveryCore(const Options& options, const Memory& memory, NetworkDriver& driver, SpscRing& batches,
                 SpscRing& losses);

    // Sets the session's clock, for a Hello with clock ticks. To be called before step().
    void advance_clock(Ticks now) { clock_ = now; }

    // Does what is possible without blocking. True if there may be more to do: call again soon.
    bool step(std::uint64_t now_ns);

    // Stops waiting: batches that aren't acknowledged count as dropped from the spool, and the Bye says so. To be
    // called after Sealer::finish(), when the gateway takes too long. A refused session without a journal gives up by
    // itself after Sealer::finish(); its rows then count as refused.
    void give_up();

    // Drops the oldest batches until the spool holds at most this many bytes.
    void shrink_to(std::uint64_t used_bytes_max);

    [[nodiscard]] const Status& status() const;

    // The control request that waits for an answer; null: none. With Options::takes_requests.
    [[nodiscard]] const ControlRequest* order() const { return requests_.waiting(); }
    void answer_request(const ControlAnswer& answer) { requests_.answer(answer); }

    // Time from a batch's last sending to its acknowledgement. From any thread.
    [[nodiscard]] DurationHistogram acknowledged_after() const { return acknowledged_after_; }

private:
    // Limits of one step, so that it is short.
    static constexpr int kRepliesPerStep = 64;
    static constexpr int kRecordsPerStep = 16;
    static constexpr int kBatchesPerStep = 16;
    // Images transferred at once; a further request is answered only when it is repeated.
    static constexpr std::size_t kImageTransfersMax = 8;
    // The Bye waits for an image that is being fetched, until the gateway has made no request for this long.
    static constexpr std::uint64_t kImageTimeoutNs = 2'000'000'000;
    // Longest time that the Bye waits for an image that is being read.
    static constexpr std::uint64_t kImageReadTimeoutNs = 10'000'000'000;

    struct ImageTransfer {
        const ImageSupply* supply = nullptr;
        std::uint64_t offset_bytes = 0;
        bool is_asked_for = false;
        std::uint64_t asked_ns = 0;  // the first time
    };

    [[nodiscard]] bool receive(std::uint64_t now_ns);
    void handle(const Reply& reply, std::uint64_t now_ns);
    void handle_welcome(const Reply& reply);
    void handle_ack(const Reply& reply);
    void handle_refused(const Reply& reply);
    void handle_need_image(const Reply& reply, std::uint64_t now_ns);
    [[nodiscard]] const ImageSupply* supply_of(std::span<const std::byte> build_id) const;
    void end_late_images();
    void handle_control(const Reply& reply);
    [[nodiscard]] bool is_ours(SessionId session) const { return session == status_.session; }

    void restore(const Options& options);
    void write_journal();
    [[nodiscard]] bool take_from_ring();
    [[nodiscard]] bool keep(const SealedRecord& header, std::span<const std::byte> message);
    void take_final(const SealedRecord& header, std::span<const std::byte> counts);
    // Makes space. False: nothing may be dropped now.
    [[nodiscard]] bool drop_oldest();
    // Drops all batches.
    [[nodiscard]] bool drop_all();
    void acknowledge(Seq prefix);
    void pop_front();
    void pop_resolved();
    [[nodiscard]] Seq oldest_retained();

    void expect_welcome();
    [[nodiscard]] bool say_hello(std::uint64_t now_ns);
    [[nodiscard]] bool say_controlled();
    [[nodiscard]] bool send_batches(std::uint64_t now_ns);
    [[nodiscard]] bool send_batch(SpooledBatch& batch, std::uint64_t now_ns);
    [[nodiscard]] bool offer_late_images(std::uint64_t now_ns);
    [[nodiscard]] bool send_image_chunk(std::uint64_t now_ns);
    [[nodiscard]] bool waits_for_images(std::uint64_t now_ns);
    [[nodiscard]] bool say_bye(std::uint64_t now_ns);

    NetworkDriver& driver_;
    SpscRing& batches_;
    SpscRing& loss_reports_;
    std::span<std::byte> hello_;
    std::span<const ImageSupply> images_;
    std::span<std::byte> image_buffer_;
    ResendTimeout timeout_;
    std::uint64_t round_timeout_ns_ = 0;  // of the round that resends
    DeliveryJournal* journal_;
    bool is_journal_due_ = false;
    DeliverySpool spool_;
    DeliveryLosses losses_;
    DeliveryRequests requests_;
    Status status_;
    DurationHistogram acknowledged_after_;
    std::uint64_t now_ns_ = 0;  // of the step
    Ticks clock_;
    Ticks hello_clock_;  // when the last Hello was sent

    bool is_hello_due_ = true;
    std::uint64_t hello_sent_ns_ = 0;
    std::uint64_t deferred_ns_ = 0;  // when
    bool has_incarnation_ = false;
    std::uint64_t incarnation_ = 0;
    Seq send_limit_;
    Seq gateway_prefix_;               // reported by the current incarnation
    Seq reported_oldest_;              // the last oldestRetainedSeq that was sent
    Seq resolvable_;                   // later batches were neither sent nor dropped: a prefix beyond is impossible
    SpooledBatch* to_send_ = nullptr;  // all before it were sent since the last Welcome; null: all

    std::array<ImageTransfer, kImageTransfersMax> transfers_{};
    std::size_t transfer_count_ = 0;
    std::uint64_t image_asked_ns_ = 0;
    std::uint64_t image_bytes_per_second_;
    std::uint64_t image_due_ns_ = 0;  // the next chunk
    std::uint64_t images_wait_ns_;
    std::uint64_t bye_ready_ns_ = 0;  // since when only images delay it; 0: they don't
    LateImages* late_images_;
    std::span<const ImageSupply> late_;  // images that the gateway still needs
    bool is_late_offered_ = false;       // since the last Welcome

    bool has_final_ = false;
    bool is_rest_unknown_ = false;   // DeliveryState's
    bool has_ended_itself_ = false;  // as in the journal; false for an orphaned session
    bool has_given_up_ = false;
    bool was_bye_sent_ = false;
    std::uint64_t bye_sent_ns_ = 0;
    ClockPoint end_point_;
    CountTable final_counts_;  // without the wire's counts
    CountTable bye_counts_;
    std::span<std::byte> bye_buffer_;
    alignas(8) std::array<std::byte, limits::kReplySizeBytesMax> reply_buffer_{};
};

// Memory for count tables of `kEntries` entries.
template <std::size_t kEntries>
struct DeliveryMemory {
    std::array<CountEntry, DeliveryCore::kCountTables * kEntries> counts{};
    alignas(8) std::array<std::byte, bye_size_bytes_max(kEntries)> bye{};

    [[nodiscard]] DeliveryCore::Memory all() { return {counts, bye}; }
};

// With tables as large as a Bye may carry.
class Delivery final : private DeliveryMemory<limits::kCountsMax>, public DeliveryCore {
public:
    Delivery(const Options& options, NetworkDriver& driver, SpscRing& batches, SpscRing& losses)
        : DeliveryCore{options, all(), driver, batches, losses} {}
};

}  // namespace perfleet
