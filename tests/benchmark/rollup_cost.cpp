// What profiles of long times cost, counted from rollups and from blocks, and what making rollups costs.
//
//   rollup_cost [--rows N] [--sessions N] [--stacks N] [--threads N] [--folder DIR]
//
// Stores batches of 16k rows in this process, as a gateway does: each session at 999 Hz on two processors, hour after
// hour, an epoch an hour, with as many call chains as --stacks says. Then the store joins and rolls up. The sums of all
// rows are taken from blocks and from rollups in turn, five times each: medians, of time and of CPU. Answers are
// compared.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/statistic/stack_counts.h"
#include "storage/store/store.h"
#include "tests/benchmark/stored_hours.h"

namespace perfleet {
namespace {

constexpr int kRounds = 5;

struct Options {
    std::uint64_t row_count = 10'000'000;
    std::uint64_t session_count = 1;
    std::uint32_t stack_count = 20'000;
    unsigned thread_count = 1;
    std::string folder = std::filesystem::temp_directory_path().string();
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "rollup_cost: %s\n", what.c_str());
    std::exit(1);
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

struct Taken {
    double wall_ms = 0;
    double cpu_ms = 0;
    std::uint64_t rows = 0;
    std::uint64_t sums = 0;
    AnswerSources sources;
};

Taken take(const StoreReader& store, const Options& options, bool is_exact) {
    Selection selection;
    selection.thread_count = options.thread_count;
    selection.is_exact = is_exact;
    const double wall = wall_ms();
    const double cpu = cpu_ms();
    const Scan scan = checked_or_stop(Scan::open(store, selection));
    Taken taken;
    checked_or_stop(
        visit_stack_counts(scan, StackCountOptions{.event = "cpu-clock"}, [&](const EpochStackCounts& epoch) {
            for (const StackCount& count : epoch.counts) {
                taken.rows += count.value;
                ++taken.sums;
            }
        }));
    taken.wall_ms = wall_ms() - wall;
    taken.cpu_ms = cpu_ms() - cpu;
    taken.sources = scan.sources().read();
    return taken;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(const Options& options) {
    const std::string folder = options.folder + "/rollup_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    StoreOptions with_rollups;
    with_rollups.rollups = RollupPolicy{.rows_min = 1};
    {
        auto store = checked_or_stop(open_rocksdb_store(folder));
        for (std::uint64_t number = 1; number <= options.session_count; ++number) {
            store_session(*store, number, options.row_count / options.session_count, options.stack_count);
        }
        checked_or_stop(store->sync());
    }
    const UtcNs later{2'000'000'000 * kNsPerSecond};
    {
        auto store = checked_or_stop(open_rocksdb_store(folder));
        checked_or_stop(store->join(later, [](const JoinStep&) { return Visit::kContinue; }));
    }
    JoinStep made;
    double cpu = 0;
    {
        auto store = checked_or_stop(open_rocksdb_store(folder, with_rollups));
        cpu = cpu_ms();
        checked_or_stop(store->join(later, [&](const JoinStep& step) {
            made.rollups += step.rollups;
            made.rollup_rows += step.rollup_rows;
            made.rollup_bytes += step.rollup_bytes;
            made.rows_left += step.rows_left;
            return Visit::kContinue;
        }));
        cpu = cpu_ms() - cpu;
        checked_or_stop(store->sync());
    }
    const auto reader = checked_or_stop(open_rocksdb_reader(folder));
    std::vector<double> times[2];
    std::vector<double> cpus[2];
    Taken last[2];
    for (int round = 0; round < kRounds; ++round) {
        for (const int exact : {1, 0}) {
            last[exact] = take(*reader, options, exact == 1);
            times[exact].push_back(last[exact].wall_ms);
            cpus[exact].push_back(last[exact].cpu_ms);
        }
    }
    if (last[0].rows != last[1].rows || last[0].sums != last[1].sums) {
        fail("rollups give other sums than blocks");
    }
    std::printf(
        "%llu rows of %llu sessions: %llu rollups of %llu rows, %.2f B a row, %.0f ns of CPU a row; %llu rows left "
        "out\n",
        static_cast<unsigned long long>(last[1].rows), static_cast<unsigned long long>(options.session_count),
        static_cast<unsigned long long>(made.rollups), static_cast<unsigned long long>(made.rollup_rows),
        static_cast<double>(made.rollup_bytes) / static_cast<double>(last[1].rows),
        1e6 * cpu / static_cast<double>(last[1].rows), static_cast<unsigned long long>(made.rows_left));
    std::printf(
        "  from blocks  %8.1f ms, CPU %8.1f ms\n  from rollups %8.1f ms, CPU %8.1f ms (%llu rollups, %llu blocks)\n",
        median(times[1]), median(cpus[1]), median(times[0]), median(cpus[0]),
        static_cast<unsigned long long>(last[0].sources.rollups),
        static_cast<unsigned long long>(last[0].sources.blocks));
    std::printf("  %.1f times as quick, %.1f times less CPU\n", median(times[1]) / median(times[0]),
                median(cpus[1]) / median(cpus[0]));
    std::filesystem::remove_all(folder);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string value = argv[i + 1];
        if (name == "--rows") {
            options.row_count = std::stoull(value);
        } else if (name == "--sessions") {
            options.session_count = std::max(1ULL, std::stoull(value));
        } else if (name == "--stacks") {
            options.stack_count = static_cast<std::uint32_t>(std::stoul(value));
        } else if (name == "--threads") {
            options.thread_count = static_cast<unsigned>(std::stoul(value));
        } else if (name == "--folder") {
            options.folder = value;
        } else {
            fail("unknown option " + std::string{name});
        }
    }
    return options;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    perfleet::measure(perfleet::parse(argc, argv));
    return 0;
}
