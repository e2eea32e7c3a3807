// Attributes time in the kernel to threads or functions: joins entries of its log with samples of the same clock
// (entry_owner.h).
//
// If a moment has samples of several threads, its entries are divided among them by the kernel share per running time
// that best explains all moments (shared_whole.h). Shares are estimates, like all figures from samples; sums are exact.
#pragma once

#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/answer/answer_ledger.h"
#include "query-engine/statistic/kernel/kernel_entries.h"
#include "query-engine/statistic/kernel/kernel_log.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// Adds rows of this log, ordered by kernel time: one for each thread, or for each function that ran (self: interrupted
// in it; children: in it or its callees), plus one for the collector and one for entries of no thread. Counts entries
// of `options.path` only. False, without rows, if the session has no such samples. Errors: kTooLarge; those of the
// store.
[[nodiscard]] Result<bool> add_kernel_time(const Scan& scan, Symbolizer& symbolizer, const KernelLog& log,
                                           const KernelEntryOptions& options, AnswerLedger& ledger, Answer& answer);

}  // namespace perfleet
