// The ledger that every answer and export carries: what became of the rows that it is about.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace perfleet {

// What became of the rows of the series that an answer is about: produced = stored + expired + Σ lost + pending.
struct Ledger {
    std::uint64_t produced = 0;
    std::uint64_t stored = 0;
    std::uint64_t expired = 0;
    // By count_name of the reason, and "missing": of an ended session, neither stored nor explained; "damaged": stored,
    // but not readable any more. Only reasons with a count.
    std::map<std::string, std::uint64_t> lost;
    std::uint64_t pending = 0;  // of a session that has not ended: produced, and not yet heard of again
    // Of a time range: of the stored those in batches that an end of the range cuts. Batches count whole, for what was
    // produced and lost is known by batch only: as many rows as this, at most, lie outside the range.
    std::uint64_t of_cut_batches = 0;
    // More may have been produced, and lost: where a session has no clean end, or a write-ahead log is lost.
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
