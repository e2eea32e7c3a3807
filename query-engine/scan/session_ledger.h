// What became of one session's rows: from the cumulative counts and row counts of its batch records, its end and what
// retention took.
//
// Plain functions over borrowed values; no errors: whatever the records say, produced = stored + expired + Σ lost +
// pending holds in every ledger, and a record that contradicts itself gives a warning.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

// Over the whole session.
[[nodiscard]] Ledger session_ledger(const ScannedSession& session, Series series, std::vector<std::string>& warnings);

// Over the batches that overlap ticks [range.first, range.second), whole: differences of the counts from batch to
// batch. Ledger::of_cut_batches says how many of their rows may lie outside. A loss that is told when it happens counts
// by the time between the two batches that enclose it. Batches that never came are gaps in the seqs: their rows count
// by the gap's time, under the reason that the session gives for them.
[[nodiscard]] Ledger session_ledger_between(const ScannedSession& session, Series series, std::pair<Ticks, Ticks> range,
                                            std::vector<std::string>& warnings);

// The session is over and its collector wasn't killed: its last counts name every row that was taken.
[[nodiscard]] bool has_clean_end(const ScannedSession& session);

// The last value that the session told of this count; 0 when it never did.
[[nodiscard]] std::uint64_t last_entry(const ScannedSession& session, Series series, CountName name);

// What the session's newest word on its counts is: its end's, else its last batch's.
[[nodiscard]] std::span<const CountEntry> last_counts(const ScannedSession& session);

}  // namespace perfleet
