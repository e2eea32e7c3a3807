// A store in memory that ends with its process: for the data of a single command, and for tests.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "storage/store/options.h"
#include "storage/store/store.h"

namespace perfleet {

// A put beyond `size_bytes_max` fails: kTooLarge.
[[nodiscard]] std::unique_ptr<Store> make_memory_store(
    const StoreOptions& options = {}, std::uint64_t size_bytes_max = std::numeric_limits<std::uint64_t>::max());

}  // namespace perfleet
