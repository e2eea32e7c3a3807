// The losses that a session's collector has reported. Its counts are cumulative and come with every batch; only their
// increase is added to the sum over all sessions.
//
// Rows of definitions are left out: users don't see them as rows, nor does the collector's own closing line count them.
#pragma once

#include <algorithm>
#include <span>

#include "gateway/counts/gateway_counts.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

class ReportedLosses {
public:
    // Adds the increase since the earlier entries to `sum`. Older entries that arrive late add nothing.
    void take(std::span<const CountEntry> entries, LossCounts& sum) {
        const LossCounts now = by_reason(entries);
        for (std::size_t i = 0; i < reported_.size(); ++i) {
            sum[i] += now[i] > reported_[i] ? now[i] - reported_[i] : 0;
            reported_[i] = std::max(reported_[i], now[i]);
        }
    }

    // Takes entries that an earlier gateway has counted already.
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
