// The structs of keys: partitions, sessions, batches, blocks, and what is derived from them. As bytes:
// storage/key/key_bytes.h.
//
// Plain values.
#pragma once

#include <compare>
#include <cstdint>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "storage/limits/store_limits.h"

namespace perfleet {

// The unit of retention: kept and dropped as a whole, and readable alone.
struct Partition {
    BucketNumber bucket;
    std::uint8_t retention_class = 0;
    std::uint16_t shard = 0;

    friend constexpr auto operator<=>(const Partition&, const Partition&) = default;
};

// The number of shards of a store's targets: set when the store is created, never changed.
struct ShardCount {
    std::uint16_t value = limits::kShardsDefault;

    friend constexpr auto operator<=>(const ShardCount&, const ShardCount&) = default;
};

[[nodiscard]] constexpr std::uint16_t shard_of(TargetId target, ShardCount shards) {
    return static_cast<std::uint16_t>(target.value % shards.value);
}
// A store refuses a partition computed with another number of shards than its own.
[[nodiscard]] constexpr Partition partition_of(TargetId target, BucketNumber bucket, std::uint8_t retention_class = 0,
                                               ShardCount shards = {}) {
    return {bucket, retention_class, shard_of(target, shards)};
}

struct SessionName {
    TargetId target;
    SessionId session;

    friend constexpr auto operator<=>(const SessionName&, const SessionName&) = default;
};

// Names a batch for all time: the same key never means two contents.
struct BatchKey {
    TargetId target;
    SessionId session;
    Seq seq;

    friend constexpr auto operator<=>(const BatchKey&, const BatchKey&) = default;
};

// The place of a block. A session's blocks of one series are ordered by `first_seq`.
struct BlockKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    Seq first_seq;

    friend constexpr auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

// The place of a summary of a day: in the session's last partition of that day. The summaries of one series are ordered
// by `first_seq`.
struct SummaryKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    Seq first_seq;

    friend constexpr auto operator<=>(const SummaryKey&, const SummaryKey&) = default;
};

// The place of the map from an epoch's stacks to the dictionary of its partition.
struct StackMapKey {
    Partition partition;
    TargetId target;
    SessionId session;
    EpochNumber epoch;

    friend constexpr auto operator<=>(const StackMapKey&, const StackMapKey&) = default;
};

}  // namespace perfleet
