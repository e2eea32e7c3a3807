// Sums of rows by (cell, thread, call chain): what a rollup is made from. Sums don't depend on the order in which rows
// were added.
//
// One thread. Memory grows with sum_count() and seqs; whoever adds looks at it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "storage/clock/clock_map.h"
#include "storage/model/keys.h"
#include "storage/model/rollup_cover.h"
#include "storage/number/flat_table.h"
#include "storage/rollup/cells.h"
#include "storage/rollup/renames.h"
#include "storage/rollup/rollup.h"

namespace perfleet {

class RollupSums {
public:
    static constexpr RollupContent kContent = RollupContent::kStacks;
    static constexpr std::array kColumns{ColumnId::kTime, ColumnId::kPid, ColumnId::kTid, ColumnId::kStack,
                                         ColumnId::kWeight};

    // Borrows both.
    RollupSums(RollupLevel level, const ClockMap& clock, const Renames& renames);

    // Rows [first, last); kColumns have been decoded. No time is the greatest
    // tick.
    void add_rows(const DecodedRows& rows, std::size_t first, std::size_t last);
    // All sums of a finer level, whose cells lie within this one's, with the same clock and renames.
    void add_sums(const RollupSums& finer);
    // Covers the batch: RollupCover::add_seq.
    void add_seq(Seq seq, bool is_next) { cover_.add_seq(seq, is_next); }

    [[nodiscard]] std::size_t sum_count() const { return sums_.size(); }
    [[nodiscard]] std::size_t cell_count() const { return cells_.size(); }
    [[nodiscard]] const RollupCover& cover() const { return cover_; }

    // In the order of the format.
    [[nodiscard]] Rollup rollup(EpochNumber epoch) const;
    void clear();

private:
    struct Thread {
        std::uint32_t cell = 0;  // its index
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        std::uint32_t span = 0;  // Renames::Span::number
        Ticks first_ticks;
        Ticks last_ticks;
    };
    struct Sum {
        std::uint32_t thread = 0;  // its index
        std::uint32_t stack = 0;
        std::uint64_t row_count = 0;
        std::uint64_t weight = 0;
    };
    // The thread of the last rows with a tid of this remainder, and the ticks for which it stays that.
    struct Remembered {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        Ticks from{1};
        Ticks until{0};
        std::uint32_t thread = 0;
    };

    [[nodiscard]] std::uint32_t thread_of(const Thread& wanted);
    [[nodiscard]] const Remembered& thread_at(std::uint32_t pid, std::uint32_t tid, Ticks ticks);
    void add(std::uint32_t thread, std::uint32_t stack, std::uint64_t row_count, std::uint64_t weight);

    const Renames* renames_;
    RollupCells cells_;
    std::vector<Thread> threads_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> thread_numbers_;
    std::array<Remembered, 256> remembered_{};
    std::vector<Sum> sums_;
    FlatTable<std::uint32_t> sum_numbers_;  // by (thread, stack): 1 + the sum's index
    RollupCover cover_;                     // its epoch is that of nothing
};

}  // namespace perfleet
