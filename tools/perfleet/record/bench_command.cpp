// bench: runs the benchmarks of a program (probe/perfleet/bench.h), stores each run as a session with its parameters
// and every latency, and shows the figures of `latency`.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "query-engine/statistic/command.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/parse.h"
#include "target-collector/linux/command.h"
#include "target-collector/linux/host/machine_state.h"
#include "target-collector/probe/perfleet/bench.h"
#include "target-collector/source/linux/event/cpu_list.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/record/bench_run.h"
#include "tools/perfleet/session/session_destination.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr unsigned kBenchRunsMax = 1'000;
constexpr std::uint64_t kTestsDefault = 30;
constexpr double kQuietLoad = 0.5;

using MachineState = std::map<std::string, std::string>;  // as machine_state() has it

struct BenchCommand : BenchOptions {
    std::string cpu_list;
    unsigned run_count = 1;
    bool is_strict = false;
    std::vector<std::string> labels;
    std::string data;
    OutputOptions output;
};

// Empty if unknown, or below `min`.
std::string load_text(double min) {
    double load = 0;
    return ::getloadavg(&load, 1) == 1 && load >= min ? fmt::format("load average {:.1f}", load) : "";
}

// Machine settings that would distort the figures, as far as they are known.
std::vector<std::string> machine_trouble(const MachineState& state, const std::vector<std::uint32_t>& cpus) {
    std::vector<std::string> trouble;
    const auto of = [&](const char* name) {
        const auto found = state.find(name);
        return found == state.end() ? std::string{} : found->second;
    };
    if (of("governor").empty()) {
        trouble.emplace_back("the machine doesn't report its governor: the frequency may change while it measures");
    } else if (of("governor") != "performance") {
        trouble.push_back("governor " + of("governor") +
                          ": the frequency changes while it measures (cpupower frequency-set -g performance)");
    }
    if (of("turbo") == "on") {
        trouble.emplace_back("turbo is on: the frequency depends on what other CPUs do");
    }
    const std::vector<std::uint32_t> isolated = parse_cpu_list(of("isolated_cpus"));
    for (const std::uint32_t cpu : cpus) {
        if (std::ranges::find(isolated, cpu) == isolated.end()) {
            trouble.push_back("CPU " + std::to_string(cpu) +
                              " isn't isolated: the kernel runs other threads there, too (isolcpus=, cpusets)");
        }
    }
    if (of("smt") == "on") {
        trouble.emplace_back("SMT is on: the other thread of a core shares its caches and units");
    }
    if (const std::string load = load_text(kQuietLoad); !load.empty()) {
        trouble.push_back(load + ": other programs run");
    }
    return trouble;
}

// The CPUs of the list, else an isolated one, else the last one that this process may use.
Result<std::vector<std::uint32_t>> choose_cpus(const std::string& list, const MachineState& state) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    (void)::sched_getaffinity(0, sizeof(allowed), &allowed);
    const auto is_allowed = [&](std::uint32_t cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed); };
    if (!list.empty()) {
        const std::vector<std::uint32_t> cpus = parse_cpu_list(list);
        if (cpus.empty() || cpus.size() > PERFLEET_PROBE_SLOTS) {
            return Error{ErrorCode::kUsage, "--cpu " + list + ": write a list of CPUs, as 0,2-3"};
        }
        const auto refused = std::ranges::find_if_not(cpus, is_allowed);
        return refused == cpus.end()
                   ? Result<std::vector<std::uint32_t>>{cpus}
                   : Error{ErrorCode::kUsage, "--cpu " + std::to_string(*refused) +
                                                  ": this process may not run there (taskset -p shows where it may)"};
    }
    const auto isolated = state.find("isolated_cpus");
    std::vector<std::uint32_t> candidates =
        isolated == state.end() ? std::vector<std::uint32_t>{} : parse_cpu_list(isolated->second);
    std::erase_if(candidates, [&](std::uint32_t cpu) { return !is_allowed(cpu); });
    for (std::uint32_t cpu = CPU_SETSIZE; candidates.empty() && cpu-- > 0;) {
        if (is_allowed(cpu)) {
            candidates.push_back(cpu);
        }
    }
    candidates.resize(std::min<std::size_t>(candidates.size(), 1));
    return candidates;
}

