// Order-preserving keys: the order of their bytes is the order of what they name. Integers are big-endian, so a
// session, a series or a partition is one contiguous range.
//
// Tables, golden bytes: storage/FORMAT.md. Keys carry no version: the store's format version covers them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"

namespace perfleet {

// The first byte of a key. Numbers are stored: they must never change.
enum class Table : std::uint8_t {
    kFormat = 0,            // the store's format version, and its number of shards
    kPartition = 1,         // everything of one partition
    kSession = 2,           // every defined session
    kSessionEnd = 3,        // from its Bye
    kWatermark = 4,         // of a session
    kSessionPartition = 5,  // the partitions in which a session was defined
    kExpired = 6,           // rows of a dropped partition, per session and series
    kExpiredBatch = 7,  // batches that came after their partition was dropped, or were above the watermark when it was
    kDropped = 8,       // partitions that were dropped
    kImage = 9,         // content by build-id
    kSessionNote = 10,  // a user's note on a session: its name; that it was removed
};

// The byte after a partition. Numbers are stored: they must never change.
enum class PartitionTable : std::uint8_t {
    kSession = 1,
    kBatch = 2,
    kBlock = 3,
    kCompacted = 4,   // mark: nothing of the partition waits to be compacted
    kSummary = 5,     // of a day
    kDictionary = 6,  // of the partition
    kStackMap = 7,    // of an epoch: its stack numbers in the dictionary
};

// Keys from `begin` (included) to `end` (excluded).
struct KeyRange {
    std::string begin;
    std::string end;
};

[[nodiscard]] std::string format_key();
[[nodiscard]] std::string shards_key();  // the number of the store's shards
[[nodiscard]] KeyRange everything();     // no key begins with 64 bytes 0xff

// -- inside a partition -----------------------------------------------------------------------------------------------
[[nodiscard]] std::string partition_session_key(const Partition& partition, TargetId target, SessionId session);
// A value with several batches has the last one's seq: the value with a given seq is the first at or after it.
[[nodiscard]] std::string partition_batch_key(const Partition& partition, const BatchKey& key);
[[nodiscard]] std::string compacted_key(const Partition& partition);
[[nodiscard]] std::string block_key(const BlockKey& key);
[[nodiscard]] std::string summary_key(const SummaryKey& key);

[[nodiscard]] std::string dictionary_key(const Partition& partition);
[[nodiscard]] std::string stack_map_key(const StackMapKey& key);

[[nodiscard]] KeyRange partition_range(const Partition& partition);
[[nodiscard]] KeyRange all_partitions_range();
[[nodiscard]] KeyRange partition_sessions_range(const Partition& partition);
[[nodiscard]] KeyRange partition_batches_range(const Partition& partition);
// Batches of one session, from `first` on.
[[nodiscard]] KeyRange session_batches_range(const Partition& partition, TargetId target, SessionId session,
                                             Seq first = Seq{0});
// Blocks of all its series.
[[nodiscard]] KeyRange session_blocks_range(const Partition& partition, TargetId target, SessionId session);
// A session's summaries and stack maps.
[[nodiscard]] std::vector<KeyRange> session_summary_ranges(const Partition& partition, const SessionName& session);
// The same, and its batches and blocks.
[[nodiscard]] std::vector<KeyRange> session_ranges(const Partition& partition, const SessionName& session);
[[nodiscard]] KeyRange series_blocks_range(const Partition& partition, TargetId target, SessionId session,
                                           Series series, Seq first = Seq{0});
[[nodiscard]] KeyRange series_summaries_range(const Partition& partition, TargetId target, SessionId session,
                                              Series series);

[[nodiscard]] KeyRange stack_maps_range(const Partition& partition);

// -- outside ----------------------------------------------------------------------------------------------------------
[[nodiscard]] std::string session_key(Table table, TargetId target,
                                      SessionId session);  // kSession, kSessionEnd, kWatermark, kSessionNote
[[nodiscard]] std::string session_partition_key(TargetId target, SessionId session, const Partition& partition);
[[nodiscard]] std::string expired_key(TargetId target, SessionId session, Series series, const Partition& partition);
[[nodiscard]] std::string expired_batch_key(const BatchKey& key);
[[nodiscard]] std::string dropped_key(const Partition& partition);
[[nodiscard]] std::string image_key(std::string_view build_id);

[[nodiscard]] KeyRange all_sessions_range();
[[nodiscard]] KeyRange all_images_range();
[[nodiscard]] KeyRange all_session_notes_range();
[[nodiscard]] KeyRange dropped_range();
[[nodiscard]] KeyRange dropped_bucket_range(BucketNumber bucket);
[[nodiscard]] KeyRange session_bucket_range(TargetId target, SessionId session, BucketNumber bucket);
// Buckets from `first` to `last`, both included.
[[nodiscard]] KeyRange session_buckets_range(TargetId target, SessionId session, BucketNumber first, BucketNumber last);
[[nodiscard]] KeyRange all_session_partitions_range();
[[nodiscard]] KeyRange session_expired_range(TargetId target, SessionId session);
[[nodiscard]] KeyRange session_expired_batches_range(TargetId target, SessionId session, Seq first = Seq{0});

// The same key for another shard: of a key inside a partition, or of kDropped.
[[nodiscard]] std::string key_in_shard(std::string_view key, std::uint16_t shard);

// -- decoding ---------------------------------------------------------------------------------------------------------
// Errors: kInvalid, naming the key.
struct PartitionBatch {
    Partition partition;
    BatchKey key;

    friend constexpr auto operator<=>(const PartitionBatch&, const PartitionBatch&) = default;
};
struct PartitionSession {
    Partition partition;
    SessionName name;

    friend constexpr auto operator<=>(const PartitionSession&, const PartitionSession&) = default;
};
[[nodiscard]] Result<Partition> decode_partition(std::string_view key);  // of any key inside a partition, or kDropped
[[nodiscard]] Result<PartitionSession> decode_partition_session_key(std::string_view key);
[[nodiscard]] Result<PartitionBatch> decode_partition_batch_key(std::string_view key);
[[nodiscard]] Result<BlockKey> decode_block_key(std::string_view key);
[[nodiscard]] Result<SummaryKey> decode_summary_key(std::string_view key);
[[nodiscard]] Result<StackMapKey> decode_stack_map_key(std::string_view key);
[[nodiscard]] Result<SessionName> decode_session_key(std::string_view key);
[[nodiscard]] Result<PartitionSession> decode_session_partition_key(std::string_view key);
struct ExpiredName {
    Series series;
    Partition partition;
};
[[nodiscard]] Result<ExpiredName> decode_expired_key(std::string_view key);
[[nodiscard]] Result<BatchKey> decode_expired_batch_key(std::string_view key);

// For error messages: "block of target 0000000000000001, session …, series sample/0, first seq 7, in partition 5/0/1".
// Any bytes give printable text.
[[nodiscard]] std::string describe_key(std::string_view key);

}  // namespace perfleet
