// The rows that a collector says it lost. Its counts are cumulative and come with every batch; what is new in them is
// added up over all sessions.
//
// Rows of definitions are left out: they are no rows to a user, as in the collector's own closing line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "gateway/gateway_counts.h"
#include "schemas/vocabulary/kind.h"

namespace perfleet {

class ReportedLosses {
public:
    // Adds what these tallies say beyond those before to `sum`. Older ones, come late, say nothing new.
    void take(std::span<const Tally> tallies, LossCounts& sum) {
        const LossCounts now = by_reason(tallies);
        for (std::size_t i = 0; i < told_.size(); ++i) {
            sum[i] += now[i] > told_[i] ? now[i] - told_[i] : 0;
            told_[i] = std::max(told_[i], now[i]);
        }
    }

    // They were told to a gateway before this one.
    void know(std::span<const Tally> tallies) {
        LossCounts before_this_one{};
        take(tallies, before_this_one);
    }

private:
    static LossCounts by_reason(std::span<const Tally> tallies) {
        LossCounts counts{};
        for (const Tally& tally : tallies) {
            if (is_loss(tally.name) && !is_definition(tally.series.kind)) {
                counts[std::min<std::size_t>(static_cast<std::size_t>(tally.name), counts.size() - 1)] += tally.value;
            }
        }
        return counts;
    }

    LossCounts told_{};
};

}  // namespace perfleet
