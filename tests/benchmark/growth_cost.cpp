// How the cost of a query grows: `perfleet top` over more and more rows of one series, and over the same rows in more
// and more series; and how little a query of one target depends on the size of a fleet.
//
//   growth_cost --bin DIR [--rows 1000000,10000000,100000000] [--series 1,100,10000] [--series-rows 10000000]
//               [--fleet 10000] [--hours 24] [--figure FILE.png|FILE.svg] [--folder DIR]
//
// Each store is filled in this process as a gateway fills it, compacted and rolled up; then the program is run, in turn
// from every row and with summaries, three times each: medians of its CPU time and its time, and its peak memory. What
// is measured is the whole program: start, opening the store, counting, names, the table.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "storage/compact/policy.h"
#include "storage/store/open_store.h"
#include "tests/benchmark/growth_figure.h"
#include "tests/benchmark/program_run.h"
#include "tests/benchmark/stored_hours.h"

namespace perfleet {
namespace {

constexpr int kRounds = 3;
constexpr std::uint32_t kStackCount = 2'000;
// Of the fleet the search of one among many is measured, not its rows.
constexpr std::uint32_t kFleetStackCount = 16;
constexpr std::uint64_t kFleetRowsPerHour = 50;

struct Options {
    std::string bin;
    std::vector<std::uint64_t> rows{1'000'000, 10'000'000, 100'000'000};
    std::vector<std::uint64_t> series{1, 100, 10'000};
    std::uint64_t series_rows = 10'000'000;
    std::uint64_t fleet = 10'000;
    std::uint64_t hours = 24;
    std::string figure;
    std::string folder = std::filesystem::temp_directory_path().string();
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "growth_cost: %s\n", what.c_str());
    std::exit(1);
}

ProgramRun run_top(const Options& options, const std::string& store, bool is_exact) {
    std::vector<std::string> command{options.bin + "/perfleet", "top", "--limit", "20", "--data", store};
    if (is_exact) {
        command.emplace_back("--exact");
    }
    return run_program(command);
}

void fill(const std::string& store_folder, std::uint64_t row_count, std::uint64_t series_count) {
    StoreOptions with_summaries;
    with_summaries.summaries = SummaryPolicy{};
    with_summaries.dictionaries = DictionaryPolicy{};
    const auto store = checked_or_stop(open_store(store_folder, with_summaries));
    for (std::uint64_t number = 1; number <= series_count; ++number) {
        store_session(*store, number, row_count / series_count, kStackCount);
    }
    checked_or_stop(store->sync());
    checked_or_stop(
        store->compact(UtcNs{2'000'000'000 * kNsPerSecond}, [](const CompactionStep&) { return Visit::kContinue; }));
    checked_or_stop(store->sync());
}

GrowthPoint measure(const Options& options, std::uint64_t row_count, std::uint64_t series_count) {
    const std::string store_folder = options.folder + "/growth_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(store_folder);
    run_apart([&] { fill(store_folder, row_count, series_count); });
    std::array<std::vector<double>, 2> cpu_s;
    std::array<std::vector<double>, 2> wall_s;
    std::array<double, 2> memory_mib{};
    for (int round = 0; round < kRounds; ++round) {
        for (const bool is_exact : {true, false}) {
            const ProgramRun run = run_top(options, store_folder, is_exact);
            cpu_s[is_exact ? 0 : 1].push_back(run.cpu_s);
            wall_s[is_exact ? 0 : 1].push_back(run.wall_s);
            memory_mib[is_exact ? 0 : 1] = std::max(memory_mib[is_exact ? 0 : 1], run.memory_mib);
        }
    }
    std::filesystem::remove_all(store_folder);
    const GrowthPoint point{row_count, series_count, median(cpu_s[0]), median(cpu_s[1])};
    for (const int i : {0, 1}) {
        std::printf("%11llu rows, %6llu series, %s %8.3f s of CPU, %8.3f s, %7.1f MiB, %7.2f ns a row\n",
                    static_cast<unsigned long long>(row_count), static_cast<unsigned long long>(series_count),
                    i == 0 ? "every row:     " : "with summaries:", median(cpu_s[static_cast<std::size_t>(i)]),
                    median(wall_s[static_cast<std::size_t>(i)]), memory_mib[static_cast<std::size_t>(i)],
                    1e9 * median(cpu_s[static_cast<std::size_t>(i)]) / static_cast<double>(row_count));
    }
    std::fflush(stdout);
    return point;
}

// `top` of one target, CPU in seconds: in a store of so many, each with rows in every hour.
double selected_cpu_s(const Options& options, std::uint64_t target_count) {
    const std::string folder = options.folder + "/growth_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    run_apart([&] {
        auto store = checked_or_stop(open_store(folder));
        for (std::uint64_t number = 1; number <= target_count; ++number) {
            store_session(*store, number, options.hours * kFleetRowsPerHour, kFleetStackCount, kFleetRowsPerHour);
        }
        checked_or_stop(store->sync());
        store.reset();
        checked_or_stop(open_store(folder));  // its log goes into table files
    });
    std::vector<double> cpu_s;
    for (int round = 0; round < kRounds; ++round) {
        cpu_s.push_back(
            run_program({options.bin + "/perfleet", "top", "--select", "{target=\"target-1\"}", "--data", folder})
                .cpu_s);
    }
    std::filesystem::remove_all(folder);
    return median(cpu_s);
}

void measure_selection(const Options& options) {
    const double alone = selected_cpu_s(options, 1);
    const double of_fleet = selected_cpu_s(options, options.fleet);
    std::printf("one target of %llu, %llu hours: %.3f s of CPU; of one: %.3f s; %.1f times\n",
                static_cast<unsigned long long>(options.fleet), static_cast<unsigned long long>(options.hours),
                of_fleet, alone, of_fleet / alone);
}

std::vector<std::uint64_t> numbers_of(const std::string& text) {
    std::vector<std::uint64_t> numbers;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        numbers.push_back(std::max(1ULL, std::stoull(text.substr(begin, end - begin))));
        begin = end + 1;
    }
    return numbers;
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string value = argv[i + 1];
        if (name == "--bin") {
            options.bin = value;
        } else if (name == "--rows") {
            options.rows = numbers_of(value);
        } else if (name == "--series") {
            options.series = numbers_of(value);
        } else if (name == "--series-rows") {
            options.series_rows = std::stoull(value);
        } else if (name == "--fleet") {
            options.fleet = std::stoull(value);
        } else if (name == "--hours") {
            options.hours = std::max(1ULL, std::stoull(value));
        } else if (name == "--figure") {
            options.figure = value;
        } else if (name == "--folder") {
            options.folder = value;
        } else {
            fail("unknown option " + std::string{name});
        }
    }
    if (options.bin.empty()) {
        fail("--bin DIR: where perfleet is");
    }
    return options;
}

void write_figure(const std::string& path, const Growth& growth) {
    const Figure figure = growth_figure(growth);
    std::ofstream file{path, std::ios::binary};
    file << (path.ends_with(".svg") ? svg_of(figure) : checked_or_stop(png_of(figure)));
    if (!file.flush()) {
        fail(path + " can't be written");
    }
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    using namespace perfleet;
    const Options options = parse(argc, argv);
    Growth growth;
    for (const std::uint64_t row_count : options.rows) {
        growth.by_rows.push_back(measure(options, row_count, 1));
    }
    for (const std::uint64_t series_count : options.series) {
        growth.by_series.push_back(measure(options, options.series_rows, series_count));
    }
    if (options.fleet > 0) {
        measure_selection(options);
    }
    if (!options.figure.empty()) {
        write_figure(options.figure, growth);
    }
    return 0;
}
