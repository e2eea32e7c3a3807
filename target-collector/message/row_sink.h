// Where a source puts its rows. The collectors' sinks hand them to a Sealer (message/sealer.h), whose contract this
// repeats; tests keep them.
//
// Freestanding. One thread: the source's.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/row_view.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

class RowSink {
public:
    RowSink() = default;
    RowSink(const RowSink&) = delete;
    RowSink& operator=(const RowSink&) = delete;
    // Takes a row over, and counts it as produced.
    virtual void append(const RowView& row) = 0;

    // Rows that were lost before they became rows: lost and therefore produced.
    virtual void count_lost(Series series, CountName reason, std::uint64_t row_count) = 0;

    // What is counted and is no row of the series.
    virtual void count(Series series, CountName name, std::uint64_t value) = 0;

    // True when the running epoch can't go on: the source calls begin_epoch() and defines everything anew.
    [[nodiscard]] virtual bool epoch_is_over() const = 0;
    virtual void begin_epoch(Ticks now) = 0;

protected:
    // Nobody owns a sink through this class: a virtual one would want operator delete, and there is no heap.
    ~RowSink() = default;
};

}  // namespace perfleet
