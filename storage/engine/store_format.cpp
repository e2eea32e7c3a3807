#include "storage/engine/store_format.h"

#include <algorithm>
#include <numeric>

#include "storage/engine/damaged_reads.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"

namespace perfleet {
namespace {

Result<std::optional<std::uint64_t>> decode_version(const Result<std::optional<std::string>>& bytes) {
    if (!bytes.ok()) {
        return bytes.error();
    }
    if (!bytes->has_value()) {
        return std::optional<std::uint64_t>{};
    }
    auto version = decode_number_untrusted(**bytes);
    if (!version.ok()) {
        return at_key(format_key(), version.error());
    }
    return std::optional{*version};
}

// The default if it agrees with all targets, else the smallest number that does.
Result<ShardCount> infer_shards(const Engine& engine) {
    std::uint64_t common_divisor = 0;  // of all differences between a target id and its shard
    std::uint16_t shard_max = 0;
    PERFLEET_TRY(visit_readable(engine, all_session_partitions_range(), [&](std::string_view key, std::string_view) {
        if (const auto listed = decode_session_partition_key(key); listed.ok()) {
            const std::uint16_t shard = listed->partition.shard;
            shard_max = std::max(shard_max, shard);
            common_divisor = std::gcd(common_divisor, listed->name.target.value - shard);
        }
        return Visit::kContinue;
    }));
    const auto agrees = [&](std::uint16_t count) { return count > shard_max && common_divisor % count == 0; };
    ShardCount shards;
    if (agrees(shards.value)) {
        return shards;
    }
    for (shards.value = 1; shards.value <= limits::kShardsMax; ++shards.value) {
        if (agrees(shards.value)) {
            return shards;
        }
    }
    return at_key(shards_key(),
                  Error{ErrorCode::kCorrupt, "is lost, and no number of shards agrees with all sessions"});
}

}  // namespace

StoreFormat encode_format(ShardCount shards) {
    return {encode_record(kStoreFormatVersion), encode_record(std::uint64_t{shards.value})};
}

Result<ShardCount> decode_shards_untrusted(std::string_view bytes) {
    const std::uint64_t number = PERFLEET_TRY(decode_number_untrusted(bytes));
    if (number == 0 || number > limits::kShardsMax) {
        return Error{ErrorCode::kCorrupt,
                     std::to_string(number) + " shards; a store has from 1 to " + std::to_string(limits::kShardsMax)};
    }
    return ShardCount{static_cast<std::uint16_t>(number)};
}

Result<ShardCount> shards_of(const Engine& engine, std::optional<ShardCount> if_unknown) {
    const auto bytes = PERFLEET_TRY(get_readable(engine, shards_key()));
    if (!bytes.has_value()) {
        return if_unknown ? Result<ShardCount>{*if_unknown} : infer_shards(engine);
    }
    auto shards = decode_shards_untrusted(*bytes);
    return shards.ok() ? std::move(shards) : at_key(shards_key(), shards.error());
}

Result<Done> check_format(const Engine& engine, const std::string& where) {
    bool is_damaged = false;
    const auto bytes = get_readable(engine, format_key(), [&](const DamagedRange&) { is_damaged = true; });
    auto version = decode_version(bytes);
    // The version is the first key of a lost file, or in a log with losses. Records and blocks of another version are
    // recognised by themselves.
    if (version.ok() && !version->has_value() &&
        (is_damaged || begins_lost_file(engine, format_key()) || !engine.damage()->at_open.empty())) {
        return Done{};
    }
    if (!version.ok()) {
        const std::string& said = version.error().message;
        return Error{version.error().code, (said.starts_with(where) ? said : where + ": " + said) +
                                               "; without it nothing of the store can be read: put the file back, or "
                                               "restore the store from a backup (perfleet restore --help)"};
    }
    if (!version->has_value()) {
        return Error{ErrorCode::kNotFound, where + " holds no perfleet store"};
    }
    if (**version != kStoreFormatVersion) {
        return Error{ErrorCode::kUnsupported, where + " has store format " + std::to_string(**version) +
                                                  ", this build reads format " + std::to_string(kStoreFormatVersion) +
                                                  " only; use the perfleet that wrote it"};
    }
    return Done{};
}

}  // namespace perfleet
