// The batches that a collector keeps until they are acknowledged: a bounded queue in memory of the caller.
//
// Freestanding; one thread. Entries are contiguous, 8-aligned, oldest first; one that doesn't fit before the end of the
// memory stands at its beginning:
//
//   not wrapped   |      | tail … head |        |        wrapped   | … head |      | tail … wrap_end |  |
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "target-collector/message/sealer.h"

namespace perfleet {

// What stands before each spooled message; its SealedRecord::Rows stand in between.
struct SpooledBatch {
    Seq seq;
    std::uint64_t notice_number = 0;
    std::uint64_t sent_ns = 0;  // last time
    EpochNumber epoch;
    std::uint32_t series_count = 0;
    std::uint32_t message_size_bytes = 0;
    bool was_sent = false;     // ever
    bool is_sent = false;      // since the last Welcome
    bool is_resolved = false;  // refused: only waits for those before it
};
static_assert(sizeof(SpooledBatch) % 8 == 0);

class DeliverySpool {
public:
    explicit DeliverySpool(std::span<std::byte> memory);
    DeliverySpool(const DeliverySpool&) = delete;
    DeliverySpool& operator=(const DeliverySpool&) = delete;

    // False when even an empty spool is too small.
    [[nodiscard]] bool can_hold(const SealedRecord& record, std::size_t message_size_bytes) const;

    // Copies; null: no room now.
    [[nodiscard]] SpooledBatch* push(const SealedRecord& record, std::span<const std::byte> message);

    // Null when there is none. Pointers stay valid until that batch is popped.
    [[nodiscard]] SpooledBatch* front();
    [[nodiscard]] SpooledBatch* next(SpooledBatch* batch);
    void pop_front();

    [[nodiscard]] static std::span<const SealedRecord::Rows> rows_of(const SpooledBatch& batch);
    [[nodiscard]] static std::span<std::byte> message_of(SpooledBatch& batch);

    [[nodiscard]] std::size_t used_bytes() const { return used_bytes_; }

private:
    [[nodiscard]] static std::size_t size_bytes_of(std::uint32_t series_count, std::size_t message_size_bytes);
    [[nodiscard]] SpooledBatch* at(std::size_t offset);

    std::span<std::byte> memory_;
    std::size_t tail_ = 0;
    std::size_t head_ = 0;
    std::size_t wrap_end_ = 0;
    bool is_wrapped_ = false;
    std::size_t used_bytes_ = 0;
};

}  // namespace perfleet
