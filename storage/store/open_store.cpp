#include "storage/store/open_store.h"

#include "storage/engine/store_format.h"
#include "storage/store/keyed_store.h"
#include "storage/store/open_engine.h"

namespace perfleet {

Result<std::unique_ptr<Store>> open_store(const std::string& where, const StoreOptions& options) {
    auto engine = PERFLEET_TRY(open_writer_engine(where, {options.memory_size_bytes, options.reserve_size_bytes,
                                                          options.is_shared, options.shards, options.is_stopping}));
    return open_keyed_store(std::move(engine), where, options);
}

Result<std::unique_ptr<StoreReader>> open_store_reader(const std::string& where) {
    auto engine = PERFLEET_TRY(open_reader_engine(where));
    PERFLEET_TRY(check_format(*engine, where));
    PERFLEET_TRY(shards_of(*engine));
    return make_keyed_reader(std::move(engine));
}

}  // namespace perfleet
