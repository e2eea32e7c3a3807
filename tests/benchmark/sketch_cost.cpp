// What percentiles of very many values cost: from every value, and from a sketch of every value.
//
//   sketch_cost [--rows N] [--folder DIR]
//
// Stores batches of 16k tracepoint rows in this process, a thousand values a second with a long tail, hour after hour;
// the store compacts and rolls up. The three answers are made in turn, three times each: medians, of time and of CPU,
// on one thread.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/statistic/latency/latency.h"
#include "storage/compact/compaction_step.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet {
namespace {

constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
constexpr TargetId kTarget{1};
constexpr SessionId kSession{1, 1};
constexpr std::uint64_t kTicksARow = 1'000'000;
constexpr std::uint64_t kHourTicks = 3'600'000'000'000;
constexpr std::uint32_t kFirstBucket = 472'223;
constexpr std::uint64_t kFirstTicks = kFirstBucket * kHourTicks - 1'700'000'000'000'000'000;
constexpr std::uint64_t kRowsABatch = 15'000;  // an hour is a whole number of them
constexpr int kRounds = 3;

template <class Value>
Value checked(Result<Value> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "sketch_cost: %s\n", result.error().message.c_str());
        std::exit(1);
    }
    return std::move(*result);
}

double cpu_ms() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto milliseconds = [](const timeval& time) {
        return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
    };
    return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

double wall_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void store_rows(Store& store, std::uint64_t row_count) {
    std::mt19937_64 random{7};
    std::lognormal_distribution<double> spread{9.5, 0.7};
    for (std::uint64_t row = 0, seq = 1; row < row_count; row += kRowsABatch, ++seq) {
        const auto hour = static_cast<std::uint32_t>(row * kTicksARow / kHourTicks);
        SampleIntegers rows;
        for (std::uint64_t i = 0; i < kRowsABatch; ++i) {
            rows[ColumnId::kTime].push_back(kFirstTicks + (row + i) * kTicksARow + random() % 1'000);
            rows[ColumnId::kValue].push_back(static_cast<std::uint64_t>(spread(random)));
            for (const ColumnId column : {ColumnId::kPid, ColumnId::kTid, ColumnId::kStack, ColumnId::kWeight}) {
                rows[column].push_back(0);
            }
        }
        const BucketNumber bucket{kFirstBucket + hour};
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{hour}, bucket};
        batch.add(kPoints, rows).entry(kPoints, CountName::kProduced, row + kRowsABatch);
        const Partition partition = partition_of(kTarget, bucket);
        checked(store.define(partition, sample_session(kTarget, kSession)));
        checked(store.put(partition, std::vector{batch.build()}));
        checked(store.advance_watermark(kTarget, kSession, Seq{seq}));
    }
}

struct Way {
    const char* name;
    LatencyView view;
};
constexpr Way kWays[] = {{"every value", LatencyView::kSummary}, {"sketch of every value", LatencyView::kSketch}};

void measure(std::uint64_t row_count, const std::string& parent) {
    const std::string folder = parent + "/sketch_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    const UtcNs later{2'000'000'000 * kNsPerSecond};
    {
        auto store = checked(open_store(folder));
        store_rows(*store, row_count);
        checked(store->compact(later, [](const CompactionStep&) { return Visit::kContinue; }));
        checked(store->sync());
    }
    const auto reader = checked(open_store_reader(folder));
    std::vector<double> times[std::size(kWays)];
    std::vector<double> cpus[std::size(kWays)];
    for (int round = 0; round < kRounds; ++round) {
        for (std::size_t i = 0; i < std::size(kWays); ++i) {
            const double wall = wall_ms();
            const double cpu = cpu_ms();
            Selection selection;
            selection.thread_count = 1;
            const Scan scan = checked(Scan::open(*reader, selection));
            LatencyOptions options;
            options.view = kWays[i].view;
            (void)checked(make_latency(scan, options));
            times[i].push_back(wall_ms() - wall);
            cpus[i].push_back(cpu_ms() - cpu);
        }
    }
    std::printf("%llu values\n", static_cast<unsigned long long>(row_count));
    for (std::size_t i = 0; i < std::size(kWays); ++i) {
        std::printf("  from %-22s %9.1f ms, CPU %9.1f ms\n", kWays[i].name, median(times[i]), median(cpus[i]));
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    std::uint64_t row_count = 10'000'000;
    std::string folder = std::filesystem::temp_directory_path().string();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::string_view{argv[i]} == "--rows") {
            row_count = std::stoull(argv[i + 1]);
        } else {
            folder = argv[i + 1];
        }
    }
    perfleet::measure(row_count, folder);
    return 0;
}
