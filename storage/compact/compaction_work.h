// Does one piece of work of the backlog: compaction, then the makers that build on compacted blocks.
//
// One thread.
#pragma once

#include <optional>

#include "storage/compact/compaction_backlog.h"
#include "storage/compact/compactor.h"
#include "storage/compact/policy.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// The wanted makers.
struct CompactionMakers {
    std::optional<SummaryPolicy> summaries;
    std::optional<DictionaryPolicy> dictionaries;
};

// Makes the summaries of a day if only they are left to do; else compacts, and makes the dictionary of a partition that
// is compacted as a whole.
[[nodiscard]] Result<Compactor::Outcome> do_compact_work(const KeyedReads& reads, const CompactionBacklog::Work& work,
                                                         const CompactionMakers& makers,
                                                         const Compactor::Commit& commit,
                                                         const Compactor::OnStep& on_step);

}  // namespace perfleet
