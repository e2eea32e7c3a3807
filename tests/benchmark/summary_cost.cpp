// What profiles of long times cost, counted from summaries of days and from blocks, and what making summaries costs.
//
//   summary_cost [--rows N] [--rows-per-hour N] [--sessions N] [--stacks N] [--threads N] [--folder DIR] [--keep DIR]
//
// Stores batches of 16k rows in this process, as a gateway does: each session at 999 Hz on two processors (fewer rows
// an hour, if --rows-per-hour says so), hour after hour, an epoch an hour, with as many call chains as --stacks
// requests. Then the store compacts, makes dictionaries, and sums days. Before and after the last one, `top` queries
// all rows, five times in a process of its own: medians of CPU, peak memory. Answers are compared.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/statistic/profile/top.h"
#include "query-engine/symbol/symbolizer.h"
#include "storage/compact/compaction_step.h"
#include "storage/compact/policy.h"
#include "storage/store/open_store.h"
#include "tests/benchmark/stored_hours.h"

namespace perfleet {
namespace {

constexpr int kRounds = 5;
constexpr UtcNs kLater{2'000'000'000 * kNsPerSecond};

struct Options {
    std::uint64_t row_count = 10'000'000;
    std::uint64_t rows_per_hour = kRowsPerHour;
    std::uint64_t session_count = 1;
    std::uint32_t stack_count = 20'000;
    unsigned thread_count = 1;
    std::string store;  // of one that is queried
    std::string keep;   // where the store stays; empty: nowhere
    std::string folder = std::filesystem::temp_directory_path().string();
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "summary_cost: %s\n", what.c_str());
    std::exit(1);
}

double cpu_ms(const rusage& usage) {
    const auto milliseconds = [](const timeval& time) {
        return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
    };
    return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

double own_cpu_ms() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return cpu_ms(usage);
}

// -- the process that queries -----------------------------------------------------------------------------------------

// Prints the answer's hash.
void ask(const Options& options) {
    const auto reader = checked_or_stop(open_store_reader(options.store));
    Selection selection;
    selection.thread_count = options.thread_count;
    const Scan scan = checked_or_stop(Scan::open(*reader, selection));
    Symbolizer symbolizer{nullptr, {}};
    const Answer answer = checked_or_stop(make_top(scan, symbolizer, {}));
    std::string text;
    for (const auto& row : answer.rows) {
        for (const AnswerValue& value : row) {
            if (const auto* number = std::get_if<std::uint64_t>(&value)) {
                text += std::to_string(*number) + " ";
            } else if (const auto* name = std::get_if<std::string>(&value)) {
                text += *name + " ";
            }
        }
    }
    std::printf("%zu\n", std::hash<std::string>{}(text));
}

// -- the process that stores ------------------------------------------------------------------------------------------

struct Asked {
    double cpu_ms = 0;
    double memory_mib = 0;
    std::string answer;
};

Asked ask_once(const Options& options, const std::string& store) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        fail("no pipe");
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        const std::string threads = std::to_string(options.thread_count);
        ::execl("/proc/self/exe", "summary_cost", "--ask", store.c_str(), "--threads", threads.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(ends[1]);
    Asked asked;
    FILE* said = ::fdopen(ends[0], "r");
    std::array<char, 64> hash{};
    const bool is_said = std::fscanf(said, "%63s", hash.data()) == 1;
    std::fclose(said);
    int status = 0;
    rusage usage{};
    if (::wait4(child, &status, 0, &usage) != child || status != 0 || !is_said) {
        fail("a query failed");
    }
    asked.answer = hash.data();
    asked.cpu_ms = cpu_ms(usage);
    asked.memory_mib = static_cast<double>(usage.ru_maxrss) / 1'024;
    return asked;
}

// The median's CPU, the peak memory.
Asked ask_often(const Options& options, const std::string& store) {
    std::vector<Asked> all;
    for (int round = 0; round < kRounds; ++round) {
        all.push_back(ask_once(options, store));
    }
    std::sort(all.begin(), all.end(), [](const Asked& a, const Asked& b) { return a.cpu_ms < b.cpu_ms; });
    Asked median = all[all.size() / 2];
    for (const Asked& one : all) {
        median.memory_mib = std::max(median.memory_mib, one.memory_mib);
    }
    return median;
}

struct Made {
    CompactionStep sum;
    double cpu_ms = 0;
};

Made compact(const std::string& folder, std::optional<SummaryPolicy> summaries) {
    StoreOptions options;
    options.summaries = summaries;
    options.dictionaries.emplace();
    auto store = checked_or_stop(open_store(folder, options));
    Made made;
    made.cpu_ms = own_cpu_ms();
    checked_or_stop(store->compact(kLater, [&](const CompactionStep& step) {
        made.sum.summaries += step.summaries;
        made.sum.summary_rows += step.summary_rows;
        made.sum.summary_bytes += step.summary_bytes;
        return Visit::kContinue;
    }));
    made.cpu_ms = own_cpu_ms() - made.cpu_ms;
    checked_or_stop(store->sync());
    return made;
}

void report(const Made& made, std::uint64_t row_count) {
    std::printf("%llu summaries of %llu rows, %.3f B a row, %.1f ns of CPU a row\n",
                static_cast<unsigned long long>(made.sum.summaries),
                static_cast<unsigned long long>(made.sum.summary_rows),
                static_cast<double>(made.sum.summary_bytes) / static_cast<double>(row_count),
                1e6 * made.cpu_ms / static_cast<double>(row_count));
}

void report(const char* name, const Asked& asked) {
    std::printf("  top from %-9s CPU %9.1f ms, memory %7.1f MiB\n", name, asked.cpu_ms, asked.memory_mib);
}

void measure(const Options& options) {
    const std::string folder = options.folder + "/summary_cost." + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    {
        auto store = checked_or_stop(open_store(folder));
        for (std::uint64_t number = 1; number <= options.session_count; ++number) {
            store_session(*store, number, options.row_count / options.session_count, options.stack_count,
                          options.rows_per_hour);
        }
        checked_or_stop(store->sync());
    }
    const Made compacted = compact(folder, std::nullopt);
    std::printf("%llu rows of %llu sessions; joined with %.1f ns of CPU a row\n",
                static_cast<unsigned long long>(options.row_count),
                static_cast<unsigned long long>(options.session_count),
                1e6 * compacted.cpu_ms / static_cast<double>(options.row_count));
    const Asked blocks = ask_often(options, folder);
    report(compact(folder, SummaryPolicy{}), options.row_count);
    const Asked summaries = ask_often(options, folder);
    if (summaries.answer != blocks.answer) {
        fail("summaries give another answer than blocks");
    }
    report("blocks", blocks);
    report("summaries", summaries);
    std::printf("  %.1f times less CPU\n", blocks.cpu_ms / summaries.cpu_ms);
    if (options.keep.empty()) {
        std::filesystem::remove_all(folder);
    } else {
        std::filesystem::rename(folder, options.keep);
    }
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string value = argv[i + 1];
        if (name == "--rows") {
            options.row_count = std::stoull(value);
        } else if (name == "--rows-per-hour") {
            options.rows_per_hour = std::stoull(value);
        } else if (name == "--sessions") {
            options.session_count = std::max(1ULL, std::stoull(value));
        } else if (name == "--stacks") {
            options.stack_count = static_cast<std::uint32_t>(std::stoul(value));
        } else if (name == "--threads") {
            options.thread_count = static_cast<unsigned>(std::stoul(value));
        } else if (name == "--folder") {
            options.folder = value;
        } else if (name == "--keep") {
            options.keep = value;
        } else if (name == "--ask") {
            options.store = value;
        } else {
            fail("unknown option " + std::string{name});
        }
    }
    return options;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    const perfleet::Options options = perfleet::parse(argc, argv);
    if (options.store.empty()) {
        perfleet::measure(options);
    } else {
        perfleet::ask(options);
    }
    return 0;
}
