// What a collector can be asked for.
#pragma once

#include <cstddef>
#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/collector.h"
#include "target-collector/spool/spool_folder.h"

namespace perfleet {

// Bounds that the command line checks, too, so that an error of a config file names its line.
inline constexpr std::size_t kSpoolSizeBytesMin = kSpoolFolderSizeBytesMin;
inline constexpr std::size_t kMemorySizeBytesMax = std::size_t{1} << 36U;
inline constexpr double kSpoolSyncSMin = 0.01;
inline constexpr double kSpoolSyncSMax = 3'600;

// Errors: kUsage, with the option's name and what it may be.
[[nodiscard]] Result<Done> check_options(const CollectorOptions& options);

// What a size of memory or of a file may be, in words.
[[nodiscard]] std::string size_bounds_text(std::size_t size_bytes_min);

// Room for batches that aren't acknowledged yet: as asked for, else that of memory or of a folder.
[[nodiscard]] std::size_t spool_size_bytes_of(const CollectorOptions& options);

}  // namespace perfleet
