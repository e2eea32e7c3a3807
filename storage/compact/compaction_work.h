// What is done with one piece of work of the backlog, maker by maker: compaction, then what is made of what was
// compacted.
//
// One thread.
#pragma once

#include <optional>

#include "storage/compact/compaction_backlog.h"
#include "storage/compact/compactor.h"
#include "storage/compact/policy.h"
#include "storage/engine/engine.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// Which of them is wanted.
struct CompactionMakers {
    std::optional<SummaryPolicy> summaries;
    std::optional<DictionaryPolicy> dictionaries;
};

// Summaries of a day where that is what is left to do; else compacts, and where that is a whole partition makes its
// dictionary.
[[nodiscard]] Result<Compactor::Outcome> do_compact_work(const Engine& engine, const KeyedReads& reads,
                                                         const CompactionBacklog::Work& work,
                                                         const CompactionMakers& makers,
                                                         const Compactor::Commit& commit,
                                                         const Compactor::OnStep& on_step);

}  // namespace perfleet
