// Options for opening a store to write.
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
    std::size_t memory_size_bytes = limits::kStoreMemorySizeBytes;  // for recent writes and for reads
    std::uint32_t compact_batches =
        limits::kCompactedBatchesMax;  // of a session, that gather in an open bucket before they are compacted
    // Disk space reserved so that drop() can write its marks on a full disk; 0: none. While the disk doesn't have this
    // space, nothing is stored: kFull.
    std::uint64_t reserve_size_bytes = 0;
    // Of a new store; none: limits::kShardsDefault. An existing store must have this number.
    std::optional<ShardCount> shards = std::nullopt;
    // Shards are shared with other gateways, if the engine can (Store::leases()); else this process has all of them.
    bool is_shared = false;
    // Once set, no call waits long for a cluster that doesn't answer, because the process is to end. May be null.
    const std::atomic<bool>* is_stopping = nullptr;
    std::optional<SummaryPolicy> summaries = std::nullopt;        // none: compact() makes no summaries
    std::optional<DictionaryPolicy> dictionaries = std::nullopt;  // none: no dictionaries
};

}  // namespace perfleet
