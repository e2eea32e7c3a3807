// The whole collector of a target without an operating system: samples in, messages out through a network driver (ZMTP
// over a byte stream, or a file of frames), in memory of its own. ../PORTING.md lists what a platform supplies.
//
// Freestanding; one thread, nothing waits: the same loop calls sample() and step(), at least every few milliseconds.
// Interrupt handlers pass samples to that loop through a ring (ring/spsc_ring.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/sealer.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/small/small_target.h"
#include "target-collector/small/stack_table.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/driver.h"

namespace perfleet {

class SmallCollector {
public:
    // These sizes are all of its memory; ../PORTING.md explains how much they cover.
    static constexpr std::size_t kSpoolSizeBytes = 128U << 10;  // batches that the gateway hasn't acknowledged
    static constexpr std::size_t kRingSizeBytes = 32U << 10;    // between sealing and sending, a power of two
    static constexpr std::uint32_t kBatchRowsMax = 256;
    static constexpr std::size_t kSeriesMax = 12;            // in one batch
    static constexpr std::size_t kCountsMax = 96;            // counts of a session, of which 32 are kept for overflow
    static constexpr std::size_t kTextSizeBytesMax = 2'048;  // of paths and names in one batch
    static constexpr std::size_t kHelloSizeBytesMax = 4U << 10;
    static constexpr std::size_t kFramesMax = 64;  // of one call chain; deeper ones lose their outermost frames
    static constexpr std::size_t kImagesMax = 64;

    // Borrows `target` and `driver`.
    SmallCollector(const SmallTarget& target, NetworkDriver& driver);

    // Counts the sample as produced.
    void sample(const SmallSample& sample);
    // Counts samples that the platform had to drop.
    void count_lost(EventNumber event, std::uint64_t sample_count);

    // Rows of other kinds, and their counts, as in RowSink (message/row_sink.h). The collector itself makes definitions
    // and tasks.
    void append(const RowView& row);
    void count_lost(Series series, CountName reason, std::uint64_t row_count);
    void count(Series series, CountName name, std::uint64_t value);

    void step(Ticks now);

    // SmallTarget's threads or images have changed: later rows belong to the new ones.
    void redefine(Ticks now) { begin_epoch(now); }

    // Seals the remaining rows; only step() may follow, until is_finished().
    void finish() { is_finishing_ = true; }
    // Everything is durable or resolved, or the gateway has refused the session.
    [[nodiscard]] bool is_finished() const { return status().finished || status().session_refused; }

    [[nodiscard]] const Delivery::Status& status() const { return delivery_.status(); }

private:
    template <std::size_t kSizeBytes>
    struct alignas(8) Memory {
        std::array<std::byte, kSizeBytes> bytes{};
    };
    // A batch reserves some rows for each series; kinds have at most 8 columns, except tasks.
    static constexpr std::uint32_t kChunkRows = 16;
    static constexpr std::uint32_t kColumns = 8;
    static constexpr std::uint32_t kTaskColumns = 14;
    static constexpr std::size_t kValues =
        BatchBuilderCore::values_count(kBatchRowsMax, kColumns, kSeriesMax, kChunkRows) +
        std::size_t{kChunkRows} * (kTaskColumns - kColumns);

    [[nodiscard]] std::span<std::byte> write_hello_message();
    [[nodiscard]] std::uint64_t ns_of(Ticks ticks) const;
    [[nodiscard]] UtcNs utc_of(Ticks ticks) const;
    void take_up_welcome();
    void take_up_session(Ticks now);
    void take_request(Ticks now);
    void begin_epoch(Ticks now);
    void define_images(Ticks now);
    void define_threads(Ticks now);
    void append_task(TaskOp op, const SmallThread& thread, Ticks now, StringNumber name, const SmallImage* image);
    // kEmptyStack: no frame is in an image. Fails if the epoch's table is full.
    [[nodiscard]] bool intern_stack(const SmallSample& sample, std::uint32_t pid, StackNumber& into);
    [[nodiscard]] std::uint32_t pid_or_own(std::uint32_t pid) const { return pid == 0 ? target_.pid : pid; }
    [[nodiscard]] std::uint32_t pid_of(std::uint32_t tid) const;
    [[nodiscard]] bool is_in(const SmallImage& image, std::uint32_t pid, std::uint64_t address) const;

    const SmallTarget& target_;
    bool is_finishing_ = false;
    Ticks latest_sample_;
    UtcNs gateway_utc_;               // last reported by the delivery
    std::int64_t utc_offset_ns_ = 0;  // UTC minus the session's clock, in ns
    std::uint64_t uncertainty_ns_ = 0;
    StackTable stacks_;
    SizedCountTable<kCountsMax> counts_;
    SizedCountTable<kCountsMax> wire_losses_;
    DeliveryMemory<kCountsMax> delivery_memory_;
    BatchBuilderCore::Tables<kSeriesMax> tables_;
    Memory<kRingSizeBytes> ring_memory_;
    Memory<loss_report_ring_size_bytes(kCountsMax)> loss_memory_;
    Memory<kSpoolSizeBytes> spool_;
    Memory<kHelloSizeBytesMax> hello_;
    std::array<std::uint64_t, kValues> values_{};
    Memory<kTextSizeBytesMax> bytes_;
    SpscRing batches_;
    SpscRing losses_;
    BatchBuilderCore builder_;
    SealerCore sealer_;
    NetworkDriver& driver_;
    DeliveryCore delivery_;
};
static_assert(sizeof(SmallCollector) <= 260U << 10, "what ../PORTING.md says");

}  // namespace perfleet
