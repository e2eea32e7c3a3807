// The page's files that are served over HTTP (src/app), as they stand in dist/.
#pragma once

#include <span>

#include "query-engine/http/page/page.h"

namespace perfleet {

[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace perfleet
