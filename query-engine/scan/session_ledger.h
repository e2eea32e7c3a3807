// Computes a session's ledger from the cumulative counts and row counts of its batch records, its end, and what
// retention dropped.
//
// Plain functions over borrowed values; no errors: whatever the records say, produced = stored + expired + Σ lost +
// pending holds in every ledger, and a record that contradicts itself gives a warning.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

// Over the whole session.
[[nodiscard]] Ledger session_ledger(const ScannedSession& session, Series series, std::vector<std::string>& warnings);

// Over the batches that overlap ticks [range.first, range.second), counted whole: differences of cumulative counts from
// batch to batch. Ledger::of_cut_batches says how many of their rows may lie outside. A loss that was reported when it
// happened counts by the time between the two batches around it. Batches that never arrived are gaps in the seqs: their
// rows count by the time of the gap, under the reason that the session gives.
[[nodiscard]] Ledger session_ledger_between(const ScannedSession& session, Series series, std::pair<Ticks, Ticks> range,
                                            std::vector<std::string>& warnings);

// The session has ended and its collector wasn't killed: its last counts include every row that it produced.
[[nodiscard]] bool has_clean_end(const ScannedSession& session);

// The last value that the session reported for this count; 0 if it never did.
[[nodiscard]] std::uint64_t last_entry(const ScannedSession& session, Series series, CountName name);

// The newest counts that the session reported: those of its end, else of its last batch.
[[nodiscard]] std::span<const CountEntry> last_counts(const ScannedSession& session);

}  // namespace perfleet
