#include "gateway/process/open_store.h"
#include "storage/engine/testing/faulty_disk.h"

namespace perfleet {

Result<std::unique_ptr<Store>> open_gateway_store(const std::string& directory, const StoreOptions& options) {
    return open_store_on_faulty_disk(directory, options);
}

}  // namespace perfleet
