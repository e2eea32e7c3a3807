// `kernel-entries`: statistics of a seL4 kernel's log of entries: counts by kind, system call and interrupt, durations,
// and the delay after a point event of a program.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

enum class KernelEntryTable : std::uint8_t {
    kSummary,     // a row a session: counts by kind, time in the kernel, its share of the time between the first
                  // entry's start and the last one's end
    kSyscalls,    // a row a system call
    kInterrupts,  // a row an interrupt
    kDurations,   // a row a path, system call or capability type: count, min, median, p99, max, mean, sd
    kMatches,     // a row for each entry that follows a point event
    kThreads,     // time in the kernel by thread, estimated from samples (kernel_time.h)
    kFunctions,   // the same by function
};

enum class KernelEntryKey : std::uint8_t { kPath, kSyscall, kCapType };

struct KernelEntryOptions {
    KernelEntryTable table = KernelEntryTable::kSummary;
    KernelEntryKey key = KernelEntryKey::kPath;
    std::string path;                     // entries of this path only, by its name; empty: all
    std::string since_event;              // durations are measured from the last such event to the entry's start
    std::string samples;                  // threads and functions: the event that was sampled; empty: the first one
    std::uint64_t row_count_max = ~0ULL;  // of a session, in tables by entry, thread or function
};

// The options table, by, path, since-event, samples, limit.
[[nodiscard]] const OptionTable<KernelEntryOptions>& kernel_entry_options();

// With `since_event` an entry belongs to the last event at or before its start in the same session (whose rows have one
// clock); only the first entry of the chosen path after an event counts. Errors: kUsage (no such event, no such
// samples); kTooLarge: more than 4,194,304 entries in a table that must keep them, or the query's memory is exceeded.
[[nodiscard]] Result<Answer> make_kernel_entries(const Scan& scan, Symbolizer& symbolizer,
                                                 const KernelEntryOptions& options);

}  // namespace perfleet
