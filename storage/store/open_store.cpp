#include "storage/store/open_store.h"

#include "storage/engine/memory_engine.h"
#include "storage/engine/rocksdb_engine.h"
#include "storage/engine/store_format.h"
#include "storage/store/keyed_store.h"

namespace perfleet {

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

std::unique_ptr<Store> make_memory_store(const StoreOptions& options) {
    return make_keyed_store(std::make_unique<MemoryEngine>(), options);
}

}  // namespace perfleet
