#include "storage/rollup/value_sums.h"

#include <algorithm>
#include <utility>

#include "storage/number/rank_sketch.h"

namespace perfleet {

void ValueSums::add(std::uint32_t cell, std::uint32_t bucket, std::uint64_t row_count) {
    std::uint64_t& rows = buckets_[std::uint64_t{cell} << 32U | bucket];
    bucket_count_ += rows == 0 ? 1 : 0;
    rows += row_count;
}

void ValueSums::add_rows(const DecodedRows& rows, std::size_t first, std::size_t last) {
    const auto times = rows.integers(ColumnId::kTime);
    const auto values = rows.integers(ColumnId::kValue);
    for (std::size_t begin = first; begin < last;) {
        const std::uint32_t cell = cells_.at(Ticks{times[begin]});
        const auto [from, until] = std::pair{cells_[cell].from.value, cells_[cell].until.value};
        sums_.resize(cells_.size());
        Sums& sums = sums_[cell];
        std::size_t end = begin;
        do {
            sums.first_ticks = std::min(sums.first_ticks, Ticks{times[end]});
            sums.last_ticks = std::max(sums.last_ticks, Ticks{times[end]});
            add(cell, RankSketch::bucket_of(values[end]), 1);
        } while (++end < last && times[end] >= from && times[end] < until);
        sums.moments.add(values.subspan(begin, end - begin));
        begin = end;
    }
    cover_.row_count += last - first;
}

void ValueSums::add_sums(const ValueSums& finer) {
    std::vector<std::uint32_t> cells;
    for (std::size_t i = 0; i < finer.cells_.size(); ++i) {
        cells.push_back(cells_.holding(finer.cells_[i], finer.cells_));
        sums_.resize(cells_.size());
        Sums& sums = sums_[cells.back()];
        sums.moments.merge(finer.sums_[i].moments);
        sums.first_ticks = std::min(sums.first_ticks, finer.sums_[i].first_ticks);
        sums.last_ticks = std::max(sums.last_ticks, finer.sums_[i].last_ticks);
    }
    finer.buckets_.for_each([&](std::uint64_t key, std::uint64_t row_count) {
        add(cells[key >> 32U], static_cast<std::uint32_t>(key), row_count);
    });
    cover_.row_count += finer.cover_.row_count;
    cover_.seqs.insert(cover_.seqs.end(), finer.cover_.seqs.begin(), finer.cover_.seqs.end());
}

ValueRollup ValueSums::rollup(EpochNumber epoch) const {
    ValueRollup made;
    made.epoch = epoch;
    made.row_count = cover_.row_count;
    made.seqs = cover_.seqs;
    const std::vector<std::uint32_t> order = cells_.in_order();
    std::vector<std::uint64_t> ranks(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        ranks[order[rank]] = rank;
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets;  // (rank of the cell, bucket), rows
    buckets_.for_each([&](std::uint64_t key, std::uint64_t row_count) {
        buckets.emplace_back(ranks[key >> 32U] << 32U | (key & 0xffff'ffffU), row_count);
    });
    std::sort(buckets.begin(), buckets.end());
    auto bucket = buckets.begin();
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        for (; bucket != buckets.end() && bucket->first >> 32U == rank; ++bucket) {
            made.buckets.push_back({static_cast<std::uint32_t>(bucket->first), bucket->second});
        }
        const Sums& sums = sums_[order[rank]];
        made.cells.push_back({cells_[order[rank]], sums.first_ticks, sums.last_ticks, sums.moments,
                              static_cast<std::uint32_t>(made.buckets.size())});
    }
    return made;
}

void ValueSums::clear() {
    cells_.clear();
    sums_.clear();
    buckets_ = {};
    bucket_count_ = 0;
    cover_ = {};
}

}  // namespace perfleet
