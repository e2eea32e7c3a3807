// What belongs to no shard: the store's version and images, each an object of its own. Whoever writes the store may add
// to it, for no key there is ever given another value; so no lease guards it.
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

// The format of a new store, unless somebody else is quicker: then what that one chose.
[[nodiscard]] Result<Done> begin_common(RadosPool& pool, ShardCount shards);

// Stays as it is where it is there already. Where its value is now.
[[nodiscard]] Result<IndexValue> put_common(RadosPool& pool, std::string_view key, std::string_view value);

// Of an image that may have been put since read_common().
[[nodiscard]] Result<std::optional<IndexValue>> find_image(RadosPool& pool, std::string_view key);

[[nodiscard]] Result<Done> remove_common(RadosPool& pool, std::string_view key);

}  // namespace perfleet
