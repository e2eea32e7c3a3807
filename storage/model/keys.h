// What keys name: partitions, sessions, batches, blocks, and what is made of them. As bytes: storage/key/key_bytes.h.
//
// Plain values.
#pragma once

#include <compare>
#include <cstdint>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"
#include "storage/store_limits.h"

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

// How long the cells of a rollup are. Numbers are stored: they must never change.
enum class RollupLevel : std::uint8_t { kMinute = 1, kHour = 2, kDay = 3 };

// What a rollup sums: rows by thread and call chain (storage/rollup/rollup.h), their values (value_rollup.h), or rows
// by thread name and call chain as their content says, over epochs (day_rollup.h; days only).
enum class RollupContent : std::uint8_t { kStacks, kValues, kNamedStacks };

struct RollupKind {
    RollupContent content{};
    RollupLevel level{};

    friend constexpr auto operator<=>(const RollupKind&, const RollupKind&) = default;
};

// Where a rollup stands. A session's rollups of one series and kind come in the order of `first_seq`.
struct RollupKey {
    Partition partition;
    TargetId target;
    SessionId session;
    Series series;
    RollupKind kind;
    Seq first_seq;

    friend constexpr auto operator<=>(const RollupKey&, const RollupKey&) = default;
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
