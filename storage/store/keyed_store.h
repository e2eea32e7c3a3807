// A store over any engine: what define, put and drop mean, the same for all.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/engine/engine.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// Begins a store in an engine that is empty, finishes drops that were interrupted. `where` names it in errors; `shards`
// as in StoreOptions. Errors: kUsage (the store has another number of shards), kInvalid (other content than a store's),
// kUnsupported (a newer format), those of the engine.
[[nodiscard]] Result<Done> prepare_keyed_store(Engine& engine, const std::string& where,
                                               std::optional<ShardCount> shards = std::nullopt, Guard guard = 0);

// What gives meaning to stored rows, and must never change: the session's clock and events.
[[nodiscard]] bool has_same_meaning(const SessionRecord& a, const SessionRecord& b);

// The store of an engine that may be empty: prepared. All its writes go under the guard. Errors: likewise.
[[nodiscard]] Result<std::unique_ptr<Store>> open_keyed_store(std::unique_ptr<Engine> engine, const std::string& where,
                                                              const StoreOptions& options = {}, Guard guard = 0);

// Erases what an interrupted drop left of its partition; before make_keyed_store.
[[nodiscard]] Result<Done> finish_drops(Engine& engine);

// The engine holds a store of this format, or nothing yet (see check_format).
[[nodiscard]] std::unique_ptr<Store> make_keyed_store(std::unique_ptr<Engine> engine, const StoreOptions& options = {},
                                                      Guard guard = 0);
[[nodiscard]] std::unique_ptr<StoreReader> make_keyed_reader(std::unique_ptr<Engine> engine);

}  // namespace perfleet
