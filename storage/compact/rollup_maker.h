// Reads what no rollup covers yet in one partition and makes the changes that add rollups of it. What they mean:
// storage/FORMAT.md.
//
// Only batches at or below their session's watermark are rolled up: what is read of them stays as it is until the
// partition is dropped, and `commit` knows whether it was. Memory is bounded by RollupPolicy::sums_max and the limits
// of rollups; what passes them is left to the blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/clock/clock_map.h"
#include "storage/compact/epoch_rows.h"
#include "storage/compact/partition_maker.h"
#include "storage/compact/policy.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/rollup/renames.h"

namespace perfleet {

class RollupMaker : private PartitionMaker {
public:
    RollupMaker(const Engine& engine, const KeyedReads& reads, const Partition& partition, const RollupPolicy& policy,
                Commit commit, OnStep on_step)
        : PartitionMaker{engine, reads, partition, std::move(commit), std::move(on_step)}, policy_{policy} {}

    // kDone also where batches wait above their watermark.
    [[nodiscard]] Result<Outcome> roll_up_partition();

private:
    struct Source {
        SessionName session;
        EpochNumber epoch;
        Series series;
        RollupContent content{};
    };

    template <class Sums>
    class SeriesSums;

    [[nodiscard]] Result<bool> roll_up_session(const SessionName& session);
    [[nodiscard]] Result<ClockMap> read_clock(const SessionName& session, std::vector<ClockPoint> points) const;
    [[nodiscard]] Result<std::uint64_t> mark_covered(const Source& source, std::vector<BatchRows>& named) const;
    // False when there are too many.
    [[nodiscard]] Result<bool> read_renames(const SessionName& session, EpochNumber epoch, Renames& renames) const;
    // `renames`: the epoch's, read when they are wanted first.
    [[nodiscard]] Result<bool> roll_up_stacks(const Source& source, const std::vector<BatchRows>& named,
                                              std::uint64_t row_count, const ClockMap& clock,
                                              std::optional<Renames>& renames);
    [[nodiscard]] Result<bool> roll_up_values(const Source& source, const std::vector<BatchRows>& named,
                                              const ClockMap& clock);
    template <class Sums>
    [[nodiscard]] Result<bool> roll_up_series(const Source& source, const std::vector<BatchRows>& named,
                                              SeriesSums<Sums> sums);
    template <class Sums>
    [[nodiscard]] static bool add_block(const BlockView& block, const std::vector<BatchRows>& named,
                                        std::size_t& next_named, DecodedRows& rows, SeriesSums<Sums>& sums);
    // Keys and values; `row_count`: rows that those of hours stand for.
    [[nodiscard]] Result<bool> write(const std::vector<std::pair<std::string, std::string>>& rollups,
                                     std::uint64_t row_count);

    RollupPolicy policy_;
};

}  // namespace perfleet
