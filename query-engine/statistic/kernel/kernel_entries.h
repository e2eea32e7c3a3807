// `kernel-entries`: what a seL4 kernel logged of its entries: how many of each sort, which, how long they took, and how
// long after a moment that a program noted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

enum class KernelEntryTable : std::uint8_t {
    kSummary,     // a row a session: how many of each sort, time in the kernel, its share of the time between the first
                  // entry's start and the last one's end
    kSyscalls,    // a row a system call
    kInterrupts,  // a row an interrupt
    kDurations,   // a row a path, system call or capability type: count, min, median, p99, max, mean, sd
    kMatches,     // a row an entry that follows a point event
    kThreads,     // whose the time in the kernel was: a row a thread, by samples (kernel_time.h)
    kFunctions,   // the same, a row a function that ran
};

enum class KernelEntryKey : std::uint8_t { kPath, kSyscall, kCapType };

struct KernelEntryOptions {
    KernelEntryTable table = KernelEntryTable::kSummary;
    KernelEntryKey key = KernelEntryKey::kPath;
    std::string path;         // entries of this path only, by its name; empty: all
    std::string since_event;  // durations are those from the last of these events to the entry's start
    std::string samples;      // of threads and functions: the samples' event; empty: the first that is there
    std::uint64_t row_count_max = ~0ULL;  // of a session, of tables with a row an entry, thread or function
};

// table, by, path, since-event, samples, limit.
[[nodiscard]] const OptionTable<KernelEntryOptions>& kernel_entry_options();

// With `since_event` an entry belongs to the last event at or before its start, in the same session (whose rows have
// one clock); only the first entry of the chosen path behind an event counts. Errors: kUsage (no such event, no such
// samples); kTooLarge: more than 4,194,304 entries in a table that has to remember them; more than the query's memory.
[[nodiscard]] Result<Answer> make_kernel_entries(const Scan& scan, Symbolizer& symbolizer,
                                                 const KernelEntryOptions& options);

}  // namespace perfleet
