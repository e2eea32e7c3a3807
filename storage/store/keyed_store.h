// A store over any engine: defines what define, put and drop do, the same for all.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/engine/engine.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// Begins a store in an empty engine, and finishes interrupted drops. `where` names it in errors; `shards` as in
// StoreOptions. Errors: kUsage (the store has another number of shards), kInvalid (contents that aren't a store's),
// kUnsupported (a newer format), those of the engine.
[[nodiscard]] Result<Done> prepare_keyed_store(Engine& engine, const std::string& where,
                                               std::optional<ShardCount> shards = std::nullopt, Guard guard = 0);

// Compares the parts of a session that give meaning to stored rows and must never change: its clock and events.
[[nodiscard]] bool has_same_meaning(const SessionRecord& a, const SessionRecord& b);

// Prepares the engine, which may be empty, and opens its store. All writes use the guard. Errors: as
// prepare_keyed_store.
[[nodiscard]] Result<std::unique_ptr<Store>> open_keyed_store(std::unique_ptr<Engine> engine, const std::string& where,
                                                              const StoreOptions& options = {}, Guard guard = 0);

// Erases the rest of interrupted drops; call it before make_keyed_store.
[[nodiscard]] Result<Done> finish_drops(Engine& engine);

// The engine must hold a store of this format, or nothing yet (see check_format).
[[nodiscard]] std::unique_ptr<Store> make_keyed_store(std::unique_ptr<Engine> engine, const StoreOptions& options = {},
                                                      Guard guard = 0);
[[nodiscard]] std::unique_ptr<StoreReader> make_keyed_reader(std::unique_ptr<Engine> engine);

}  // namespace perfleet
