// The ledger that every answer and export carries: how many rows its series produced, and how many of them were stored,
// expired, lost or are pending.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace perfleet {

// Counts in rows, of the series that an answer reads: produced = stored + expired + Σ lost + pending.
struct Ledger {
    std::uint64_t produced = 0;
    std::uint64_t stored = 0;
    std::uint64_t expired = 0;
    // By reason: the reason's count_name, "missing" (rows of an ended session that are neither stored nor explained) or
    // "damaged" (stored, but no longer readable). Holds no zero counts.
    std::map<std::string, std::uint64_t> lost;
    std::uint64_t pending = 0;  // produced by a session that has not ended; neither stored nor reported as lost yet
    // With a time range: stored rows in batches that cross an end of the range. Such batches count whole, because
    // produced and lost rows are known by batch only. At most this many stored rows lie outside the range.
    std::uint64_t of_cut_batches = 0;
    // True if more rows may have been produced and lost: a session has no clean end, or a write-ahead log is lost.
    bool is_lower_bound = false;

    void add(const Ledger& other) {
        produced += other.produced;
        stored += other.stored;
        expired += other.expired;
        for (const auto& [reason, rows] : other.lost) {
            lost[reason] += rows;
        }
        pending += other.pending;
        of_cut_batches += other.of_cut_batches;
        is_lower_bound = is_lower_bound || other.is_lower_bound;
    }

    friend bool operator==(const Ledger&, const Ledger&) = default;
};

}  // namespace perfleet
