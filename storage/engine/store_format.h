// Whether what an engine holds is a store of this build's format, and of how many shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/model/keys.h"

namespace perfleet {

// Version of everything together: keys, records and blocks. A store of another one is refused.
inline constexpr std::uint64_t kStoreFormatVersion = 1;

// Whether the engine holds a store of this build's format; one whose version is lost with a file counts as such.
// `where` names the store in errors. kNotFound when the engine holds no store at all; kUnsupported.
[[nodiscard]] Result<Done> check_format(const Engine& engine, const std::string& where);

// What an empty engine is given to be a store of this build's format, and what it says of itself.
struct StoreFormat {
    std::string version;  // under format_key()
    std::string shards;   // under shards_key()
};
[[nodiscard]] StoreFormat encode_format(ShardCount shards);
[[nodiscard]] Result<ShardCount> decode_shards_untrusted(std::string_view bytes);

// How many shards the store has. Where that is lost, `if_unknown`, or a number that agrees with the partitions that
// sessions are known to be in: it places their targets as before. Errors: kCorrupt, those of the engine.
[[nodiscard]] Result<ShardCount> shards_of(const Engine& engine, std::optional<ShardCount> if_unknown = std::nullopt);

}  // namespace perfleet
