#include "storage/store/memory_store.h"

#include "storage/engine/memory_engine.h"
#include "storage/store/keyed_store.h"

namespace perfleet {

std::unique_ptr<Store> make_memory_store(const StoreOptions& options, std::uint64_t size_bytes_max) {
    return make_keyed_store(std::make_unique<MemoryEngine>(size_bytes_max), options);
}

}  // namespace perfleet
