// The rows that a collector says it lost. Its counts are cumulative and come with every batch; what is new in them is
// added up over all sessions.
//
// Rows of definitions are left out: they are no rows to a user, as in the collector's own closing line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "gateway/counts/gateway_counts.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

class ReportedLosses {
public:
    // Adds what these entries say beyond those before to `sum`. Older ones, come late, say nothing new.
    void take(std::span<const CountEntry> entries, LossCounts& sum) {
        const LossCounts now = by_reason(entries);
        for (std::size_t i = 0; i < reported_.size(); ++i) {
            sum[i] += now[i] > reported_[i] ? now[i] - reported_[i] : 0;
            reported_[i] = std::max(reported_[i], now[i]);
        }
    }

    // They were told to a gateway before this one.
    void know(std::span<const CountEntry> entries) {
        LossCounts before_this_one{};
        take(entries, before_this_one);
    }

private:
    static LossCounts by_reason(std::span<const CountEntry> entries) {
        LossCounts counts{};
        for (const CountEntry& entry : entries) {
            if (is_loss(entry.name) && !is_definition(entry.series.kind)) {
                counts[std::min<std::size_t>(static_cast<std::size_t>(entry.name), counts.size() - 1)] += entry.value;
            }
        }
        return counts;
    }

    LossCounts reported_{};
};

}  // namespace perfleet
