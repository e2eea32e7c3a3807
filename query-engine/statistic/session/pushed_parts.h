// The parts of pushed profiles that a store has (TaskOp::kPushed), so that none is stored twice.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/read/reader.h"

namespace perfleet {

// By hash: the time of the part's first sample; of parts with samples since then. Errors: those of Scan::open() and of
// the store.
[[nodiscard]] Result<std::map<std::pair<std::uint64_t, std::uint64_t>, UtcNs>> pushed_parts(const StoreReader& store,
                                                                                            UtcNs since);

}  // namespace perfleet
