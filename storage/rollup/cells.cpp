#include "storage/rollup/cells.h"

#include <limits>

namespace perfleet {
namespace {

std::int64_t floor_division(std::int64_t value, std::int64_t by) {
    const std::int64_t quotient = value / by;
    return value % by < 0 ? quotient - 1 : quotient;
}

// The first tick of the cell; the greatest of all where it would begin behind the last moment there is.
Ticks begin_of(const ClockMap& clock, std::int64_t number, std::int64_t duration_ns) {
    if (number > std::numeric_limits<std::int64_t>::max() / duration_ns) {
        return Ticks{~0ULL};
    }
    if (number < std::numeric_limits<std::int64_t>::min() / duration_ns) {
        return Ticks{0};
    }
    return clock.ticks_of(UtcNs{number * duration_ns});
}

}  // namespace

std::int64_t duration_s(RollupLevel level) {
    switch (level) {
        case RollupLevel::kMinute: return 60;
        case RollupLevel::kHour: return 3'600;
        case RollupLevel::kDay: return 86'400;
    }
    return 0;
}

RollupCells::RollupCells(RollupLevel level, const ClockMap& clock)
    : duration_ns_{duration_s(level) * kNsPerSecond}, clock_{&clock} {}

std::uint32_t RollupCells::numbered(std::int64_t number) {
    const auto [entry, is_new] = indices_.try_emplace(number, static_cast<std::uint32_t>(cells_.size()));
    if (is_new) {
        cells_.push_back(
            {number, begin_of(*clock_, number, duration_ns_), begin_of(*clock_, number + 1, duration_ns_)});
    }
    return entry->second;
}

std::uint32_t RollupCells::at(Ticks ticks) {
    return numbered(floor_division(clock_->utc_of(ticks).value, duration_ns_));
}

std::uint32_t RollupCells::holding(const CellBounds& cell, const RollupCells& finer) {
    return numbered(floor_division(cell.number, duration_ns_ / finer.duration_ns_));
}

std::vector<std::uint32_t> RollupCells::in_order() const {
    std::vector<std::uint32_t> order;
    for (const auto& [number, index] : indices_) {
        order.push_back(index);
    }
    return order;
}

void RollupCells::clear() {
    cells_.clear();
    indices_.clear();
}

}  // namespace perfleet
