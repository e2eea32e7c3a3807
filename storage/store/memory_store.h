// A store that keeps everything in memory and goes with its process: what one command looks at, and tests.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// A put beyond `size_bytes_max` is an error: kTooLarge.
[[nodiscard]] std::unique_ptr<Store> make_memory_store(
    const StoreOptions& options = {}, std::uint64_t size_bytes_max = std::numeric_limits<std::uint64_t>::max());

}  // namespace perfleet
