// Whose a kernel's time was: entries of its log joined with samples, both of the target's clock (entry_owner.h).
//
// Where a moment has samples of several threads, its entries are divided so that what each thread takes of the kernel
// for the time that it ran explains all moments best (shared_whole.h). Shares are estimates, as all that comes from
// samples; sums are exact.
#pragma once

#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/kernel/kernel_entries.h"
#include "query-engine/statistic/kernel/kernel_log.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// Adds rows of this log, by kernel time: for each thread, or for each function that ran (self: what it was interrupted
// in; children: or in what it had called), among them one for what is the collector's own and one for what is nobody's.
// Entries of other paths than `options.path` count for nothing. False where the session has no such samples: no rows
// then. Errors: kTooLarge; those of the store.
[[nodiscard]] Result<bool> add_kernel_time(const Scan& scan, Symbolizer& symbolizer, const KernelLog& log,
                                           const KernelEntryOptions& options, AnswerLedger& ledger, Answer& answer);

}  // namespace perfleet
