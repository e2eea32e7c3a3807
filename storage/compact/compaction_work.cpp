#include "storage/compact/compaction_work.h"

#include "storage/compact/dictionary_maker.h"
#include "storage/compact/summary_maker.h"

namespace perfleet {

Result<Compactor::Outcome> do_compact_work(const KeyedReads& reads, const CompactionBacklog::Work& work,
                                           const CompactionMakers& makers, const Compactor::Commit& commit,
                                           const Compactor::OnStep& on_step) {
    if (work.is_day) {
        return SummaryMaker{reads, work.partition, *makers.summaries, commit, on_step}.make_summaries();
    }
    Compactor compactor{reads, work.partition, commit, on_step};
    auto compacted = work.session ? compactor.compact_session(*work.session) : compactor.compact_partition();
    const bool is_whole =
        compacted.ok() && (*compacted == Compactor::Outcome::kDone || *compacted == Compactor::Outcome::kLeftover);
    if (work.session || !is_whole) {
        return compacted;
    }
    if (makers.dictionaries) {
        DictionaryMaker maker{reads, work.partition, *makers.dictionaries, commit, on_step};
        auto made = maker.make_dictionary();
        if (!made.ok() || *made != Compactor::Outcome::kDone) {
            return made;
        }
    }
    return compacted;
}

}  // namespace perfleet
