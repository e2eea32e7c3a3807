// bench: runs the benchmarks of a program (probe/perfleet/bench.h), each run a session with its parameters and every
// latency, and shows the figures of `latency`.
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "query-engine/statistic/command.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/host_clock.h"
#include "schemas/vocabulary/probe_overhead.h"
#include "storage/engine/folder.h"
#include "storage/engine/open_engine.h"
#include "storage/store/open_store.h"
#include "target-collector/linux/clock_relation.h"
#include "target-collector/linux/command.h"
#include "target-collector/linux/machine_state.h"
#include "target-collector/linux/target_identity.h"
#include "target-collector/probe/perfleet/bench.h"
#include "target-collector/source/linux/cpu_list.h"
#include "target-collector/source/linux/probe_area.h"
#include "target-collector/source/linux/probe_reader.h"
#include "tools/perfleet/command_options.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/invocation.h"
#include "tools/perfleet/print_answer.h"
#include "tools/perfleet/query_source.h"
#include "tools/perfleet/terminal.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kRowsMax = 1U << 24;  // of a run, in memory until it is stored
constexpr unsigned kBenchRunsMax = 1'000;
constexpr std::uint64_t kSettleNs = 1'000'000;
constexpr int kDrainMs = 1;
constexpr unsigned kOverheadPairs = 1'000;
constexpr double kQuietLoad = 0.5;
constexpr std::uint64_t kTestsDefault = 30;

struct BenchOptions {
    std::vector<std::string> words;  // the program, then names of benchmarks
    std::uint64_t loop_count = 5'000;
    std::uint64_t warmup_count = 10'000;
    std::uint64_t seed = 1;
    std::vector<std::uint64_t> circle;  // I, D, G and S; empty: each iteration is measured
    std::string cpu_list;
    unsigned run_count = 1;
    bool is_strict = false;
    bool waits = false;
    std::vector<std::string> labels;
    std::string data;
    OutputOptions output;

    [[nodiscard]] std::uint64_t row_count(std::size_t thread_count) const {
        return circle.empty() ? loop_count * thread_count : circle[2] * circle[3];
    }
};

// Keeps the rows of the one series.
class BenchSink final : public RowSink {
public:
    void append(Series series, Ticks, std::span<const std::uint64_t> integers,
                std::span<const std::span<const std::byte>>) override {
        const std::uint64_t value = integers[series.kind == Kind::kLatency ? 4 : 6];
        if (series.kind == Kind::kLatency) {
            rows.emplace_back(integers.begin() + 1, integers.end());
        } else {
            values.push_back(value);
        }
        ++row_count;
        sum += value;
        least = std::min(least, value);
        greatest = std::max(greatest, value);
    }
    void count_lost(Series, CountName reason, std::uint64_t lost_count) override { lost[reason] += lost_count; }
    void count(Series, CountName, std::uint64_t) override {}
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks) override {}

    std::vector<std::vector<std::uint64_t>> rows;
    std::vector<std::uint64_t> values;
    std::map<CountName, std::uint64_t> lost;
    std::uint64_t row_count = 0;
    std::uint64_t sum = 0;
    std::uint64_t least = ~0ULL;
    std::uint64_t greatest = 0;
};

void say_of_bench(const std::string& text) { std::fprintf(stderr, "perfleet bench: %s\n", printable(text).c_str()); }

