// Validates a collector's options.
#pragma once

#include <cstddef>
#include <string>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/collector.h"
#include "target-collector/spool/spool_folder.h"

namespace perfleet {

// Limits that the command line also checks, so that an error names the line of a config file.
inline constexpr std::size_t kSpoolSizeBytesMin = kSpoolFolderSizeBytesMin;
inline constexpr std::size_t kMemorySizeBytesMax = std::size_t{1} << 36U;
inline constexpr double kSpoolSyncSMin = 0.01;
inline constexpr double kSpoolSyncSMax = 3'600;

// Errors: kUsage, with the option's name and its allowed values.
[[nodiscard]] Result<Done> check_options(const CollectorOptions& options);

// The allowed range of a size of memory or file, as text.
[[nodiscard]] std::string size_bounds_text(std::size_t size_bytes_min);

// Size of the spool: as given, else the default for memory or a folder.
[[nodiscard]] std::size_t spool_size_bytes_of(const CollectorOptions& options);

}  // namespace perfleet
