// RADOS as an engine: ordered bytes in the objects of a pool, replicated by its cluster. Layout, and why: README.md of
// this folder. A build without librados has it, too, and answers kUnsupported.
//
// Threads: as Engine says.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/engine/rados/place.h"
#include "storage/engine/request_box.h"

namespace perfleet {

// Begins a store where there is none, of that many shards. Takes all shards: from then on whoever had one before writes
// nothing more there, also when it is only slow. `is_shared`: none before ShardLeases::join(), and then its part of
// them; reads see the shards that are held, and writes to others are errors. Errors: kBusy (somebody who lives has
// shards), kNotFound (no such pool), kPermission, kUnavailable (no answer from the cluster), kUnsupported, kIo. All
// writes go under the lease of their shard; a guard of 0 means that one. `is_stopping` (or null), once it is set:
// nothing waits for the cluster longer than RadosPool::kStopWithin.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rados_writer_engine(const RadosPlace& place, bool is_shared = false,
                                                                       std::optional<ShardCount> shards = std::nullopt,
                                                                       const std::atomic<bool>* is_stopping = nullptr);

// Reads beside a writer, or without one. Its writes are errors.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rados_reader_engine(const RadosPlace& place);

[[nodiscard]] Result<std::unique_ptr<RequestBox>> open_rados_request_box(const RadosPlace& place);

}  // namespace perfleet
