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
#include "storage/rollup/flat_table.h"
#include "storage/rollup/renames.h"
#include "storage/rollup/rollup.h"

namespace perfleet {

class RollupSums {
public:
    // Borrows both.
    RollupSums(RollupLevel level, const ClockMap& clock, const Renames& renames);

    // Rows [first, last); columns kTime, kPid, kTid, kStack and kWeight have been decoded. No time is the greatest
    // tick.
    void add_rows(const DecodedRows& rows, std::size_t first, std::size_t last);
    // All sums of a finer level, whose cells lie within this one's, with the same clock and renames.
    void add_sums(const RollupSums& finer);
    // Covers the batch; ascending. `is_next`: no batch that isn't covered lies between this one and the last.
    void add_seq(Seq seq, bool is_next);

    [[nodiscard]] std::size_t sum_count() const { return sums_.size(); }
    [[nodiscard]] std::size_t cell_count() const { return cells_.size(); }
    [[nodiscard]] std::uint64_t row_count() const { return row_count_; }
    [[nodiscard]] const std::vector<SeqRange>& seqs() const { return seqs_; }

    // In the order of the format.
    [[nodiscard]] Rollup rollup(EpochNumber epoch) const;
    void clear();

private:
    struct Cell {
        std::int64_t number = 0;
        Ticks from;
        Ticks until;
    };
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

    [[nodiscard]] std::uint32_t cell_at(Ticks ticks);
    [[nodiscard]] std::uint32_t cell_numbered(std::int64_t number);
    [[nodiscard]] std::uint32_t thread_of(const Thread& wanted);
    [[nodiscard]] const Remembered& thread_at(std::uint32_t pid, std::uint32_t tid, Ticks ticks);
    void add(std::uint32_t thread, std::uint32_t stack, std::uint64_t row_count, std::uint64_t weight);

    std::int64_t duration_ns_;
    const ClockMap* clock_;
    const Renames* renames_;
    std::vector<Cell> cells_;
    std::map<std::int64_t, std::uint32_t> cell_numbers_;
    std::vector<Thread> threads_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> thread_numbers_;
    std::array<Remembered, 256> remembered_{};
    std::vector<Sum> sums_;
    FlatTable<std::uint32_t> sum_numbers_;  // by (thread, stack): 1 + the sum's index
    std::uint64_t row_count_ = 0;
    std::vector<SeqRange> seqs_;
};

}  // namespace perfleet
