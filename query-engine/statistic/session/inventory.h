// `targets`, `sessions`, `losses`: the content of the store, and the ledgers of its sessions.
//
// With a time range: the sessions that overlap it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

// One row for each target, ascending by (name, id).
[[nodiscard]] Answer make_targets(const Scan& scan);

struct SessionListOptions {
    std::optional<std::uint64_t> row_count_max;
};
[[nodiscard]] const OptionTable<SessionListOptions>& session_list_options();

// One row for each session, in the order in which they were received or imported: `last` is the last row. Its state is
// `ended`; `stopped`, when an operator has stopped all of its events; `open` otherwise. Of more than `row_count_max`
// the oldest are left out, and a warning counts them. The ledger is that of make_losses(). Errors: those of the store.
[[nodiscard]] Result<Answer> make_sessions(const Scan& scan, const SessionListOptions& options = {});

// One row for each session and series, in the order of the sessions: the ledger by reason, and further counts. Reads
// all blocks if damage of the store is known or `reads_blocks` is set, else none. Errors: those of the store.
[[nodiscard]] Result<Answer> make_losses(const Scan& scan, bool reads_blocks = false);

// Indices of the scan's sessions that overlap the time range, ascending by (start, session).
[[nodiscard]] std::vector<std::size_t> sessions_by_start(const Scan& scan);

// The ledger over all kinds of rows of these sessions.
[[nodiscard]] Ledger ledger_of_sessions(const Scan& scan, const std::vector<std::size_t>& indices,
                                        std::vector<std::string>& warnings);

}  // namespace perfleet
