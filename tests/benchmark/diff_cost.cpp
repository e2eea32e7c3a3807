// What comparing two long profiles costs, beside counting them.
//
//   diff_cost --bin DIR [--rows N] [--stacks N] [--rounds N] [--folder DIR]
//
// Stores two sessions of as many rows each, in this process, as a gateway does: the same call chains as often, except
// for chance. Each address is a function without a name, so that there are about as many lines as stacks. Then programs
// are run in turn, on one thread: `perfleet diff` of one session with the other, all lines as CSV and the first forty,
// and `perfleet top` of both. Medians of their CPU times; what is measured is the whole program.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "storage/store/open_store.h"
#include "tests/benchmark/program_run.h"
#include "tests/benchmark/stored_hours.h"

namespace perfleet {
namespace {

struct Options {
    std::string bin;
    std::uint64_t row_count = 3'000'000;
    std::uint32_t stack_count = 100'000;
    unsigned round_count = 3;
    std::string folder = std::filesystem::temp_directory_path().string();
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "diff_cost: %s\n", what.c_str());
    std::exit(1);
}

void fill(const Options& options, const std::string& store_folder) {
    const auto store = checked_or_stop(open_store(store_folder));
    for (std::uint64_t number = 1; number <= 2; ++number) {
        store_session(*store, number, options.row_count, options.stack_count, kRowsPerHour, Likeness::kIndependent);
    }
    checked_or_stop(store->sync());
}

// A session as selections have it: both numbers in hexadecimal digits.
std::string session_text(std::uint64_t number) {
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(number), 1ULL);
    return text.data();
}

void measure(const Options& options) {
    const std::string folder = options.folder + "/diff_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const std::string store = folder + "/store";
    const std::string table = folder + "/lines.csv";
    run_apart([&] { fill(options, store); });
    const std::vector<std::string> all{
        options.bin + "/perfleet", "diff",      "--of", "profile", "--before", session_text(1), "--after",
        session_text(2),           "--threads", "1",    "--data",  store,      "--format",      "csv"};
    std::vector<std::string> first = all;
    first.insert(first.end(), {"--limit", "40"});
    const std::vector<std::string> top{options.bin + "/perfleet", "top", "--threads", "1", "--data", store};
    std::array<std::vector<double>, 3> cpu_s;
    double memory_mib = 0;
    for (unsigned round = 0; round < options.round_count; ++round) {
        const ProgramRun run = run_program(all, table);
        memory_mib = std::max(memory_mib, run.memory_mib);
        cpu_s[0].push_back(run.cpu_s);
        cpu_s[1].push_back(run_program(first).cpu_s);
        cpu_s[2].push_back(run_program(top).cpu_s);
    }
    std::ifstream lines{table};
    const auto line_count =
        std::count(std::istreambuf_iterator<char>{lines}, std::istreambuf_iterator<char>{}, '\n') - 1;
    if (line_count < 1) {
        fail("nothing was compared");
    }
    const double of_top = median(cpu_s[2]);
    std::printf("%llu samples on each side, %lld lines\n", static_cast<unsigned long long>(options.row_count),
                static_cast<long long>(line_count));
    std::printf("  diff, all lines:        %7.2f s of CPU, %5.1f times what top takes; %.0f MiB\n", median(cpu_s[0]),
                median(cpu_s[0]) / of_top, memory_mib);
    std::printf("  diff, the first forty:  %7.2f s of CPU, %5.1f times\n", median(cpu_s[1]), median(cpu_s[1]) / of_top);
    std::printf("  top of both:            %7.2f s of CPU\n", of_top);
    std::filesystem::remove_all(folder);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string value = argv[i + 1];
        if (name == "--bin") {
            options.bin = value;
        } else if (name == "--rows") {
            options.row_count = std::stoull(value);
        } else if (name == "--stacks") {
            options.stack_count = static_cast<std::uint32_t>(std::stoul(value));
        } else if (name == "--rounds") {
            options.round_count = std::max(1U, static_cast<unsigned>(std::stoul(value)));
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

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    perfleet::measure(perfleet::parse(argc, argv));
    return 0;
}
