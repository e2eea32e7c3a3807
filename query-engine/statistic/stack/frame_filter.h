// Filters samples by their innermost frame: --image and --symbol.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// Sets the scan's frame filter from the names in its selection. Names match as `top` shows them; images also by path.
// Does nothing without such names.
void filter_frames(Scan& scan, const SymbolPaths& paths);

}  // namespace perfleet
