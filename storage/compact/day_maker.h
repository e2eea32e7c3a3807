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

#include "storage/compact/compactor.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/thread_names.h"
#include "storage/engine/engine.h"
#include "storage/key/key.h"
#include "storage/model/keys.h"
#include "storage/model/rollup_cover.h"
#include "storage/read/keyed_reads.h"
#include "storage/rollup/day_sums.h"

namespace perfleet {

class DayMaker {
public:
    // As those of Compactor.
    DayMaker(const Engine& engine, const KeyedReads& reads, const Partition& partition, const RollupPolicy& policy,
             Compactor::Commit commit, Compactor::OnStep on_step)
        : engine_{&engine},
          reads_{&reads},
          partition_{partition},
          policy_{policy},
          steps_{std::move(commit), std::move(on_step)} {}

    // Passes over what was made already.
    [[nodiscard]] Result<Compactor::Outcome> make_days();

private:
    // A batch's rows of one series.
    struct Named {
        Seq seq;
        std::uint32_t row_count = 0;
        bool is_covered = false;
        bool is_left = false;  // above the watermark, or with a row at the greatest tick, which no time holds
    };
    struct EpochBatches {
        RollupCover meaning;
        std::map<Series, std::vector<Named>> series;  // that have rollups of stacks
    };
    using Hour = std::map<EpochNumber, EpochBatches>;
    struct SeriesDay {
        DaySums sums;
        bool is_made = false;    // before
        bool has_begun = false;  // the epoch at hand
    };
    // Where an epoch's rows stand.
    struct Place {
        SessionName session;
        Partition partition;
        EpochNumber epoch;
    };
    struct Meaning {
        EpochDictionary dictionary;
        ThreadNames names;
    };

    // These are false when the work ends.
    [[nodiscard]] Result<bool> make_day(const SessionName& session);
    [[nodiscard]] Result<bool> add_hour(const SessionName& session, const Partition& partition);
    // `meaning`: the epoch's, read when it is wanted first.
    [[nodiscard]] Result<bool> add_series(const Place& place, Series series, EpochBatches& batches,
                                          std::optional<Meaning>& meaning);
    // The same of the rows that no rollup covers, once all that do were added.
    [[nodiscard]] Result<bool> add_rows(const Place& place, Series series, EpochBatches& batches,
                                        std::optional<Meaning>& meaning);
    // Begins the epoch in the series' sums, or goes on with it, where so much more has room; else these are finished
    // first. Tells also when the epoch can't be understood: nothing of it can be added then.
    enum class Room : std::uint8_t { kReady, kUnreadable, kEnded };
    [[nodiscard]] Result<Room> make_room(const Place& place, Series series, std::size_t more_ranges,
                                         const EpochBatches& batches, std::optional<Meaning>& meaning);
    [[nodiscard]] Result<bool> finish(const SessionName& session, Series series);
    [[nodiscard]] Result<bool> finish_all(const SessionName& session);

    [[nodiscard]] static std::vector<Named*> covered_by(const RollupCover& cover, std::vector<Named>& named);
    [[nodiscard]] Result<Hour> read_hour(const SessionName& session, const Partition& partition) const;
    // One that covers rows of these batches, none of them covered before; from `next` on, which moves behind it. They
    // count as covered also where it can't be added.
    [[nodiscard]] Result<std::optional<Rollup>> read_rollup(const Place& place, Series series,
                                                            std::vector<Named>& named, std::string& next) const;
    // Of so many rows; nothing when some are missing.
    [[nodiscard]] Result<std::optional<Meaning>> read_meaning(const Place& place, std::uint64_t row_count) const;
    [[nodiscard]] Result<bool> is_made(const SessionName& session, Series series) const;

    const Engine* engine_;
    const KeyedReads* reads_;
    Partition partition_;
    RollupPolicy policy_;
    CompactionSteps steps_;
    std::map<Series, SeriesDay> days_;  // of the session at hand
};

}  // namespace perfleet
