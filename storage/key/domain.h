// The unit of an atomic write of an engine. Nothing in a store relies on atomicity beyond one domain: a change of two
// domains is two writes, in an order that makes an interruption between them harmless.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"

namespace perfleet {

struct Domain {
    enum class Type : std::uint8_t {
        kStore,      // the format's version
        kShard,      // a shard's sessions outside of partitions, and its dropped partitions
        kPartition,  // everything of one partition
        kImage,      // the content of one image, which the key names
    };

    Type type{};
    Partition partition{};  // kShard: only its shard counts

    friend bool operator==(const Domain&, const Domain&) = default;
};

[[nodiscard]] constexpr Domain domain_of(const Partition& partition) { return {Domain::Type::kPartition, partition}; }
[[nodiscard]] constexpr Domain shard_domain(std::uint16_t shard) {
    return {Domain::Type::kShard, {BucketNumber{0}, 0, shard}};
}
[[nodiscard]] constexpr Domain shard_domain(TargetId target, ShardCount shards) {
    return shard_domain(shard_of(target, shards));
}

// The domain of a key. Errors: kInvalid, naming the key.
[[nodiscard]] Result<Domain> domain_of_key(std::string_view key, ShardCount shards);

}  // namespace perfleet
