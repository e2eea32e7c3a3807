// Opens the engine of a store by its location: a folder (RocksDB), or rados:[USER@]POOL[/NAMESPACE].
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/limits/store_limits.h"

namespace perfleet {

struct EngineOptions {
    std::size_t memory_size_bytes = limits::kStoreMemorySizeBytes;
    std::uint64_t reserve_size_bytes = 0;
    bool is_shared = false;                          // with other gateways, if the engine can share
    std::optional<ShardCount> shards;                // of a store that is created here, if the engine needs it
    const std::atomic<bool>* is_stopping = nullptr;  // as in StoreOptions
};

// Errors: as open_rocksdb_writer_engine and open_rados_writer_engine.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_writer_engine(const std::string& where,
                                                                 const EngineOptions& options = {});
[[nodiscard]] Result<std::unique_ptr<Engine>> open_reader_engine(const std::string& where);

// Whether the location is a folder.
[[nodiscard]] bool is_folder(const std::string& where);

}  // namespace perfleet
