// Holds what a store has of a session against what its source wrote down. The promise: no acknowledged row is lost,
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
    // A killed collector's counters outlive it (disk spool), so that its session must have an end.
    bool has_disk_spool = false;
    // The collector's machine lost power: what its disk knew of the session may be older than what it had said. Rows
    // are judged as ever; the end may be missing, or be wrong about what was lost, within what there was to lose.
    bool has_lost_power = false;
    // Another collector of the same session id had described the session otherwise before: it must have been refused.
    bool is_impostor = false;
};

// What is wrong, in words; empty when everything is right. `stored` is null when the store doesn't know the session.
[[nodiscard]] std::vector<std::string> judge(const SourceLog& log, const StoredSession* stored,
                                             const Circumstances& circumstances);

}  // namespace perfleet::chaos
