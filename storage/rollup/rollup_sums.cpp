#include "storage/rollup/rollup_sums.h"

#include <algorithm>
#include <numeric>

namespace perfleet {

RollupSums::RollupSums(RollupLevel level, const ClockMap& clock, const Renames& renames)
    : renames_{&renames}, cells_{level, clock} {}

std::uint32_t RollupSums::thread_of(const Thread& wanted) {
    const auto [entry, is_new] = thread_numbers_.try_emplace(
        std::tuple{wanted.cell, wanted.pid, wanted.tid, wanted.span}, static_cast<std::uint32_t>(threads_.size()));
    if (is_new) {
        threads_.push_back(wanted);
    }
    return entry->second;
}

const RollupSums::Remembered& RollupSums::thread_at(std::uint32_t pid, std::uint32_t tid, Ticks ticks) {
    Remembered& last = remembered_[tid % remembered_.size()];
    if (last.tid == tid && last.pid == pid && last.from <= ticks && ticks < last.until) {
        return last;
    }
    const Renames::Span span = renames_->at(tid, ticks);
    const std::uint32_t cell = cells_.at(ticks);
    const std::uint32_t thread = thread_of({cell, pid, tid, span.number, ticks, ticks});
    last = {pid, tid, std::max(span.from, cells_[cell].from), std::min(span.until, cells_[cell].until), thread};
    return last;
}

void RollupSums::add(std::uint32_t thread, std::uint32_t stack, std::uint64_t row_count, std::uint64_t weight) {
    std::uint32_t& number = sum_numbers_[std::uint64_t{thread} << 32U | stack];
    if (number == 0) {
        sums_.push_back({thread, stack, 0, 0});
        number = static_cast<std::uint32_t>(sums_.size());
    }
    sums_[number - 1].row_count += row_count;
    sums_[number - 1].weight += weight;
    cover_.row_count += row_count;
}

void RollupSums::add_rows(const DecodedRows& rows, std::size_t first, std::size_t last) {
    const auto times = rows.integers(ColumnId::kTime);
    const auto pids = rows.integers(ColumnId::kPid);
    const auto tids = rows.integers(ColumnId::kTid);
    const auto stacks = rows.integers(ColumnId::kStack);
    const auto weights = rows.integers(ColumnId::kWeight);
    for (std::size_t row = first; row < last; ++row) {
        const Ticks ticks{times[row]};
        const Remembered& known =
            thread_at(static_cast<std::uint32_t>(pids[row]), static_cast<std::uint32_t>(tids[row]), ticks);
        Thread& thread = threads_[known.thread];
        thread.first_ticks = std::min(thread.first_ticks, ticks);
        thread.last_ticks = std::max(thread.last_ticks, ticks);
        add(known.thread, static_cast<std::uint32_t>(stacks[row]), 1, weights[row]);
    }
}

void RollupSums::add_sums(const RollupSums& finer) {
    std::vector<std::uint32_t> cells;
    for (std::size_t i = 0; i < finer.cells_.size(); ++i) {
        cells.push_back(cells_.holding(finer.cells_[i], finer.cells_));
    }
    std::vector<std::uint32_t> threads;
    for (const Thread& thread : finer.threads_) {
        const std::uint32_t number =
            thread_of({cells[thread.cell], thread.pid, thread.tid, thread.span, thread.first_ticks, thread.last_ticks});
        threads_[number].first_ticks = std::min(threads_[number].first_ticks, thread.first_ticks);
        threads_[number].last_ticks = std::max(threads_[number].last_ticks, thread.last_ticks);
        threads.push_back(number);
    }
    for (const Sum& sum : finer.sums_) {
        add(threads[sum.thread], sum.stack, sum.row_count, sum.weight);
    }
    cover_.seqs.insert(cover_.seqs.end(), finer.cover_.seqs.begin(), finer.cover_.seqs.end());
}

Rollup RollupSums::rollup(EpochNumber epoch) const {
    Rollup made;
    made.epoch = epoch;
    made.row_count = cover_.row_count;
    made.seqs = cover_.seqs;
    std::vector<std::uint32_t> order(threads_.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto place = [this](std::uint32_t index) {
        const Thread& thread = threads_[index];
        return std::tuple{cells_[thread.cell].number, thread.pid, thread.tid, thread.first_ticks};
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
    std::vector<std::uint32_t> ranks(threads_.size());
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) {
        ranks[order[rank]] = rank;
    }
    std::vector<Sum> sums = sums_;
    std::sort(sums.begin(), sums.end(), [&](const Sum& a, const Sum& b) {
        return std::pair{ranks[a.thread], a.stack} < std::pair{ranks[b.thread], b.stack};
    });
    auto sum = sums.begin();
    for (const std::uint32_t index : order) {
        const Thread& thread = threads_[index];
        const CellBounds& cell = cells_[thread.cell];
        if (made.cells.empty() || made.cells.back().number != cell.number) {
            made.cells.push_back({cell.number, cell.from, cell.until, 0});
        }
        for (; sum != sums.end() && sum->thread == index; ++sum) {
            made.sums.push_back({StackNumber{sum->stack}, sum->row_count, sum->weight});
        }
        made.threads.push_back({thread.pid, thread.tid, thread.first_ticks, thread.last_ticks,
                                static_cast<std::uint32_t>(made.sums.size())});
        made.cells.back().threads_end = static_cast<std::uint32_t>(made.threads.size());
    }
    return made;
}

void RollupSums::clear() {
    cells_.clear();
    threads_.clear();
    thread_numbers_.clear();
    remembered_ = {};
    sums_.clear();
    sum_numbers_ = {};
    cover_ = {};
}

}  // namespace perfleet
