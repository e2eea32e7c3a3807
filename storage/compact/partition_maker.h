// What the makers that work on one partition behind the writer have in common.
//
// One thread.
#pragma once

#include <utility>

#include "storage/compact/compaction_steps.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/engine.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

class PartitionMaker {
public:
    using Commit = CompactionSteps::Commit;
    using OnStep = CompactionSteps::OnStep;
    using Outcome = CompactionSteps::Outcome;

    PartitionMaker(const Engine& engine, const KeyedReads& reads, const Partition& partition, Commit commit,
                   OnStep on_step)
        : engine_{&engine}, reads_{&reads}, partition_{partition}, steps_{std::move(commit), std::move(on_step)} {}

protected:
    // `work` on each session of the partition, until it gives false; damage ends only that of its session.
    template <class Work>
    [[nodiscard]] Result<Outcome> for_each_session(const Work& work) {
        const auto sessions = PERFLEET_TRY(reads_->session_names(partition_));
        for (const SessionName& session : sessions) {
            const Result<bool> done = work(session);
            if (!done.ok() && !is_damage(done.error())) {
                return Error{done.error()};
            }
            if (done.ok() && !*done) {
                return steps_.ended();
            }
        }
        return Outcome::kDone;
    }

    // What is damaged may be older than what stood there: nothing is made of it.
    [[nodiscard]] ReadableCursor undamaged(const KeyRange& range) const {
        return ReadableCursor{*engine_, range, ReadableCursor::InGaps::kNothing};
    }

    const Engine* engine_;
    const KeyedReads* reads_;
    Partition partition_;
    CompactionSteps steps_;
};

}  // namespace perfleet
