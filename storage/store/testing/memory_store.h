// A store that keeps everything in memory, for tests that need no disk.
#pragma once

#include <memory>

#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

[[nodiscard]] std::unique_ptr<Store> make_memory_store(const StoreOptions& options = {});

}  // namespace perfleet