// What would make the figures those of something else, as far as the machine says.
std::vector<std::string> machine_trouble(const std::map<std::string, std::string>& state,
                                         const std::vector<std::uint32_t>& cpus) {
    std::vector<std::string> trouble;
    const auto of = [&](const char* name) {
        const auto found = state.find(name);
        return found == state.end() ? std::string{} : found->second;
    };
    if (of("governor").empty()) {
        trouble.emplace_back("the machine doesn't say its governor: the frequency may change while it measures");
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
    std::array<double, 1> load{};
    if (::getloadavg(load.data(), 1) == 1 && load[0] > kQuietLoad) {
        std::array<char, 64> text{};
        std::snprintf(text.data(), text.size(), "load average %.1f: other programs run", load[0]);
        trouble.emplace_back(text.data());
    }
    return trouble;
}

// Those that are named, else an isolated one, else the last that this process may use.
Result<std::vector<std::uint32_t>> choose_cpus(const BenchOptions& options,
                                               const std::map<std::string, std::string>& state) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    (void)::sched_getaffinity(0, sizeof(allowed), &allowed);
    const auto is_allowed = [&](std::uint32_t cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed); };
    if (!options.cpu_list.empty()) {
        const std::vector<std::uint32_t> cpus = parse_cpu_list(options.cpu_list);
        if (cpus.empty() || cpus.size() > PERFLEET_PROBE_SLOTS) {
            return Error{ErrorCode::kUsage, "--cpu " + options.cpu_list + ": write a list of CPUs, as 0,2-3"};
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

std::string cpu_text(const std::vector<std::uint32_t>& cpus) {
    std::string text;
    for (const std::uint32_t cpu : cpus) {
        text += (text.empty() ? "" : ",") + std::to_string(cpu);
    }
    return text;
}

// As bench.h has it.
std::string parameters_of(const BenchOptions& options, const std::string& name,
                          const std::vector<std::uint32_t>& cpus) {
    std::string text = std::string{PERFLEET_BENCH_ENVIRONMENT} + "=" + name +
                       (options.circle.empty() ? " each " : " circle ") + std::to_string(options.loop_count) + " " +
                       std::to_string(options.warmup_count) + " " + std::to_string(options.seed);
    for (std::size_t i = 0; i < 4; ++i) {
        text += " " + std::to_string(options.circle.empty() ? 0 : options.circle[i]);
    }
    return text + " " + cpu_text(cpus);
}

// SIGUSR1, while it exists: it starts a run that waits, and then asks how it goes.
class StatusSignal {
public:
    StatusSignal() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
        fd_ = ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~StatusSignal() {
        ::close(fd_);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    StatusSignal(const StatusSignal&) = delete;
    StatusSignal& operator=(const StatusSignal&) = delete;

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool take() const {
        signalfd_siginfo info{};
        return ::read(fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
    }

private:
    sigset_t set_{};
    sigset_t before_{};
    int fd_ = -1;
};

std::string status_of(const std::string& name, const BenchSink& sink, std::uint64_t wanted) {
    return name + ": " + std::to_string(sink.row_count) + " of " + std::to_string(wanted) + " rows" +
           (sink.row_count == 0
                ? ""
                : ", min " + std::to_string(sink.least) + " mean " + std::to_string(sink.sum / sink.row_count) +
                      " max " + std::to_string(sink.greatest) + " ns");
}

struct BenchRun {
    ImportedRun run;
    UtcNs start;
};

// One run of one benchmark. A run that fails is stored as such: an error is of the harness alone.
Result<BenchRun> run_benchmark(const BenchOptions& options, const std::string& name,
                               const std::vector<std::uint32_t>& cpus) {
    auto area = PERFLEET_TRY(ProbeArea::create());
    const bool is_circle = !options.circle.empty();
    const Series series{is_circle ? Kind::kLatency : Kind::kTracepoint, EventNumber{0}};
    ProbeReader reader{*area, {{std::to_string(PERFLEET_BENCH_ID), false, series}}, [](std::string_view) {}};
    BenchSink sink;
    const auto command =
        Command::start({options.words.front()}, {area->variable(), parameters_of(options, name, cpus)});
    if (!command.ok()) {
        return Error{command.error()};
    }
    const StatusSignal signal;
    if (options.waits) {
        say_of_bench(name + ": waits for its start: kill -USR1 " + std::to_string(::getpid()));
        pollfd wait{signal.fd(), POLLIN, 0};
        while (::poll(&wait, 1, -1) <= 0 || !signal.take()) {
        }
    }
    BenchRun result{{}, utc_now()};
    if (const Result<Done> ran = (*command)->run(); !ran.ok()) {
        return Error{ran.error()};
    }
    const std::uint64_t wanted = options.row_count(cpus.size());
    std::optional<int> status;
    while (!status) {
        std::array<pollfd, 2> wait{pollfd{(*command)->end_fd(), POLLIN, 0}, pollfd{signal.fd(), POLLIN, 0}};
        (void)::poll(wait.data(), wait.size(), kDrainMs);
        status = (*command)->exit_status();
        const std::uint64_t now_ns = monotonic_now().value;
        reader.drain(now_ns - kSettleNs, now_ns, sink);
        if (signal.take()) {
            say_of_bench(status_of(name, sink, wanted));
        }
    }
    reader.finish(monotonic_now().value, sink);

    ImportedSeries& imported = result.run.series.emplace_back();
    imported.kind = series.kind;
    imported.event = name;
    imported.unit = "ns";
    imported.rows = std::move(sink.rows);
    imported.values = std::move(sink.values);
    imported.lost = sink.lost;
    result.run.labels["status"] = "ok";
    if (*status != 0) {
        result.run.fail("the program ended with status " + std::to_string(*status) + "; its standard error says why");
    } else if (sink.row_count != wanted) {
        result.run.fail(std::to_string(sink.row_count) + " rows where " + std::to_string(wanted) + " were to come");
    }
    return result;
}

void describe(const BenchOptions& options, const std::map<std::string, std::string>& state, const std::string& name,
              const std::vector<std::uint32_t>& cpus, ImportedRun& run) {
    std::map<std::string, std::string>& labels = run.labels;
    labels.insert(state.begin(), state.end());
    labels["benchmark"] = name;
    labels["cpus"] = cpu_text(cpus);
    labels["seed"] = std::to_string(options.seed);
    labels["data_order"] = "generator with seed " + labels["seed"];
    labels["warmup"] = std::to_string(options.warmup_count) + " iterations";
    labels["dead_code"] = "results are or-ed and stored";
    labels["preemption"] = "allowed";
    labels["data_size"] = std::to_string(options.row_count(cpus.size())) + " rows";
    std::array<double, 1> load{};
    if (::getloadavg(load.data(), 1) == 1) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "load average %.1f", load[0]);
        labels["noise"] = text.data();
    }
    labels["parallel_start"] = cpus.size() > 1 ? "iterations until all are ready" : "one thread";
    if (options.circle.empty()) {
        labels["loop_count"] = std::to_string(options.loop_count);
        perfleet_trace_overhead overhead{};
        if (::perfleet_trace_measure_overhead(kOverheadPairs, &overhead) == 0) {
            run.series.front().format = format_probe_overhead({overhead.effective_ns, overhead.total_ns});
            labels["overhead"] = std::to_string(static_cast<unsigned>(overhead.effective_ns)) + " ns a value";
        }
    } else {
        constexpr std::array kNames{"initial_test_size", "delta", "groups", "sample_size"};
        for (std::size_t i = 0; i < kNames.size(); ++i) {
            labels[kNames[i]] = std::to_string(options.circle[i]);
        }
        labels["overhead"] = "outside of the circle";
    }
    for (const std::string& label : options.labels) {
        labels[label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
    }
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
    if (options.loop_count > kRowsMax / thread_count) {
        return usage("--loops " + std::to_string(options.loop_count) + ": a run has at most " +
                     std::to_string(kRowsMax) + " rows on all CPUs");
    }
    return Done{};
}

int run_bench(BenchOptions& options) {
    const Result<std::string> folder = data_folder_of(options.data);
    if (!folder.ok()) {
        return report_error(folder.error());
    }
    std::map<std::string, std::string> state;
    for (auto& [name, text] : machine_state()) {
        state[name] = text;
    }
    const auto cpus = choose_cpus(options, state);
    if (!cpus.ok()) {
        return report_error(cpus.error());
    }
    if (const auto checked = check_bench(options, cpus->size()); !checked.ok()) {
        return report_error(checked.error());
    }
    for (const std::string& trouble : machine_trouble(state, *cpus)) {
        if (options.is_strict) {
            return report_error({ErrorCode::kUnavailable, "--strict: " + trouble});
        }
        print_warning(trouble);
    }
    const auto names = benchmark_names(options);
    if (!names.ok()) {
        return report_error(names.error());
    }
    if (auto made = is_folder(*folder) ? prepare_writer_folder(*folder) : Done{}; !made.ok()) {
        return report_error({made.error().code, made.error().message + " (name another data folder with --data)"});
    }
    const std::string id = std::to_string(static_cast<std::uint64_t>(utc_now().value));
    bool has_failed = false;
    for (unsigned i = 0; i < options.run_count; ++i) {
        for (const std::string& name : *names) {
            auto ran = run_benchmark(options, name, *cpus);
            if (!ran.ok()) {
                return report_error(ran.error());
            }
            describe(options, state, name, *cpus, ran->run);
            ran->run.labels["bench"] = id;
            for (const std::string& warning : ran->run.warnings) {
                has_failed = true;
                say_of_bench(name + ": " + warning);
            }
            const auto store = open_store(*folder);
            if (!store.ok()) {
                return report_error(store.error());
            }
            const auto stored =
                store_run(ran->run, {host_name(), "", ran->start, options.words.front() + " " + name}, **store);
            if (!stored.ok()) {
                return report_error(stored.error());
            }
        }
    }
    QueryOptions query;
    query.data = *folder;
    query.values["select"] = "{bench=\"" + id + "\"}";
    if (!options.circle.empty()) {
        query.values["kbench"] = true;
    } else if (options.run_count > 1) {
        query.values["runs"] = true;
    }
    const Result<Answer> answer = ask_table(query, **find_query_command("latency"));
    if (!answer.ok()) {
        return report_error(answer.error());
    }
    if (const Result<Done> printed = print_answer(*answer, options.output); !printed.ok()) {
        return report_error(printed.error());
    }
    return has_failed ? kExitFailure : 0;
}

// "I=30,D=1,G=5,S=30", or the four numbers alone; S may be left out.
std::string read_circle(const std::string& text, std::vector<std::uint64_t>& circle) {
    constexpr std::string_view kNames = "IDGS";
    std::string_view rest = text;
    for (std::size_t i = 0; i < kNames.size() && !rest.empty(); ++i) {
        if (rest.size() > 2 && rest[0] == kNames[i] && rest[1] == '=') {
            rest.remove_prefix(2);
        }
        std::uint64_t number = 0;
        const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        const auto used = static_cast<std::size_t>(end - rest.data());
        if (status != std::errc{} || (used < rest.size() && (rest[used] != ',' || used + 1 == rest.size()))) {
            circle.clear();
            break;
        }
        circle.push_back(number);
        rest.remove_prefix(std::min(used + 1, rest.size()));
    }
    if (circle.size() == 3) {
        circle.push_back(kTestsDefault);
    }
    return circle.size() == 4 && rest.empty() ? ""
                                              : "'" + text + "' isn't I=30,D=1,G=5,S=30 (S is 30 where it is left out)";
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("bench", "Run microbenchmarks and show their latencies");
    const auto options = std::make_shared<BenchOptions>();
    command->footer(
        "perfleet bench [--loops N | --circle I=..,D=..,G=..,S=..] PROGRAM [BENCHMARK...]\n\n"
        "PROGRAM is written with perfleet/bench.h. Each run is a session with every latency, its\n"
        "parameters and the machine's state as labels; a run that fails is stored as failed.\n"
        "SIGUSR1 prints how a run goes; with --wait the first one starts it. Several runs (-n) are\n"
        "shown as by latency --runs, one as by latency, those of --circle as by latency --kbench.\n\n"
        "Examples:\n"
        "  perfleet bench ./program\n"
        "  perfleet bench --loops 100000 --cpu 2 -n 10 ./program getpid\n"
        "  perfleet bench --circle I=30,D=1,G=5,S=30 ./program pipe_round_trip\n\n"
        "Exit status: 1 where a run failed.");
    auto* const loops =
        command->add_option("--loops", options->loop_count, "Iterations on each CPU, each measured (default: 5000)")
            ->type_name("N")
            ->check(CLI::Range(std::uint64_t{1}, kRowsMax));
    command->add_option("--warmup", options->warmup_count, "Iterations before, not measured (default: 10000)")
        ->type_name("N");
    command
        ->add_option_function<std::string>(
            "--circle",
            [options](const std::string& text) {
                if (const std::string trouble = read_circle(text, options->circle); !trouble.empty()) {
                    throw CLI::ValidationError("--circle", trouble);
                }
            },
            "Accumulated latencies as Kanata Bench has them: initial test size I, delta D, G groups of S tests")
        ->type_name("I,D,G[,S]")
        ->excludes(loops);
    command
        ->add_option("--cpu", options->cpu_list,
                     "The CPUs to run on, a thread on each, begun together (default: an isolated one, or the last)")
        ->type_name("LIST");
    command->add_option("-n,--runs", options->run_count, "Runs of each benchmark (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(1U, kBenchRunsMax));
    command->add_option("--seed", options->seed, "Of the benchmarks' random input (default: 1)")->type_name("N");
    command->add_flag("--strict", options->is_strict,
                      "Refuse to run where the machine isn't quiet and steady, instead of warning");
    command->add_flag("--wait", options->waits, "Begin each run when SIGUSR1 comes");
    command->add_option("--label", options->labels, "A label of the runs, KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) {
            const std::size_t equals = text.find('=');
            return equals == std::string::npos || equals == 0 ? "'" + text + "' is no label; write KEY=VALUE" : "";
        });
    command->add_option("--data", options->data, "Data folder (default: where `perfleet record` writes)")
        ->type_name("DIR");
    add_output_options(*command, options->output);
    command->add_option("program", options->words, "The program, and which of its benchmarks (default: all)")
        ->type_name("PROGRAM")
        ->required();
    command->positionals_at_end();
    command->callback([&invocation, options] { invocation.run = [options] { return run_bench(*options); }; });
}

}  // namespace perfleet
