// What keys name: partitions, sessions, batches, blocks, and what is made of them. As bytes: storage/key/key_bytes.h.
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

// What is kept and dropped together, and can be read alone.
struct Partition {
    BucketNumber bucket;
    std::uint8_t retention_class = 0;
    std::uint16_t shard = 0;

    friend constexpr auto operator<=>(const Partition&, const Partition&) = default;
};

// Into how many shards a store divides its targets: chosen when it is created, never changed.
struct ShardCount {
    std::uint16_t value = limits::kShardsDefault;

    friend constexpr auto operator<=>(const ShardCount&, const ShardCount&) = default;
};

[[nodiscard]] constexpr std::uint16_t shard_of(TargetId target, ShardCount shards) {
    return static_cast<std::uint16_t>(target.value % shards.value);
}
// A store refuses a partition of another number of shards than its own.
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

// Where a block stands. A session's blocks of one series come in the order of `first_seq`.
struct BlockKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    Seq first_seq;

    friend constexpr auto operator<=>(const BlockKey&, const BlockKey&) = default;
};

// Where a summary of a day stands: in the session's last partition of that day. Those of one series come in the order
// of `first_seq`.
struct SummaryKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    Seq first_seq;

    friend constexpr auto operator<=>(const SummaryKey&, const SummaryKey&) = default;
};

// Where the map of an epoch's stacks into the dictionary of its partition stands.
struct StackMapKey {
    Partition partition;
    TargetId target;
    SessionId session;
    EpochNumber epoch;

    friend constexpr auto operator<=>(const StackMapKey&, const StackMapKey&) = default;
};

}  // namespace perfleet
