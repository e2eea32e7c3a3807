// Makes the summaries of a day, for the sessions whose last hour of that day is in one partition. Their meaning:
// storage/FORMAT.md.
//
// A summary names the batches that were summed. If batches of the day change meanwhile, in any partition, the summary
// is ignored, never wrong. Only batches at or below their session's watermark are summed. Memory is bounded by
// SummaryPolicy::sums_max and the limits of summaries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "storage/compact/epoch_rows.h"
#include "storage/compact/partition_maker.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/thread_names.h"
#include "storage/model/keys.h"
#include "storage/summary/day_sums.h"

namespace perfleet {

class SummaryMaker : private PartitionMaker {
public:
    SummaryMaker(const KeyedReads& reads, const Partition& partition, const SummaryPolicy& policy, Commit commit,
                 OnStep on_step)
        : PartitionMaker{reads, partition, std::move(commit), std::move(on_step)}, policy_{policy} {}

    // Skips summaries that exist already.
    [[nodiscard]] Result<Outcome> make_summaries();

private:
    struct SeriesDay {
        DaySums sums;
        bool is_made = false;    // already stored
        bool has_begun = false;  // for the current epoch
    };
    struct Meaning {
        EpochDictionary dictionary;
        ThreadNames names;
    };
    // One hour of an epoch.
    struct Hour {
        EpochPlace place;
        const EpochBatches& batches;
        const Meaning& meaning;
    };

    // These return false when the work ends.
    [[nodiscard]] Result<bool> make_day(const SessionName& session);
    [[nodiscard]] Result<bool> add_partition(const SessionName& session, const Partition& partition);
    [[nodiscard]] Result<bool> add_epoch(const EpochPlace& place, const EpochBatches& batches);
    [[nodiscard]] Result<bool> add_series(const Hour& hour, Series series, SeriesDay& day);
    // Begins the epoch in the day's sums, or continues it, if it fits; else finishes the sums first.
    [[nodiscard]] Result<bool> make_room(const Hour& hour, Series series, SeriesDay& day);
    [[nodiscard]] Result<bool> finish(const SessionName& session, Series series, SeriesDay& day);
    [[nodiscard]] Result<bool> finish_all(const SessionName& session);

    // The meaning of `row_count` rows; nothing if some are missing.
    [[nodiscard]] Result<std::optional<Meaning>> read_meaning(const EpochPlace& place, std::uint64_t row_count) const;
    [[nodiscard]] Result<bool> is_made(const SessionName& session, Series series) const;

    SummaryPolicy policy_;
    std::map<Series, SeriesDay> days_;  // of the current session
};

}  // namespace perfleet
