// A histogram of durations: one thread counts, any thread reads a copy, without a lock.
//
// Freestanding. The sum and the buckets are read one after the other, so a copy made during observe() may lack its
// duration in one of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/shared_value.h"

namespace perfleet {

struct DurationHistogram {
    // Upper bounds, inclusive; one more bucket counts longer durations.
    static constexpr std::array<std::uint64_t, 16> kBoundsNs{
        500'000,       1'000'000,      2'500'000,      5'000'000,     10'000'000,    25'000'000,
        50'000'000,    100'000'000,    250'000'000,    500'000'000,   1'000'000'000, 2'500'000'000,
        5'000'000'000, 10'000'000'000, 30'000'000'000, 60'000'000'000};

    // Called by one thread at a time.
    void observe(std::uint64_t duration_ns) {
        std::size_t bucket = 0;
        while (bucket < kBoundsNs.size() && duration_ns > kBoundsNs[bucket]) {
            ++bucket;
        }
        ++in_bucket[bucket];
        sum_ns += duration_ns;
    }

    std::array<SharedCount, kBoundsNs.size() + 1> in_bucket{};  // not cumulative
    SharedCount sum_ns;
};

}  // namespace perfleet
