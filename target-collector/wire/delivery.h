// The collector's side of delivery: says Hello, sends batches within its credit, keeps them in a bounded spool until
// they are acknowledged, sends them again after a reconnect, and says Bye. States and timing: schemas/wire/README.md.
//
// Freestanding: no heap, no blocking call; step() is called again and again by the wire's loop, on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/duration_histogram.h"
#include "schemas/vocabulary/ids.h"
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

// Content of an image that the gateway may ask for. Borrowed for the delivery's life.
struct ImageSupply {
    std::span<const std::byte> build_id;
    std::uint16_t type = 0;            // protocol::ImageType
    std::span<const std::byte> bytes;  // empty: of a late image that is read when the gateway asks for it
};

// Images that come up while the session runs. Called on the delivery's thread.
class LateImages {
public:
    // The next ones to offer, at most hello_limits::kImageOffersMax, borrowed until the next call; empty: none now. The
    // gateway has what it wants of those before, so that their memory can go.
    [[nodiscard]] virtual std::span<const ImageSupply> next() = 0;

    // The bytes of one of the last next() that had none, by its index; borrowed as those. Empty: there are none.
    struct Content {
        bool is_read = true;  // false: call again
        std::span<const std::byte> bytes;
    };
    [[nodiscard]] virtual Content content(std::size_t /*index*/) { return {}; }

protected:
    ~LateImages() = default;
};

class DeliveryCore {
public:
    // What it counts and says last, in memory that the caller supplies: kCountTables tables of one size, and a Bye that
    // carries one (bye_size_bytes_max()), aligned to 8. Borrowed.
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
        LateImages* late_images = nullptr;                       // borrowed; null: none come up
        std::uint64_t resend_after_ns = limits::kResendAfterNs;  // the first time; see resend_timeout.h

        std::uint64_t image_bytes_per_second = kImageBytesPerSecond;  // 0: as many as the gateway asks for
        // So long the Bye waits for images in all; what isn't fetched by then isn't kept.
        std::uint64_t images_wait_ns = 5'000'000'000;
        // Where image chunks are put together; empty: in a part of `spool`, which a spool that outlives us can't spare.
        std::span<std::byte> image_memory{};
        // Written whenever the spool changes: before the memory of a batch is used again, and before a batch is sent
        // for the first time. Borrowed; null: the spool ends with the process.
        DeliveryJournal* journal = nullptr;
        // To deliver what another process left in `spool`: the journal's last entry and the session's final counts,
        // without what the wire lost. Its source has ended; `batches` stays empty. Borrowed until the constructor
        // returns; null: a new session.
        const JournalEntry* orphan = nullptr;
        std::span<const CountEntry> final_counts{};
        ClockPoint end_point{};
        // An earlier process may have delivered the session's first batches: the gateway's word is taken for it, and
        // the rest may follow (prefix of status()).
        bool may_be_known = false;
        // Whether the user asks for requests and answers them; else the gateway's operator is told that nobody does.
        bool takes_requests = false;
    };

    // What the delivery can be asked at any time; for messages to the user and for tests.
    struct Status {
        bool welcomed = false;  // the gateway has answered since the last (re)connect
        Seq prefix;             // acknowledged up to here
        Seq last_sealed;        // taken from the ring so far
        std::uint64_t spool_used_bytes = 0;
        std::uint64_t batches_kept = 0;  // in the spool
        std::uint64_t batches_acknowledged = 0;
        std::uint64_t batches_dropped = 0;
        std::uint64_t rows_given_up = 0;  // of those dropped: not because the spool was full, but by give_up()
        std::uint64_t batches_resent = 0;
        std::uint64_t batches_refused = 0;
        std::uint64_t gateway_changes = 0;  // another incarnation answered than before
        std::uint64_t replies_ignored = 0;  // malformed, or promising what can't be
        SessionId session;                  // as given, or as the gateway granted it; none before
        bool session_refused = false;       // reason in refused_reason: nothing more will be accepted
        bool is_deferred = false;          // reason likewise: asked again after kRetryDeferredNs, or when it reconnects
        std::uint16_t refused_reason = 0;  // protocol::RefusedReason
        bool finished = false;             // the Bye is acknowledged: everything is durable or resolved
        UtcNs gateway_utc;                 // when it read the Hello that it welcomed last; 0 before
        Ticks hello_clock;                 // what advance_clock() said when that was sent
    };

    // `batches` (from the sealer) and `losses` (to the sealer) are borrowed, like everything in Options.
    DeliveryCore(const Options& options, const Memory& memory, NetworkDriver& driver, SpscRing& batches,
                 SpscRing& losses);
    DeliveryCore(const DeliveryCore&) = delete;
    DeliveryCore& operator=(const DeliveryCore&) = delete;

    // What the session's clock reads now, for a Hello that tells it. Before step().
    void advance_clock(Ticks now) { clock_ = now; }

    // Does what can be done now without waiting. True when anything was done: call again soon.
    bool step(std::uint64_t now_ns);

    // Time is over: what isn't acknowledged counts as dropped from the spool, and the Bye says so. To be called
    // after Sealer::finish(), when the gateway has taken too long. A session that was refused, and has no journal to
    // wait in, is given up by itself then: what is left of it counts as refused.
    void give_up();

    // Drops the oldest batches until the spool holds no more than this.
    void shrink_to(std::uint64_t used_bytes_max);

    [[nodiscard]] const Status& status() const;

    // An operator's request that waits to be answered; null: none does. With Options::takes_requests.
    [[nodiscard]] const ControlRequest* order() const { return requests_.waiting(); }
    void answer_request(const ControlAnswer& answer) { requests_.answer(answer); }

    // From a batch's last sending to its acknowledgement. From any thread.
    [[nodiscard]] DurationHistogram acknowledged_after() const { return acknowledged_after_; }

