// What one write of an engine changes together. Nothing in a store relies on atomicity beyond one domain: whatever
// needs two is written as two, in an order in which a tear between them does no harm.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"

namespace perfleet {

struct Domain {
    enum class Type : std::uint8_t {
        kStore,  // the format's version
        kShard,  // what is known of a shard's sessions outside of partitions, and which of its partitions were dropped
        kPartition,  // everything of one partition
        kImage,      // the content of one image: the key names it
    };

    Type type{};
    Partition partition{};  // of a shard: its number alone

    friend bool operator==(const Domain&, const Domain&) = default;
};

[[nodiscard]] constexpr Domain domain_of(const Partition& partition) { return {Domain::Type::kPartition, partition}; }
[[nodiscard]] constexpr Domain shard_domain(std::uint16_t shard) {
    return {Domain::Type::kShard, {BucketNumber{0}, 0, shard}};
}
[[nodiscard]] constexpr Domain shard_domain(TargetId target, ShardCount shards) {
    return shard_domain(shard_of(target, shards));
}

// In which a key stands. Errors: kInvalid, saying the key.
[[nodiscard]] Result<Domain> domain_of_key(std::string_view key, ShardCount shards);

}  // namespace perfleet
