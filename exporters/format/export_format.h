// The export formats, for the command line and the query process alike; a new format is a folder and a line in
// export_format.cpp.
#pragma once

#include <span>
#include <string_view>

#include "query-engine/service/export_format.h"

namespace perfleet {

[[nodiscard]] std::span<const ExportFormat> export_formats();

// nullptr if no format has this name.
[[nodiscard]] const ExportFormat* find_export_format(std::string_view name);

}  // namespace perfleet
