// Compares what a store has of perfleet-collector's sessions on one target with what is known of them from outside: how
// many numbered calls were made, and what the collector's spool contained whenever it was killed. The collector writes
// no log of its own rows, so the verdict is: every row is one of those calls, none is there twice, every batch that a
// killed collector had kept or knew as acknowledged is there (or named as dropped), and each session's end states the
// counts on disk and adds up.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/chaos/stored_session.h"
#include "tests/chaos/traced_log.h"
#include "tests/chaos/verdict.h"

namespace perfleet::chaos {

// The rows of the workload's calls; StoredSession gives their numbers.
inline constexpr Series kTracedCalls{Kind::kTracepoint, EventNumber{0}};

// The faults, in words. `sessions`: all of the target that the store has.
[[nodiscard]] std::vector<std::string> judge_traced(const TracedLog& log, std::span<const StoredSession> sessions,
                                                    const Circumstances& circumstances);

}  // namespace perfleet::chaos
