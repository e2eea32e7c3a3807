// From stored blocks to sums by stack, on one thread: the input of profiles. Blocks of 16k rows in the memory store, so
// that the disk isn't measured. One item is one row.
#include <benchmark/benchmark.h>

#include "query-engine/statistic/stack/stack_counts.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/benchmark/sample_rows.h"

namespace perfleet {
namespace {

constexpr TargetId kTarget{1};
constexpr SessionId kSession{2, 3};
constexpr BucketNumber kBucket{480'000};
constexpr std::uint32_t kStackCount = 4'096;

// Every row in one epoch; stacks are chains of up to 16 nodes.
std::unique_ptr<Store> filled_store(std::uint64_t batch_count) {
    auto store = make_memory_store();
    const Partition partition = partition_of(kTarget, kBucket);
    PERFLEET_ASSERT(store->define(partition, sample_session(kTarget, kSession)).ok());
    const SampleRows rows = make_sample_rows(limits::kBatchRowsMax, kStackCount);
    for (std::uint64_t seq = 1; seq <= batch_count; ++seq) {
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
        if (seq == 1) {
            std::vector<SampleBatch::Stack> stacks;
            for (std::uint32_t number = 1; number <= kStackCount; ++number) {
                stacks.push_back({number, number % 16 == 1 ? 0 : number - 1, 0, 0x1000 + number});
            }
            batch.add_images({{0, 0, std::string(20, 'b'), "/bin/true"}}).add_stacks(stacks);
        }
        std::vector<std::uint64_t> times = rows.time;
        for (std::uint64_t& time : times) {
            time += seq * 16'000'000'000;
        }
        batch.add(kSampleSeries, {{ColumnId::kTime, times},
                                  {ColumnId::kCpu, rows.cpu},
                                  {ColumnId::kPid, rows.pid},
                                  {ColumnId::kTid, rows.tid},
                                  {ColumnId::kStack, rows.stack},
                                  {ColumnId::kWeight, rows.weight}});
        batch.entry(kSampleSeries, CountName::kProduced, seq * rows.row_count());
        PERFLEET_ASSERT(store->put(partition, std::vector{batch.build()}).ok());
    }
    return store;
}

void count_stacks(benchmark::State& state) {
    const auto store = filled_store(static_cast<std::uint64_t>(state.range(0)));
    Selection selection;
    selection.thread_count = 1;
    const auto scan = Scan::open(*store, selection);
    PERFLEET_ASSERT(scan.ok() && scan->sessions().size() == 1);
    const Measure measure = measure_of(*scan, sample_session(kTarget, kSession).events[0].name);
    const std::int64_t row_count = state.range(0) * limits::kBatchRowsMax;
    for (auto _ : state) {
        std::uint64_t counted = 0;
        const auto done = visit_stack_counts(*scan, measure, {}, [&](const EpochStackCounts& counts) {
            for (const StackCount& count : counts.counts) {
                counted += count.sum.rows;
            }
        });
        PERFLEET_ASSERT(done.ok() && counted == static_cast<std::uint64_t>(row_count));
    }
    state.SetItemsProcessed(row_count * state.iterations());
}
BENCHMARK(count_stacks)->Arg(1)->Arg(16)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace perfleet
