// Compares what a store has of a session with what its source wrote down. The promise: no acknowledged row is lost,
// none is there twice, and the ledger's equations are exact.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/chaos/source_log.h"
#include "tests/chaos/stored_session.h"

namespace perfleet::chaos {

struct Circumstances {
    std::set<BucketNumber> dropped_buckets;  // their partitions were dropped at some time: rows may have expired
    // A killed collector's counters outlive it (disk spool), so its session must have an end.
    bool has_disk_spool = false;
    // The collector's machine lost power: the disk's state of the session may be older than its messages. Rows are
    // judged as always; the end may be missing, or be wrong about the lost rows, within their number.
    bool has_lost_power = false;
    // Another collector with the same session id had described the session differently before: it must have been
    // refused.
    bool is_impostor = false;
};

// The faults, in words; empty when everything is right. `stored` is null when the store doesn't know the session.
[[nodiscard]] std::vector<std::string> judge(const SourceLog& log, const StoredSession* stored,
                                             const Circumstances& circumstances);

}  // namespace perfleet::chaos
