// Exact percentiles of many values by counting, compared with std::sort. One item is one value.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <vector>

#include "query-engine/statistic/number/description.h"
#include "query-engine/statistic/number/random_stream.h"
#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Latencies: most within a factor of two, a long tail.
std::vector<std::uint64_t> latencies(std::int64_t count) {
    RandomStream random{1};
    std::vector<std::uint64_t> values(static_cast<std::size_t>(count));
    std::generate(values.begin(), values.end(), [&] {
        const std::uint64_t usual = 1'000 + random.below(1'000);
        return random.below(100) == 0 ? usual << random.below(20) : usual;
    });
    return values;
}

void describe_values(benchmark::State& state) {
    const std::vector<std::uint64_t> values = latencies(state.range(0));
    const std::array percentiles{Quantile::of_percent(50), Quantile::of_percent(90), Quantile::of_percent(99)};
    for (auto _ : state) {
        const auto description = describe(pieces_of(values), percentiles, 0.95L);
        PERFLEET_ASSERT(description.ok());
        benchmark::DoNotOptimize(description->median);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

void sort_values(benchmark::State& state) {
    const std::vector<std::uint64_t> values = latencies(state.range(0));
    for (auto _ : state) {
        state.PauseTiming();
        std::vector<std::uint64_t> sorted = values;
        state.ResumeTiming();
        std::sort(sorted.begin(), sorted.end());
        benchmark::DoNotOptimize(sorted.data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(describe_values)->Arg(100'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(sort_values)->Arg(100'000)->Arg(10'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace perfleet
