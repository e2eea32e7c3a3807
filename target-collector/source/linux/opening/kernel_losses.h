// Counts records that the kernel lost: reported by LOST records in the rings, and counted by the events themselves if
// the kernel can (PERF_FORMAT_LOST). Counts go into the ledger; LOST records become task rows, which show the time.
//
// One thread. Counts are of records.
#pragma once

#include <cstdint>
#include <vector>

#include "target-collector/message/row_sink.h"
#include "target-collector/records/record_reader.h"
#include "target-collector/source/linux/opening/event_set.h"

namespace perfleet {

class KernelLosses {
public:
    // Borrowed.
    explicit KernelLosses(const EventSet& events);

    // Processes a LOST record of this ring.
    void take(const LostRecord& lost, const RecordTrailer& trailer, std::size_t ring_index, RowSink& sink);

    // Counts losses since the last readings.
    void count(const std::vector<EventSet::Reading>& readings, RowSink& sink);

    // At the end: writes rows for losses that no LOST record has reported.
    void append_unreported(const std::vector<EventSet::Reading>& readings, Ticks time, RowSink& sink) const;

    // Whether mappings or names may have been lost, until forget_side_band(), which is called once they were read
    // again.
    [[nodiscard]] bool lost_side_band() const { return lost_side_band_; }
    void forget_side_band() { lost_side_band_ = false; }

private:
    const EventSet& events_;
    std::vector<std::uint64_t> counted_;   // by reading
    std::vector<std::uint64_t> reported_;  // by ring, from LOST records
    bool lost_side_band_ = false;
};

}  // namespace perfleet
