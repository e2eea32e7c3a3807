#include "storage/store/testing/memory_store.h"

#include "storage/engine/testing/memory_engine.h"
#include "storage/store/keyed_store.h"

namespace perfleet {

std::unique_ptr<Store> make_memory_store(const StoreOptions& options) {
    return make_keyed_store(std::make_unique<MemoryEngine>(), options);
}

}  // namespace perfleet
