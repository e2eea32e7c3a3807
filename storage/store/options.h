// How a store is opened for writing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "storage/compact/policy.h"
#include "storage/limits/store_limits.h"
#include "storage/model/keys.h"

namespace perfleet {

struct StoreOptions {
    std::size_t memory_size_bytes = limits::kStoreMemorySizeBytes;  // of what was put lately and of what was read
    std::uint32_t compact_batches =
        limits::kCompactedBatchesMax;  // of a session, until they are compacted in an open bucket
    // Of the disk, kept free so that drop() can write its marks when the disk is full; 0: none. While the disk doesn't
    // have that nothing is stored: kFull.
    std::uint64_t reserve_size_bytes = 0;
    // Of a store that is created here: none, limits::kShardsDefault. One that is there already must have as many.
    std::optional<ShardCount> shards = std::nullopt;
    // Shards are shared with other gateways, where the engine can (Store::leases()); else the store is this process's
    // alone.
    bool is_shared = false;
    // Once it is set, nothing waits long for a cluster that doesn't answer: the process is to end. May be null.
    const std::atomic<bool>* is_stopping = nullptr;
    std::optional<SummaryPolicy> summaries = std::nullopt;        // none: compact() makes none
    std::optional<DictionaryPolicy> dictionaries = std::nullopt;  // likewise
};

}  // namespace perfleet
