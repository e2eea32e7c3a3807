#include "query-engine/statistic/number/rank_search.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

RankSearch::RankSearch(std::uint64_t min, std::uint64_t max, std::span<const std::uint64_t> ranks) {
    PERFLEET_ASSERT(min <= max);
    std::vector<std::uint64_t> ascending{ranks.begin(), ranks.end()};
    std::sort(ascending.begin(), ascending.end());
    ascending.erase(std::unique(ascending.begin(), ascending.end()), ascending.end());
    if (!ascending.empty()) {
        add_range(min, max, 0, std::move(ascending));
    }
}

void RankSearch::add_range(std::uint64_t low, std::uint64_t high, std::uint64_t rank_first,
                           std::vector<std::uint64_t> ranks) {
    if (low == high) {
        for (const std::uint64_t rank : ranks) {
            found_[rank] = low;
        }
        return;
    }
    Range range;
    range.low = low;
    const auto width_bits = static_cast<unsigned>(std::bit_width(high - low));
    range.shift = width_bits > kBucketBits ? width_bits - kBucketBits : 0;
    range.counts.resize(((high - low) >> range.shift) + 1);
    range.rank_first = rank_first;
    range.ranks = std::move(ranks);
    open_.push_back(static_cast<std::uint32_t>(ranges_.size()));
    ranges_.push_back(std::move(range));
}

void RankSearch::count(std::span<const std::uint64_t> values) {
    if (open_.empty()) {
        return;
    }
    Range& whole = ranges_.front();
    if (!whole.counts.empty()) {
        std::uint64_t* const counts = whole.counts.data();
        for (const std::uint64_t value : values) {
            ++counts[(value - whole.low) >> whole.shift];
        }
        return;
    }
    const std::uint32_t* const first_children = whole.children.data();
    for (const std::uint64_t value : values) {
        std::uint32_t child = first_children[(value - whole.low) >> whole.shift];
        while (child != kNoChild) {
            Range& range = ranges_[child];
            const std::uint64_t bucket = (value - range.low) >> range.shift;
            if (!range.counts.empty()) {
                ++range.counts[bucket];
                break;
            }
            child = range.children.empty() ? kNoChild : range.children[bucket];
        }
    }
}

void RankSearch::merge(const RankSearch& other) {
    PERFLEET_ASSERT(open_ == other.open_);
    for (const std::uint32_t index : open_) {
        std::vector<std::uint64_t>& counts = ranges_[index].counts;
        const std::vector<std::uint64_t>& others = other.ranges_[index].counts;
        PERFLEET_ASSERT(counts.size() == others.size());
        std::transform(counts.begin(), counts.end(), others.begin(), counts.begin(), std::plus{});
    }
}

void RankSearch::narrow() {
    for (const std::uint32_t index : std::exchange(open_, {})) {
        const std::vector<std::uint64_t> counts = std::exchange(ranges_[index].counts, {});
        const std::vector<std::uint64_t> ranks = std::exchange(ranges_[index].ranks, {});
        std::vector<std::uint32_t> children(counts.size(), kNoChild);
        std::uint64_t rank_first = ranges_[index].rank_first;
        std::size_t next = 0;
        for (std::size_t bucket = 0; bucket < counts.size() && next < ranks.size(); ++bucket) {
            const std::uint64_t rank_end = rank_first + counts[bucket];
            std::vector<std::uint64_t> inside;
            for (; next < ranks.size() && ranks[next] < rank_end; ++next) {
                inside.push_back(ranks[next]);
            }
            if (!inside.empty()) {
                const std::uint64_t low = ranges_[index].low + (std::uint64_t{bucket} << ranges_[index].shift);
                const std::uint64_t high = low + ((1ULL << ranges_[index].shift) - 1);
                const auto child = static_cast<std::uint32_t>(ranges_.size());
                add_range(low, high, rank_first, std::move(inside));
                children[bucket] = ranges_.size() > child ? child : kNoChild;
            }
            rank_first = rank_end;
        }
        PERFLEET_ASSERT(next == ranks.size());
        ranges_[index].children = std::move(children);
    }
}

std::vector<std::uint64_t> values_at_ranks(std::span<const std::uint64_t> values,
                                           std::span<const std::uint64_t> ranks) {
    if (values.empty()) {
        PERFLEET_ASSERT(ranks.empty());
        return {};
    }
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    RankSearch search{*min, *max, ranks};
    while (!search.is_done()) {
        search.count(values);
        search.narrow();
    }
    std::vector<std::uint64_t> found;
    for (const std::uint64_t rank : ranks) {
        found.push_back(search.value(rank));
    }
    return found;
}

}  // namespace perfleet
