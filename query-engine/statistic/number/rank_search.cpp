#include "query-engine/statistic/number/rank_search.h"

#include <algorithm>
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
    range.is_by_powers = ranges_.empty() && width_bits > kBucketBits;
    range.counts.resize((range.is_by_powers ? bucket_by_powers(high - low) : (high - low) >> range.shift) + 1);
    range.rank_first = rank_first;
    range.ranks = std::move(ranks);
    open_.push_back(static_cast<std::uint32_t>(ranges_.size()));
    ranges_.push_back(std::move(range));
}

// In a range by powers, bucket numbers below 512 are distances. Above, the bits from kMantissaBits on hold shift + 1,
// because the distance's leading bit is added to them.
std::uint64_t RankSearch::bucket_size_bits(const Range& range, std::uint64_t bucket) {
    if (!range.is_by_powers) {
        return range.shift;
    }
    const std::uint64_t power = bucket >> kMantissaBits;
    return power > 1 ? power - 1 : 0;
}

std::uint64_t RankSearch::low_of_bucket(const Range& range, std::uint64_t bucket) {
    const std::uint64_t shift = bucket_size_bits(range, bucket);
    const std::uint64_t distance = range.is_by_powers ? (bucket - (shift << kMantissaBits)) << shift : bucket << shift;
    return range.low + distance;
}

void RankSearch::count(std::span<const std::uint64_t> values) {
    if (open_.empty()) {
        return;
    }
    Range& whole = ranges_.front();
    if (!whole.counts.empty()) {
        std::uint64_t* const counts = whole.counts.data();
        if (whole.is_by_powers) {
            for (const std::uint64_t value : values) {
                ++counts[bucket_by_powers(value - whole.low)];
            }
            return;
        }
        for (const std::uint64_t value : values) {
            ++counts[(value - whole.low) >> whole.shift];
        }
        return;
    }
    const std::uint32_t* const first_children = whole.children.data();
    for (const std::uint64_t value : values) {
        const std::uint64_t distance = value - whole.low;
        std::uint32_t child = first_children[whole.is_by_powers ? bucket_by_powers(distance) : distance >> whole.shift];
        while (child != kNoChild) {
            Range& range = ranges_[child];
            if (!range.counts.empty()) {
                if (is_collecting_) {
                    range.collected.push_back(value);
                } else {
                    ++range.counts[(value - range.low) >> range.shift];
                    range.min = std::min(range.min, value);
                    range.max = std::max(range.max, value);
                }
                break;
            }
            child = range.children.empty() ? kNoChild : range.children[(value - range.low) >> range.shift];
        }
    }
}

void RankSearch::narrow() {
    std::uint64_t left_count = 0;
    for (const std::uint32_t index : std::exchange(open_, {})) {
        if (is_collecting_) {
            take_collected(index);
        } else {
            narrow_counted(index, left_count);
        }
    }
    is_collecting_ = !open_.empty() && left_count <= kCollectedMax;
    for (const std::uint32_t index : open_) {
        ranges_[index].collected.reserve(is_collecting_ ? ranges_[index].value_count : 0);
    }
}

void RankSearch::take_collected(std::uint32_t index) {
    Range& range = ranges_[index];
    std::sort(range.collected.begin(), range.collected.end());
    for (const std::uint64_t rank : std::exchange(range.ranks, {})) {
        found_[rank] = range.collected.at(rank - range.rank_first);
    }
    range.collected = {};
    range.counts = {};
}

// Adds the number of values in the newly opened ranges to `left_count`.
void RankSearch::narrow_counted(std::uint32_t index, std::uint64_t& left_count) {
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
            const Range& range = ranges_[index];
            const std::uint64_t bucket_low = low_of_bucket(range, bucket);
            const std::uint64_t bucket_high = bucket_low + ((1ULL << bucket_size_bits(range, bucket)) - 1);
            // The minimum and maximum of the first range aren't known.
            const bool is_first = index == 0;
            const std::uint64_t low = is_first ? bucket_low : std::max(bucket_low, range.min);
            const std::uint64_t high = is_first ? bucket_high : std::min(bucket_high, range.max);
            const auto child = static_cast<std::uint32_t>(ranges_.size());
            add_range(low, high, rank_first, std::move(inside));
            if (ranges_.size() > child) {
                children[bucket] = child;
                ranges_[child].value_count = counts[bucket];
                left_count += counts[bucket];
            }
        }
        rank_first = rank_end;
    }
    PERFLEET_ASSERT(next == ranks.size());
    ranges_[index].children = std::move(children);
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
