// Rows as a collector at 999 Hz on two processors makes them: times with the jitter of a timer, a skewed choice of
// stacks and threads. The same rows every time, for each seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "schemas/vocabulary/series.h"

namespace perfleet {

inline constexpr Series kSampleSeries{Kind::kSample, EventNumber{0}};

// The columns of kind sample, in the order of columns_of().
struct SampleRows {
    std::vector<std::uint64_t> time, cpu, pid, tid, stack, weight;

    [[nodiscard]] std::size_t row_count() const { return time.size(); }
    [[nodiscard]] std::vector<const std::vector<std::uint64_t>*> columns() const {
        return {&time, &cpu, &pid, &tid, &stack, &weight};
    }
};

inline SampleRows make_sample_rows(std::size_t row_count, std::uint64_t stack_count = 4'096, std::uint64_t seed = 42) {
    std::mt19937_64 random{seed};
    SampleRows rows;
    std::uint64_t now = 1'000'000'000'000;
    std::uint64_t thread = 0;
    for (std::size_t i = 0; i < row_count; ++i) {
        now += 500'500 + random() % 2'000;
        if (random() % 16 == 0) {
            thread = random() % 24;
        }
        // Of two choices the smaller, twice: a few stacks are hot, most are rare.
        const std::uint64_t a = random() % stack_count;
        const std::uint64_t b = random() % (a + 1);
        rows.time.push_back(now);
        rows.cpu.push_back(i % 2);
        rows.pid.push_back(4'000 + thread / 4);
        rows.tid.push_back(4'000 + thread);
        rows.stack.push_back(1 + random() % (b + 1));
        rows.weight.push_back(1'001'001);
    }
    return rows;
}

}  // namespace perfleet
