// Records that the kernel lost: told by LOST records in the rings, and counted by the events themselves where the
// kernel can (PERF_FORMAT_LOST). The counts go into the ledger, the records become task rows, so that it can be seen
// when it was.
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

    // A LOST record stood in this ring.
    void take(const LostRecord& lost, const RecordTrailer& trailer, std::size_t ring_index, RowSink& sink);

    // Counts what was lost since the last readings.
    void count(const std::vector<EventSet::Reading>& readings, RowSink& sink);

    // At the end: rows for losses behind which no record came that could have told of them.
    void append_unreported(const std::vector<EventSet::Reading>& readings, Ticks time, RowSink& sink) const;

    // Whether mappings or names may be among what was lost, until it is forgotten: then they were read again.
    [[nodiscard]] bool lost_side_band() const { return lost_side_band_; }
    void forget_side_band() { lost_side_band_ = false; }

private:
    const EventSet& events_;
    std::vector<std::uint64_t> counted_;   // by reading
    std::vector<std::uint64_t> reported_;  // by ring, in LOST records
    bool lost_side_band_ = false;
};

}  // namespace perfleet
