// Data that belong to no shard: the store's version and images, each in an object of its own. Every writer of the store
// may add to them without a lease, because no key there ever gets another value.
//
// Threads: any. Errors: those of the pool.
#pragma once

#include <optional>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "storage/engine/rados/domain_index.h"
#include "storage/engine/rados/pool.h"
#include "storage/key/domain.h"

namespace perfleet {

[[nodiscard]] constexpr bool is_common(const Domain& domain) {
    return domain.type == Domain::Type::kStore || domain.type == Domain::Type::kImage;
}

[[nodiscard]] Result<DomainIndex> read_common(RadosPool& pool);

// Creates the format of a new store. If another process was faster, its choice stays.
[[nodiscard]] Result<Done> begin_common(RadosPool& pool, ShardCount shards);

// Puts a value unless the key exists. Returns where the value is.
[[nodiscard]] Result<IndexValue> put_common(RadosPool& pool, std::string_view key, std::string_view value);

// Finds an image that may have been put since read_common().
[[nodiscard]] Result<std::optional<IndexValue>> find_image(RadosPool& pool, std::string_view key);

[[nodiscard]] Result<Done> remove_common(RadosPool& pool, std::string_view key);

}  // namespace perfleet
