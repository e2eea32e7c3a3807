// What a collector can be asked for.
#pragma once

#include <cstddef>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/collector.h"

namespace perfleet {

// Errors: kUsage, with the option's name and what it may be.
[[nodiscard]] Result<Done> check_options(const CollectorOptions& options);

// Room for batches that aren't acknowledged yet: as asked for, else that of memory or of a folder.
[[nodiscard]] std::size_t spool_size_bytes_of(const CollectorOptions& options);

}  // namespace perfleet
