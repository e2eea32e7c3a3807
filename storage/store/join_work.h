// What is done with one piece of work of the backlog, maker by maker: joining, then what is made of what was joined.
//
// One thread.
#pragma once

#include <optional>

#include "storage/store/engine.h"
#include "storage/store/join_backlog.h"
#include "storage/store/joiner.h"
#include "storage/store/keyed_reads.h"
#include "storage/store/store.h"

namespace perfleet {

// Which of them is wanted.
struct JoinMakers {
    std::optional<RollupPolicy> rollups;
    std::optional<DictionaryPolicy> dictionaries;
};

// Rollups of a day where that is what is left to do; else joins, and where that is a whole partition makes its rollups
// and its dictionary.
[[nodiscard]] Result<Joiner::Outcome> do_join_work(const Engine& engine, const KeyedReads& reads,
                                                   const JoinBacklog::Work& work, const JoinMakers& makers,
                                                   const Joiner::Commit& commit, const Joiner::OnStep& on_step);

}  // namespace perfleet
