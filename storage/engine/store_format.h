// Checks whether an engine holds a store of this build's format, and of how many shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/model/keys.h"

namespace perfleet {

// Version of keys, records and blocks together. Stores of another version are refused.
inline constexpr std::uint64_t kStoreFormatVersion = 1;

// Checks that the engine holds a store of this build's format; a store whose version was lost with a file counts as
// such. `where` names the store in errors. Errors: kNotFound (no store), kUnsupported.
[[nodiscard]] Result<Done> check_format(const Engine& engine, const std::string& where);

// The values that make an empty engine a store of this build's format.
struct StoreFormat {
    std::string version;  // under format_key()
    std::string shards;   // under shards_key()
};
[[nodiscard]] StoreFormat encode_format(ShardCount shards);
[[nodiscard]] Result<ShardCount> decode_shards_untrusted(std::string_view bytes);

// The store's number of shards. If it was lost: `if_unknown`, or a number that fits the partitions of known sessions:
// it places their targets as before. Errors: kCorrupt, those of the engine.
[[nodiscard]] Result<ShardCount> shards_of(const Engine& engine, std::optional<ShardCount> if_unknown = std::nullopt);

}  // namespace perfleet
