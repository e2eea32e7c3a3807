// Collects rows and seals them into a message. One item is one sample row.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/batch_builder.h"
#include "tests/benchmark/sample_rows.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kSampleColumns = 6;

struct Fixture {
    SampleRows rows = make_sample_rows(limits::kBatchRowsMax);
    std::vector<std::uint64_t> values =
        std::vector<std::uint64_t>(BatchBuilder::values_count(limits::kBatchRowsMax, kSampleColumns, 1));
    std::vector<std::byte> bytes = std::vector<std::byte>(64);
    std::vector<std::byte> message = std::vector<std::byte>(limits::kBatchSizeBytesMax);
    std::unique_ptr<BatchBuilder> builder = std::make_unique<BatchBuilder>(values, bytes, limits::kBatchRowsMax);

    void gather() {
        for (std::size_t i = 0; i < rows.row_count(); ++i) {
            const std::array row{rows.cpu[i], rows.pid[i], rows.tid[i], rows.stack[i], rows.weight[i]};
            PERFLEET_ASSERT(builder->append({kSampleSeries, Ticks{rows.time[i]}, row}));
        }
    }

    std::size_t seal() {
        const auto size_bytes = builder->seal({SessionId{1, 2}, Seq{1}, EpochNumber{0}, BucketNumber{0}},
                                              Ticks{rows.time.back()}, {}, {}, {}, message);
        PERFLEET_ASSERT(size_bytes.ok());
        return *size_bytes;
    }
};

void report(benchmark::State& state, const Fixture& fixture, std::size_t size_bytes) {
    state.SetItemsProcessed(static_cast<std::int64_t>(fixture.rows.row_count()) * state.iterations());
    if (size_bytes > 0) {
        state.counters["bytes_a_row"] = static_cast<double>(size_bytes) / static_cast<double>(fixture.rows.row_count());
    }
}

void gather_rows(benchmark::State& state) {
    Fixture fixture;
    for (auto _ : state) {
        fixture.builder->clear();
        fixture.gather();
    }
    report(state, fixture, 0);
}
BENCHMARK(gather_rows);

void seal_rows(benchmark::State& state) {
    Fixture fixture;
    fixture.gather();
    std::size_t size_bytes = 0;
    for (auto _ : state) {
        size_bytes = fixture.seal();
        benchmark::DoNotOptimize(fixture.message.data());
    }
    report(state, fixture, size_bytes);
}
BENCHMARK(seal_rows);

}  // namespace
}  // namespace perfleet