private:
    // One step does at most so much of each, so that nothing waits for long.
    static constexpr int kRepliesPerStep = 64;
    static constexpr int kRecordsPerStep = 16;
    static constexpr int kBatchesPerStep = 16;
    // Images that the gateway may ask for at once; a request beyond them is not answered until it is repeated.
    static constexpr std::size_t kImageTransfersMax = 8;
    // The Bye waits for the rest of an image that is being fetched, as long as the gateway goes on asking.
    static constexpr std::uint64_t kImageTimeoutNs = 2'000'000'000;
    // So long it waits for one that is being read.
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
    // Makes room. False: nothing may be dropped now.
    [[nodiscard]] bool drop_oldest();
    // All that is kept, for good.
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
    std::uint64_t round_timeout_ns_ = 0;  // of the round that sends again
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
    Seq gateway_prefix_;               // as this incarnation has told it
    Seq reported_oldest_;              // the last oldestRetainedSeq that was sent
    Seq resolvable_;                   // no promise about a later batch can be true: it was neither sent nor dropped
    SpooledBatch* to_send_ = nullptr;  // all before it were sent since the last Welcome; null: all were

    std::array<ImageTransfer, kImageTransfersMax> transfers_{};
    std::size_t transfer_count_ = 0;
    std::uint64_t image_asked_ns_ = 0;
    std::uint64_t image_bytes_per_second_;
    std::uint64_t image_due_ns_ = 0;  // the next chunk
    std::uint64_t images_wait_ns_;
    std::uint64_t bye_ready_ns_ = 0;  // since when only images hold it back; 0: it isn't
    LateImages* late_images_;
    std::span<const ImageSupply> late_;  // of which the gateway doesn't have what it wants yet
    bool is_late_offered_ = false;       // since the last Welcome

    bool has_final_ = false;
    bool is_rest_unknown_ = false;   // DeliveryState's
    bool has_ended_itself_ = false;  // the journal says so; not of a session that another process left
    bool has_given_up_ = false;
    bool was_bye_sent_ = false;
    std::uint64_t bye_sent_ns_ = 0;
    ClockPoint end_point_;
    CountTable final_counts_;  // without what the wire counts
    CountTable bye_counts_;
    std::span<std::byte> bye_buffer_;
    alignas(8) std::array<std::byte, limits::kReplySizeBytesMax> reply_buffer_{};
};

// Memory for count tables of so many entries.
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
