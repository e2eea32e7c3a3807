// RADOS as an engine: ordered bytes in the objects of a pool, replicated by the cluster. Layout and reasons: README.md
// of this folder. A build without librados has these functions, too; they return kUnsupported.
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

// Creates a store of `shards` shards if there is none. Takes all shards: an earlier holder can't write to them any
// more, even if it is only slow. `is_shared`: holds no shards until ShardLeases::join(), then its part of them; reads
// see the held shards, and writes to others fail. Errors: kBusy (a live process has shards), kNotFound (no such pool),
// kPermission, kUnavailable (no answer from the cluster), kUnsupported, kIo. Every write uses the lease of its shard;
// so does a guard of 0. Once `is_stopping` (or null) is set, no call waits for the cluster longer than
// RadosPool::kStopWithin.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rados_writer_engine(const RadosPlace& place, bool is_shared = false,
                                                                       std::optional<ShardCount> shards = std::nullopt,
                                                                       const std::atomic<bool>* is_stopping = nullptr);

// Reads beside a writer, or without one. Writes fail.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rados_reader_engine(const RadosPlace& place);

[[nodiscard]] Result<std::unique_ptr<RequestBox>> open_rados_request_box(const RadosPlace& place);

}  // namespace perfleet
