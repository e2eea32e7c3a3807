// The stores that stand on RocksDB.
#include "storage/store/engine.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/keyed_store.h"
#include "storage/store/rocksdb_engine.h"
#include "storage/store/rocksdb_options.h"
#include "storage/store/store.h"

namespace perfleet {

// Going on writes what the logs hold into table files before they are deleted; erasing rewrites a table file that other
// hours share.
std::uint64_t disk_reserve_size_bytes(std::size_t memory_size_bytes) {
    return log_size_bytes_max(memory_size_bytes) + kTableFileSizeBytes + kRecoverRoomSizeBytes;
}

Result<std::unique_ptr<Store>> open_rocksdb_store(const std::string& directory, const StoreOptions& options) {
    auto engine = open_rocksdb_writer_engine(directory, nullptr, options.memory_size_bytes, options.reserve_size_bytes);
    if (!engine.ok()) {
        return engine.error();
    }
    return open_keyed_store(std::move(*engine), directory, options);
}

Result<std::unique_ptr<StoreReader>> open_rocksdb_reader(const std::string& directory) {
    auto engine = open_rocksdb_reader_engine(directory);
    if (!engine.ok()) {
        return engine.error();
    }
    if (auto checked = check_format(**engine, directory); !checked.ok()) {
        return checked.error();
    }
    return make_keyed_reader(std::move(*engine));
}

}  // namespace perfleet
