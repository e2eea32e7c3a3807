#include "storage/store/join_work.h"

#include "storage/store/day_maker.h"
#include "storage/store/dictionary_maker.h"
#include "storage/store/rollup_maker.h"

namespace perfleet {

Result<Joiner::Outcome> do_join_work(const Engine& engine, const KeyedReads& reads, const JoinBacklog::Work& work,
                                     const JoinMakers& makers, const Joiner::Commit& commit,
                                     const Joiner::OnStep& on_step) {
    if (work.is_day) {
        return DayMaker{engine, reads, work.partition, *makers.rollups, commit, on_step}.make_days();
    }
    Joiner joiner{engine, reads, work.partition, commit, on_step};
    auto joined = work.session ? joiner.join_session(*work.session) : joiner.join_partition();
    const bool is_whole = joined.ok() && (*joined == Joiner::Outcome::kDone || *joined == Joiner::Outcome::kLeftover);
    if (work.session || !is_whole) {
        return joined;
    }
    if (makers.rollups) {
        auto made = RollupMaker{engine, reads, work.partition, *makers.rollups, commit, on_step}.roll_up_partition();
        if (!made.ok() || *made != Joiner::Outcome::kDone) {
            return made;
        }
    }
    if (makers.dictionaries) {
        DictionaryMaker maker{engine, reads, work.partition, *makers.dictionaries, commit, on_step};
        auto made = maker.make_dictionary();
        if (!made.ok() || *made != Joiner::Outcome::kDone) {
            return made;
        }
    }
    return joined;
}

}  // namespace perfleet
