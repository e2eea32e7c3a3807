// Sorts and merges counts: ascending by runner and stack, each pair once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {

inline bool is_before(const StackCount& a, const StackCount& b) {
    return std::tuple{a.runner_index, a.stack} < std::tuple{b.runner_index, b.stack};
}

// Sorts the counts from `begin` on into those before it, which are sorted. Fast if they come nearly in order.
inline void sort_from(std::size_t begin, std::vector<StackCount>& counts) {
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(begin);
    if (!std::is_sorted(middle, counts.end(), is_before)) {
        std::sort(middle, counts.end(), is_before);
    }
    std::inplace_merge(counts.begin(), middle, counts.end(), is_before);
}

// Merges neighbours with the same runner and stack.
inline void sum_equal_pairs(std::vector<StackCount>& counts) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (kept != 0 && !is_before(counts[kept - 1], counts[i])) {
            counts[kept - 1].sum += counts[i].sum;
        } else {
            counts[kept++] = counts[i];
        }
    }
    counts.resize(kept);
}

}  // namespace perfleet
