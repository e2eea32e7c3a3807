// Receives a source's rows. The collectors' sinks pass them to a Sealer (message/sealer.h), which has the same
// contract; tests store them.
//
// Freestanding. One thread: the source's.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/row_view.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

class RowSink : NonCopyable {
public:
    // Takes over a row and counts it as produced.
    virtual void append(const RowView& row) = 0;

    // Counts rows that were lost before they became rows: as produced and as lost.
    virtual void count_lost(Series series, CountName reason, std::uint64_t row_count) = 0;

    // Adds to a count that isn't a number of the series' rows.
    virtual void count(Series series, CountName name, std::uint64_t value) = 0;

    // True when the epoch must end: the source then calls begin_epoch() and defines everything again.
    [[nodiscard]] virtual bool epoch_is_over() const = 0;
    virtual void begin_epoch(Ticks now) = 0;

protected:
    // A protected destructor, because sinks aren't deleted through this class: a virtual one would need operator
    // delete, and there is no heap.
    ~RowSink() = default;
};

}  // namespace perfleet
