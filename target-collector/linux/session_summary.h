// The counts of a session's rows at its end.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/vocabulary/series.h"
#include "target-collector/linux/collector.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {

// Fills the fields about rows from the sealer's counts and the wire's last report in `losses`, which is emptied.
// `rows_given_up`: rows in the spool when the wire stopped waiting for acknowledgements.
[[nodiscard]] CollectorSummary rows_of_session(std::span<const CountEntry> counts, SpscRing& losses,
                                               std::uint64_t rows_given_up);

}  // namespace perfleet
