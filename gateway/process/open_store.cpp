#include "gateway/process/open_store.h"

namespace perfleet {

Result<std::unique_ptr<Store>> open_gateway_store(const std::string& directory, std::size_t memory_size_bytes) {
    return open_rocksdb_store(directory, memory_size_bytes);
}

}  // namespace perfleet
