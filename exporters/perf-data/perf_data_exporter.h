// Exports a scan as a perf.data file that `perf report`, `perf script` and `perf annotate` open without a warning:
// samples with call chains, tracepoints, names, mappings, build-ids, lost counts, host features.
//
// A file has its header at the beginning and its features at the end; a pipe (PerfDataOptions) is written sequentially,
// with features as records at the beginning.
//
// Errors: kUsage when the selection holds several targets and they aren't merged (process ids collide), kNotFound when
// it holds no rows; those of the store. The output is the same for the same stored rows, byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/service/query.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// The options of `export --to perf.data`.
struct PerfDataOptions {
    bool is_pipe = false;         // the format of `perf record -o -`, written sequentially
    bool merges_targets = false;  // else several targets are an error
};

struct ExportSummary {
    std::uint64_t sample_count = 0;  // as in the ledger: without readings of uncovered time
    std::uint64_t size_bytes = 0;
    UtcNs first_time;  // of the recording; the file's modification time should be last_time
    UtcNs last_time;
    Ledger ledger;
    std::vector<std::string> warnings;
};

[[nodiscard]] Result<ExportSummary> export_perf_data(const Scan& scan, const PerfDataOptions& options,
                                                     ExportSink& sink);

}  // namespace perfleet
