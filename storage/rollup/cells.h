// The cells of time that rollups sum rows by: minutes, hours, as a session's clock cuts them.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "schemas/vocabulary/time.h"
#include "storage/clock/clock_map.h"
#include "storage/model/keys.h"

namespace perfleet {

[[nodiscard]] std::int64_t duration_s(RollupLevel level);

// Ticks [from, until), which the session's clock points say to be UTC [number, number + 1) × the level's duration.
struct CellBounds {
    std::int64_t number = 0;
    Ticks from;
    Ticks until;

    friend bool operator==(const CellBounds&, const CellBounds&) = default;
};

class RollupCells {
public:
    // Borrows the clock.
    RollupCells(RollupLevel level, const ClockMap& clock);

    // Indices, in the order in which cells were first asked for. No time is the greatest tick.
    [[nodiscard]] std::uint32_t at(Ticks ticks);
    [[nodiscard]] std::uint32_t holding(const CellBounds& cell, const RollupCells& finer);

    [[nodiscard]] const CellBounds& operator[](std::size_t index) const { return cells_[index]; }
    [[nodiscard]] std::size_t size() const { return cells_.size(); }
    // Of all cells, by their numbers.
    [[nodiscard]] std::vector<std::uint32_t> in_order() const;
    void clear();

private:
    [[nodiscard]] std::uint32_t numbered(std::int64_t number);

    std::int64_t duration_ns_;
    const ClockMap* clock_;
    std::vector<CellBounds> cells_;
    std::map<std::int64_t, std::uint32_t> indices_;  // by number
};

}  // namespace perfleet