BenchLabels labels_of(const BenchCommand& options, const MachineState& state, const std::string& name,
                      const std::vector<std::uint32_t>& cpus) {
    BenchLabels labels = state;
    labels["benchmark"] = name;
    labels["cpus"] = cpu_text(cpus);
    labels["seed"] = std::to_string(options.seed);
    labels["data_order"] = "generator with seed " + labels["seed"];
    labels["warmup"] = std::to_string(options.warmup_count) + " iterations";
    labels["dead_code"] = "results are or-ed and stored";
    labels["preemption"] = "allowed";
    labels["data_size"] = std::to_string(options.row_count(cpus.size())) + " rows";
    if (std::string load = load_text(0); !load.empty()) {
        labels["noise"] = std::move(load);
    }
    labels["parallel_start"] = cpus.size() > 1 ? "iterations until all are ready" : "one thread";
    if (options.circle.empty()) {
        labels["loop_count"] = std::to_string(options.loop_count);
    } else {
        constexpr std::array kNames{"initial_test_size", "delta", "groups", "sample_size"};
        for (std::size_t i = 0; i < kNames.size(); ++i) {
            labels[kNames[i]] = std::to_string(options.circle[i]);
        }
    }
    for (const std::string& label : options.labels) {
        labels[label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
    }
    return labels;
}

Result<std::vector<std::string>> benchmark_names(const BenchOptions& options) {
    if (options.words.size() > 1) {
        return std::vector<std::string>{options.words.begin() + 1, options.words.end()};
    }
    const auto path = PERFLEET_TRY(find_command(options.words.front()));
    std::vector<std::string> names;
    std::FILE* const list = ::popen(("exec '" + path + "'").c_str(), "re");
    std::array<char, 256> line{};
    while (list != nullptr && std::fgets(line.data(), line.size(), list) != nullptr) {
        names.emplace_back(line.data(), std::string_view{line.data()}.find_last_not_of('\n') + 1);
    }
    if (list == nullptr || ::pclose(list) != 0 || names.empty()) {
        return Error{ErrorCode::kUsage,
                     options.words.front() + ": lists no benchmarks; is it written with perfleet/bench.h?"};
    }
    return names;
}

Result<Done> check_bench(const BenchOptions& options, std::size_t thread_count) {
    const auto usage = [](const std::string& text) { return Error{ErrorCode::kUsage, text}; };
    if (!options.circle.empty()) {
        const auto [initial, delta, groups, tests] =
            std::array{options.circle[0], options.circle[1], options.circle[2], options.circle[3]};
        if (initial == 0 || groups == 0 || tests == 0 || groups > PERFLEET_BENCH_GROUPS_MAX ||
            tests > PERFLEET_BENCH_TESTS_MAX || initial > PERFLEET_BENCH_TEST_SIZE_MAX ||
            delta > (PERFLEET_BENCH_TEST_SIZE_MAX - initial) / std::max<std::uint64_t>(groups - 1, 1)) {
            return usage("--circle: I, G and S are 1 at least; test sizes up to " +
                         std::to_string(PERFLEET_BENCH_TEST_SIZE_MAX) + ", groups up to " +
                         std::to_string(PERFLEET_BENCH_GROUPS_MAX) + ", tests up to " +
                         std::to_string(PERFLEET_BENCH_TESTS_MAX));
        }
        if (thread_count > 1) {
            return usage("--circle: accumulated latencies are of one thread; name one CPU");
        }
    }
    if (options.loop_count > kBenchRowsMax / thread_count) {
        return usage("--loops " + std::to_string(options.loop_count) + ": a run has at most " +
                     std::to_string(kBenchRowsMax) + " rows on all CPUs");
    }
    return Done{};
}

Result<int> run_bench(const BenchCommand& options) {
    const bool is_streamed = !options.gateways.empty();
    const std::string folder = is_streamed ? "" : PERFLEET_TRY(writable_data_folder_of(options.data));
    const auto found = machine_state();
    const MachineState state{found.begin(), found.end()};
    const auto cpus = PERFLEET_TRY(choose_cpus(options.cpu_list, state));
    PERFLEET_TRY(check_bench(options, cpus.size()));
    for (const std::string& trouble : machine_trouble(state, cpus)) {
        if (options.is_strict) {
            return Error{ErrorCode::kUnavailable, "--strict: " + trouble};
        }
        print_warning(trouble);
    }
    const auto names = PERFLEET_TRY(benchmark_names(options));
    const std::string id = std::to_string(static_cast<std::uint64_t>(utc_now().value));
    bool has_failed = false;
    for (unsigned i = 0; i < options.run_count; ++i) {
        for (const std::string& name : names) {
            BenchLabels labels = labels_of(options, state, name, cpus);
            labels["bench"] = id;
            const auto is_good =
                PERFLEET_TRY(is_streamed ? stream_benchmark(options, name, cpus, std::move(labels))
                                         : store_benchmark(options, folder, name, cpus, std::move(labels)));
            has_failed = has_failed || !is_good;
        }
    }
    const std::string view = !options.circle.empty() ? "kbench" : options.run_count > 1 ? "runs" : "";
    if (is_streamed) {  // the answer comes from the gateway's query endpoint
        std::fprintf(stderr, "Next: perfleet latency%s --gateway QUERY-ENDPOINT --select '{bench=\"%s\"}'\n",
                     (view.empty() ? view : " --" + view).c_str(), id.c_str());
        return has_failed ? kExitFailure : 0;
    }
    QueryOptions query;
    query.data = folder;
    query.values["select"] = "{bench=\"" + id + "\"}";
    if (!view.empty()) {
        query.values[view] = true;
    }
    const auto answer = PERFLEET_TRY(ask_table(query, **find_query_command("latency")));
    PERFLEET_TRY(print_answer(answer, options.output));
    return has_failed ? kExitFailure : 0;
}

// "I=30,D=1,G=5,S=30", or the four numbers alone; S may be left out.
std::string read_circle(const std::string& text, std::vector<std::uint64_t>& circle) {
    constexpr std::string_view kNames = "IDGS";
    const std::vector<std::string> parts = split_list(text);
    circle.clear();
    for (std::size_t i = 0; i < std::min(parts.size(), kNames.size()); ++i) {
        std::string_view part = parts[i];
        part.remove_prefix(part.starts_with(std::string{kNames[i], '='}) ? 2 : 0);
        if (const auto number = number_of<std::uint64_t>(part)) {
            circle.push_back(*number);
        }
    }
    if (circle.size() == 3 && parts.size() == 3) {
        circle.push_back(kTestsDefault);
    }
    return circle.size() == kNames.size() && parts.size() <= kNames.size()
               ? ""
               : "'" + text + "' isn't I=30,D=1,G=5,S=30 (S is 30 where it is left out)";
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
    const auto added =
        add_command<BenchCommand>(app, invocation, "bench", "Run microbenchmarks and show their latencies", run_bench);
    CLI::App* const command = added.first;
    const auto options = added.second;
    command->footer(
        "perfleet bench [--loops N | --circle I=..,D=..,G=..,S=..] PROGRAM [BENCHMARK...]\n\n"
        "PROGRAM is written with perfleet/bench.h. Each run is a session with every latency, its\n"
        "parameters and the machine's state as labels; a run that fails is stored as failed.\n"
        "SIGUSR1 shows a run's progress; with --wait the first one starts it. Several runs (-n) are\n"
        "shown as by latency --runs, one as by latency, those of --circle as by latency --kbench.\n"
        "With --gateway rows stream to a gateway while they are measured, and can be queried there.\n\n"
        "Examples:\n"
        "  perfleet bench ./program\n"
        "  perfleet bench --loops 100000 --cpu 2 -n 10 ./program getpid\n"
        "  perfleet bench --circle I=30,D=1,G=5,S=30 ./program pipe_round_trip");
    add_options(
        *command,
        {{"--loops N", options->loop_count, "Iterations on each CPU, each measured (default: 5000)",
          is_between(std::uint64_t{1}, kBenchRowsMax)},
         {"--warmup N", options->warmup_count, "Iterations before, not measured (default: 10,000)"},
         {"--circle I,D,G[,S]",
          [options](const std::string& text) {
              if (const std::string trouble = read_circle(text, options->circle); !trouble.empty()) {
                  throw CLI::ValidationError("--circle", trouble);
              }
          },
          "Accumulated latencies as Kanata Bench has them: initial test size I, delta D, G groups of S tests",
          excludes({"--loops"})},
         {"--cpu LIST", options->cpu_list,
          "The CPUs to run on, a thread on each, started together (default: an isolated one, or the last)"},
         {"-n,--runs N", options->run_count, "Runs of each benchmark (default: 1)", is_between(1U, kBenchRunsMax)},
         {"--seed N", options->seed, "Of the benchmarks' random input (default: 1)"},
         {"--strict", options->is_strict, "Refuse to run, instead of warning, if the machine isn't quiet and steady"},
         {"--wait", options->waits, "Begin each run at SIGUSR1"},
         {"--label KEY=VALUE", options->labels, "A label of the runs, KEY=VALUE", is_label}});
    add_options(*command, destination_rows(options->data, *options));
    add_options(*command, output_rows(options->output));
    add_options(*command, {{"program PROGRAM", options->words,
                            "The program, and which of its benchmarks (default: all)", is_required}});
    command->positionals_at_end();
}

}  // namespace perfleet
