// What is known, from outside, of perfleet-collector tracing numbered_calls_workload, run after run on one target; and
// how it is read back. The checker compares the store with it.
//
// The folder of one target (world.py makes it):
//   begun.RUN               8 bytes: how many calls this run's workload began, numbered from RUN × kCallsPerRun + 1
//   finished                a line `RUN CALLS` for each completed run: its workload made all of them
//   kept.N/SESSION.spool    the spool's file after the collector was killed or stopped for the N-th time
//   power-lost              a line for each session (32 hex digits) of which the spool's disk forgot something
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"

namespace perfleet::chaos {

inline constexpr std::uint64_t kCallsPerRun = 1'000'000'000;

// A spool file between two collectors.
struct KeptSession {
    struct Batch {
        std::uint32_t seal = 0;
        BucketNumber bucket;
        std::map<Series, std::uint32_t> row_counts;
    };

    SessionId session;
    Seq first_kept;                 // everything before was acknowledged, dropped or refused
    std::vector<SeqRange> dropped;  // of these, as far as no acknowledged batch has named it
    bool has_refused = false;       // the gateway had refused some
    // Its disk had lost power before, so some of the missing rows may have been forgotten: those are "killed".
    bool is_since_power_loss = false;
    std::map<Seq, Batch> batches;        // those that wait for their acknowledgement
    std::vector<CountEntry> own_counts;  // as its end must state: all but the rows that the wire loses
};

struct TracedLog {
    std::map<std::uint64_t, std::uint64_t> begun;     // calls, by run
    std::map<std::uint64_t, std::uint64_t> finished;  // the same, of runs that were completed
    std::set<SessionId> power_lost;
    std::vector<KeptSession> kept;  // one for each file, the same session several times when several killings met it
    bool has_spool = false;
};

// Errors: kNotFound, kIo, kInvalid (a file that can't be read). A spool file that can't be parsed is an error, too: no
// kill may leave one.
[[nodiscard]] Result<TracedLog> read_traced_log(const std::string& folder);

}  // namespace perfleet::chaos
