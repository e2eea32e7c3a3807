// Sums of values by cell of time: what a rollup of values is made from. They don't depend on the order in which rows
// were added.
//
// One thread. Memory grows with sum_count() and the cover; whoever adds looks at it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/block/block.h"
#include "storage/model/keys.h"
#include "storage/model/rollup_cover.h"
#include "storage/number/flat_table.h"
#include "storage/number/moments.h"
#include "storage/rollup/cells.h"
#include "storage/rollup/value_rollup.h"

namespace perfleet {

class ValueSums {
public:
    static constexpr RollupContent kContent = RollupContent::kValues;
    static constexpr std::array kColumns{ColumnId::kTime, ColumnId::kValue};

    // Borrows the clock.
    ValueSums(RollupLevel level, const ClockMap& clock) : cells_{level, clock} {}

    // As those of RollupSums.
    void add_rows(const DecodedRows& rows, std::size_t first, std::size_t last);
    void add_sums(const ValueSums& finer);
    void add_seq(Seq seq, bool is_next) { cover_.add_seq(seq, is_next); }

    [[nodiscard]] std::size_t sum_count() const { return bucket_count_; }
    [[nodiscard]] std::size_t cell_count() const { return cells_.size(); }
    [[nodiscard]] const RollupCover& cover() const { return cover_; }

    // In the order of the format.
    [[nodiscard]] ValueRollup rollup(EpochNumber epoch) const;
    void clear();

private:
    struct Sums {
        Moments moments;
        Ticks first_ticks{~0ULL};
        Ticks last_ticks{0};
    };

    void add(std::uint32_t cell, std::uint32_t bucket, std::uint64_t row_count);

    RollupCells cells_;
    std::vector<Sums> sums_;            // by cell
    FlatTable<std::uint64_t> buckets_;  // by (cell, bucket): rows
    std::size_t bucket_count_ = 0;
    RollupCover cover_;  // its epoch is that of nothing
};

}  // namespace perfleet
