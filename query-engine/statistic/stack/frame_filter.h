// Samples by their innermost frame: --image and --symbol.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// Makes the scan hold innermost frames against the names of its selection: as `top` shows them, an image also by its
// path. Does nothing where there are none.
void filter_frames(Scan& scan, const SymbolPaths& paths);

}  // namespace perfleet
