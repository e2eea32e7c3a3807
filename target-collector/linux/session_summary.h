// What became of the rows of a session, when it is over.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/vocabulary/series.h"
#include "target-collector/linux/collector.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {

// The fields of rows, of the sealer's counts and of the wire's last report in `losses`, which is emptied.
// `rows_given_up`: those that were in the spool when the wire stopped waiting for their acknowledgement.
[[nodiscard]] CollectorSummary rows_of_session(std::span<const CountEntry> counts, SpscRing& losses,
                                               std::uint64_t rows_given_up);

}  // namespace perfleet
