// `targets`, `sessions`, `losses`: what the store holds, and what became of what was sent.
//
// With a time range: the sessions whose life overlaps it.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// A row a target, ascending by (name, id).
[[nodiscard]] Answer make_targets(const Scan& scan);

// A row a session, in the order in which they were received or imported: `last` stands last. Its state: `ended`;
// `stopped`, when an operator has stopped all of its events; `open` otherwise. The ledger as make_losses(). Errors:
// those of the store.
[[nodiscard]] Result<Answer> make_sessions(const Scan& scan);

// A row a session and series, in the order of the sessions: the ledger by reason, and what was counted beside it. Reads
// all blocks where something of the store is known to be damaged, or `reads_blocks`, else none. Errors: those of the
// store.
[[nodiscard]] Result<Answer> make_losses(const Scan& scan, bool reads_blocks = false);

// Indices of the scan's sessions that overlap the time range, ascending by (start, session).
[[nodiscard]] std::vector<std::size_t> sessions_by_start(const Scan& scan);

}  // namespace perfleet
