// Opens the store of the gateway program. The gateway's test build defines it on a disk that fails on demand
// (storage/engine/testing/faulty_disk.h).
#pragma once

#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// Errors: as open_store.
[[nodiscard]] Result<std::unique_ptr<Store>> open_gateway_store(const std::string& directory,
                                                                const StoreOptions& options);

}  // namespace perfleet
