// Files of recorded programs, by the search paths of symbols (query-engine/symbol/symbol_files.h).
#pragma once

#include "query-engine/symbol/symbolizer.h"
#include "target-collector/intake/recording/recording_import.h"

namespace perfleet {

[[nodiscard]] ProgramFiles program_files(const SymbolPaths& paths);

}  // namespace perfleet
