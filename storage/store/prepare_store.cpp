// Prepares an engine as a store: writes the format if it is empty, and erases what interrupted drops left.
#include "storage/engine/damaged_reads.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/keyed_store.h"
#include "storage/store/partition_drop.h"

namespace perfleet {
namespace {

// The version is the first key that is written, so a non-empty database without it is foreign.
Result<Done> start_store(Engine& engine, const std::string& where, ShardCount shards, Guard guard) {
    bool is_empty = true;
    PERFLEET_TRY(engine.visit(everything(), [&](std::string_view, std::string_view) {
        is_empty = false;
        return Visit::kStop;
    }));
    if (!is_empty) {
        return Error{ErrorCode::kInvalid,
                     where + ": holds a database that is not a perfleet store; give another folder (--data)"};
    }
    const StoreFormat format = encode_format(shards);
    Changes changes;
    changes.puts.push_back({format_key(), format.version});
    changes.puts.push_back({shards_key(), format.shards});
    PERFLEET_TRY(engine.write(Domain{Domain::Type::kStore}, guard, changes));
    return engine.sync();
}

// If damage hides the version or the number of shards, this build's version and the inferred number are written.
Result<Done> write_lost_format(Engine& engine, ShardCount shards, Guard guard) {
    const StoreFormat format = encode_format(shards);
    Changes changes;
    const auto put_lost = [&](const std::string& key, std::string_view value) -> Result<Done> {
        bool is_damaged = false;
        const auto found = PERFLEET_TRY(get_readable(engine, key, [&](const DamagedRange&) { is_damaged = true; }));
        if (!found.has_value() || is_damaged) {
            changes.puts.push_back({key, value});
        }
        return Done{};
    };
    PERFLEET_TRY(put_lost(format_key(), format.version));
    PERFLEET_TRY(put_lost(shards_key(), format.shards));
    if (changes.empty()) {
        return Done{};
    }
    auto written = engine.write(Domain{Domain::Type::kStore}, guard, changes);
    return written.ok() ? engine.sync() : std::move(written);
}

}  // namespace

Result<Done> finish_drops(Engine& engine) {
    const KeyedReads reads{engine};
    auto leftovers = PERFLEET_TRY(reads.dropped_leftovers());
    for (const KeyRange& range : ranges_of(leftovers)) {
        PERFLEET_TRY(engine.erase(range, nullptr));
    }
    return Done{};
}

Result<Done> prepare_keyed_store(Engine& engine, const std::string& where, std::optional<ShardCount> shards,
                                 Guard guard) {
    auto checked = check_format(engine, where);
    if (!checked.ok() && checked.error().code == ErrorCode::kNotFound) {
        checked = start_store(engine, where, shards.value_or(ShardCount{}), guard);
    }
    PERFLEET_TRY(std::move(checked));
    const auto stored = PERFLEET_TRY(shards_of(engine));
    if (shards && *shards != stored) {
        return Error{ErrorCode::kUsage, where + ": has " + std::to_string(stored.value) +
                                            " shards, which were chosen when it was created; leave --shards out, or "
                                            "copy it into a new store of " +
                                            std::to_string(shards->value) + " (perfleet copy --shards)"};
    }
    PERFLEET_TRY(write_lost_format(engine, stored, guard));
    return finish_drops(engine);
}

bool has_same_meaning(const SessionRecord& a, const SessionRecord& b) {
    return a.events == b.events && a.clock_name == b.clock_name && a.ticks_per_second == b.ticks_per_second &&
           a.linux_clockid == b.linux_clockid;
}

Result<std::unique_ptr<Store>> open_keyed_store(std::unique_ptr<Engine> engine, const std::string& where,
                                                const StoreOptions& options, Guard guard) {
    PERFLEET_TRY(prepare_keyed_store(*engine, where, options.shards, guard));
    return make_keyed_store(std::move(engine), options, guard);
}

}  // namespace perfleet
