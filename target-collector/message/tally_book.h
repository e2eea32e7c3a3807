// The cumulative counts of a session, by (series, name). Sorted, so that equal books give equal bytes.
//
// Freestanding; at most limits::kTalliesMax entries; what doesn't fit is added to the entry of the same name of
// (kTask, kNoEvent), so that no count is ever lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/kind.h"
#include "schemas/vocabulary/limits.h"

namespace perfleet {

class TallyBook {
public:
    void add(Series series, TallyName name, std::uint64_t value);
    [[nodiscard]] std::uint64_t get(Series series, TallyName name) const;  // 0 when it never was counted
    [[nodiscard]] std::span<const Tally> entries() const { return {entries_.data(), count_}; }

private:
    [[nodiscard]] std::size_t lower_bound(Series series, TallyName name) const;

    std::array<Tally, limits::kTalliesMax> entries_{};
    std::size_t count_ = 0;
};

}  // namespace perfleet
