// The batches that a collector keeps until they are acknowledged: a bounded queue in memory of the caller, which may
// outlive the process (a mapped file).
//
// Freestanding; one thread. Records are contiguous, 8-aligned, oldest first; a record that doesn't fit before the end
// of the memory is put at its beginning:
//
//   not wrapped   |      | tail … head |        |        wrapped   | … head |      | tail … wrap_end |  |
//
// One record:
//   byte 0    u32 0x42534650      "PFSB"
//   byte 4    u32 head_checksum   crc32c of bytes 8 to 39
//   byte 8    u64 seq
//   byte 16   u64 report_number   the last LossReport that the sealer knew
//   byte 24   u32 epoch
//   byte 28   u32 series_count
//   byte 32   u32 message_size_bytes
//   byte 36   u32 content_checksum  crc32c of rows and message as sealed (with oldestRetainedSeq 0, and the message's
//                                  own checksum for that)
//   byte 40   u64 resolved_by     number of the first journal entry that marks it refused; 0: not refused
//   byte 48   u64 sent_ns         valid in this process only
//   byte 56   u8 was_sent, u8 is_sent, u8 was_repeated, u8[5] 0: likewise
//   byte 64   series_count × { u8 kind, u8 0, u16 event, u32 row_count }
//   …         the message, padded to a multiple of 8
//
// Integers little-endian. The layout is part of the spool's format (target-collector/spool/FORMAT.md): it must not
// change. Checksums are 0 where the memory ends with the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/message/sealer.h"

namespace perfleet {

// The head of each spooled message; its SealedRecord::Rows are in between.
struct SpooledBatch {
    static constexpr std::uint32_t kMagic = 0x42534650;

    std::uint32_t magic = kMagic;
    std::uint32_t head_checksum = 0;
    Seq seq;
    std::uint64_t report_number = 0;
    EpochNumber epoch;
    std::uint32_t series_count = 0;
    std::uint32_t message_size_bytes = 0;
    std::uint32_t content_checksum = 0;
    std::uint64_t resolved_by = 0;
    std::uint64_t sent_ns = 0;  // last time
    bool was_sent = false;      // ever
    bool is_sent = false;       // since the last Welcome
    bool was_repeated = false;  // sent more than once
    std::uint8_t reserved[5] = {};

    // It was refused and only waits for earlier batches.
    [[nodiscard]] bool is_resolved() const { return resolved_by != 0; }
};
static_assert(sizeof(SpooledBatch) == 64 && offsetof(SpooledBatch, resolved_by) == 40);
static_assert(sizeof(SealedRecord::Rows) == 8);

class DeliverySpool : NonCopyable {
public:
    // The places of the records in the memory.
    struct Places {
        std::uint64_t tail = 0;
        std::uint64_t head = 0;
        std::uint64_t wrap_end = 0;
        std::uint64_t used_bytes = 0;
        bool is_wrapped = false;
    };

    explicit DeliverySpool(std::span<std::byte> memory, bool has_checksums = false);

    // Continues with an earlier process's records in the memory: whole records from place to place
    // (spool/spool_reading.h).
    void restore(const Places& places);
    [[nodiscard]] Places places() const { return {tail_, head_, wrap_end_, used_bytes_, is_wrapped_}; }

    // False if even an empty spool is too small.
    [[nodiscard]] bool can_hold(const SealedRecord& record, std::size_t message_size_bytes) const;
    // Whether push() has space now.
    [[nodiscard]] bool has_room_for(const SealedRecord& record, std::size_t message_size_bytes) const;

    // Whether push() would overwrite these bytes. Requires has_room_for().
    [[nodiscard]] bool would_overwrite(const SealedRecord& record, std::size_t message_size_bytes,
                                       std::span<const std::byte> bytes) const;

    // Copies the record. Requires has_room_for().
    SpooledBatch* push(const SealedRecord& record, std::span<const std::byte> message);

    // Null if there is none. Pointers stay valid until that batch is popped.
    [[nodiscard]] SpooledBatch* front();
    [[nodiscard]] SpooledBatch* next(SpooledBatch* batch);
    void pop_front();

    [[nodiscard]] static std::span<const SealedRecord::Rows> rows_of(const SpooledBatch& batch);
    [[nodiscard]] static std::span<std::byte> message_of(SpooledBatch& batch);

    // Size of the whole record with this head, and its expected checksums. `content` is what follows the head.
    [[nodiscard]] static std::uint64_t size_bytes_of(std::uint32_t series_count, std::uint64_t message_size_bytes);
    [[nodiscard]] static std::uint32_t head_checksum_of(const SpooledBatch& batch);

    [[nodiscard]] std::size_t used_bytes() const { return used_bytes_; }

private:
    [[nodiscard]] SpooledBatch* at(std::size_t offset);
    // The place of the next record of this size.
    [[nodiscard]] std::size_t place_for(std::size_t size_bytes) const;

    std::span<std::byte> memory_;
    bool has_checksums_;
    std::size_t tail_ = 0;
    std::size_t head_ = 0;
    std::size_t wrap_end_ = 0;
    bool is_wrapped_ = false;
    std::size_t used_bytes_ = 0;
};

}  // namespace perfleet
