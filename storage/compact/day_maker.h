// Makes rollups of days from those of their hours, for the sessions whose last hour of a day is in one partition. What
// they mean: storage/FORMAT.md.
//
// What is taken up of an hour is named in the rollup, so whatever comes or goes meanwhile, in any partition, makes it
// be passed over, never wrong. Memory is bounded by RollupPolicy::sums_max and the limits of rollups.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/compact/epoch_rows.h"
#include "storage/compact/partition_maker.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/thread_names.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/model/rollup_cover.h"
#include "storage/rollup/day_sums.h"

namespace perfleet {

class DayMaker : private PartitionMaker {
public:
    DayMaker(const Engine& engine, const KeyedReads& reads, const Partition& partition, const RollupPolicy& policy,
             Commit commit, OnStep on_step)
        : PartitionMaker{engine, reads, partition, std::move(commit), std::move(on_step)}, policy_{policy} {}

    // Passes over what was made already.
    [[nodiscard]] Result<Outcome> make_days();

private:
    struct SeriesDay {
        DaySums sums;
        bool is_made = false;    // before
        bool has_begun = false;  // the epoch at hand
    };
    struct Meaning {
        EpochDictionary dictionary;
        ThreadNames names;
    };

    // These are false when the work ends.
    [[nodiscard]] Result<bool> make_day(const SessionName& session);
    [[nodiscard]] Result<bool> add_hour(const SessionName& session, const Partition& partition);
    // `meaning`: the epoch's, read when it is wanted first.
    [[nodiscard]] Result<bool> add_series(const EpochPlace& place, Series series, EpochBatches& batches,
                                          std::optional<Meaning>& meaning);
    // The same of the rows that no rollup covers, once all that do were added.
    [[nodiscard]] Result<bool> add_rows(const EpochPlace& place, Series series, EpochBatches& batches,
                                        std::optional<Meaning>& meaning);
    // Begins the epoch in the series' sums, or goes on with it, where so much more has room; else these are finished
    // first. Tells also when the epoch can't be understood: nothing of it can be added then.
    enum class Room : std::uint8_t { kReady, kUnreadable, kEnded };
    [[nodiscard]] Result<Room> make_room(const EpochPlace& place, Series series, std::size_t more_ranges,
                                         const EpochBatches& batches, std::optional<Meaning>& meaning);
    [[nodiscard]] Result<bool> finish(const SessionName& session, Series series);
    [[nodiscard]] Result<bool> finish_all(const SessionName& session);

    // Nothing, unless it covers rows of these batches, none of them covered before: then they are, also where it can't
    // be added.
    [[nodiscard]] static std::optional<Rollup> uncovered_rollup(std::string_view bytes_untrusted, EpochNumber epoch,
                                                                std::vector<BatchRows>& named);
    // Of so many rows; nothing when some are missing.
    [[nodiscard]] Result<std::optional<Meaning>> read_meaning(const EpochPlace& place, std::uint64_t row_count) const;
    [[nodiscard]] Result<bool> is_made(const SessionName& session, Series series) const;

    RollupPolicy policy_;
    std::map<Series, SeriesDay> days_;  // of the session at hand
};

}  // namespace perfleet
