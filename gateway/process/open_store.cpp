#include "gateway/process/open_store.h"

#include "storage/store/open_store.h"

namespace perfleet {

Result<std::unique_ptr<Store>> open_gateway_store(const std::string& directory, const StoreOptions& options) {
    return open_store(directory, options);
}

}  // namespace perfleet
