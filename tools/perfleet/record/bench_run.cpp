#include "tools/perfleet/record/bench_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/probe_overhead.h"
#include "schemas/wire/protocol.h"
#include "storage/select/matcher.h"
#include "target-collector/linux/collector.h"
#include "target-collector/linux/command.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/probe/perfleet/bench.h"
#include "target-collector/source/linux/probe_area.h"
#include "target-collector/source/linux/probe_reader.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/session/session_destination.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kPublishDelayNs = 1'000'000;
constexpr int kDrainMs = 1;
constexpr unsigned kOverheadPairs = 1'000;

// Keeps the rows of a single series.
class BenchSink final : public RowSink {
public:
    void append(const RowView& row) override {
        const bool is_circle = row.series.kind == Kind::kLatency;
        const std::uint64_t value = row.integers[is_circle ? place_in_row<Kind::kLatency, ColumnId::kValue>()
                                                           : place_in_row<Kind::kTracepoint, ColumnId::kValue>()];
        if (is_circle) {
            rows.emplace_back(row.integers.begin(), row.integers.end());
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

void say_of_bench(const std::string& text) { print_note(text, "perfleet bench"); }

// The parameters in the syntax of bench.h.
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

// Receives SIGUSR1 while it exists: the signal starts a waiting run, and later asks for its progress.
class StatusSignal {
public:
    StatusSignal() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
        fd_.reset(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~StatusSignal() {
        fd_.reset();
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    StatusSignal(const StatusSignal&) = delete;
    StatusSignal& operator=(const StatusSignal&) = delete;

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] bool take() const {
        signalfd_siginfo info{};
        return ::read(fd_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
    }

private:
    sigset_t set_{};
    sigset_t before_{};
    FileDescriptor fd_;
};

std::string status_of(const std::string& name, const BenchSink& sink, std::uint64_t wanted) {
    return name + ": " + std::to_string(sink.row_count) + " of " + std::to_string(wanted) + " rows" +
           (sink.row_count == 0
                ? ""
                : ", min " + std::to_string(sink.least) + " mean " + std::to_string(sink.sum / sink.row_count) +
                      " max " + std::to_string(sink.greatest) + " ns");
}

// Waits for SIGUSR1 if the options ask for it.
void wait_for_start(const BenchOptions& options, const std::string& name, const StatusSignal& signal) {
    if (!options.waits) {
        return;
    }
    say_of_bench(name + ": waits for its start: kill -USR1 " + std::to_string(::getpid()));
    pollfd wait{signal.fd(), POLLIN, 0};
    while (::poll(&wait, 1, -1) <= 0 || !signal.take()) {
    }
}

struct BenchRun {
    ImportedRun run;
    UtcNs start;
};

// A failed run is stored, too, marked as failed.
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
    wait_for_start(options, name, signal);
    BenchRun result{{}, utc_now()};
    PERFLEET_TRY((*command)->run());
    const std::uint64_t wanted = options.row_count(cpus.size());
    std::optional<int> status;
    while (!status) {
        std::array<pollfd, 2> wait{pollfd{(*command)->end_fd(), POLLIN, 0}, pollfd{signal.fd(), POLLIN, 0}};
        (void)::poll(wait.data(), wait.size(), kDrainMs);
        status = (*command)->exit_status();
        const std::uint64_t now_ns = monotonic_now().value;
        reader.drain(now_ns - kPublishDelayNs, now_ns, sink);
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
        result.run.fail(counted_noun(sink.row_count, "row") + " where " + std::to_string(wanted) + " were to come");
    }
    return result;
}

// The cost of taking a value, if each is one iteration; empty: values don't include it.
std::string overhead_of(const BenchOptions& options, BenchLabels& labels) {
    perfleet_trace_overhead overhead{};
    if (!options.circle.empty()) {
        labels.try_emplace("overhead", "outside of the circle");
        return "";
    }
    if (::perfleet_trace_measure_overhead(kOverheadPairs, &overhead) != 0) {
        return "";
    }
    labels.try_emplace("overhead", std::to_string(static_cast<unsigned>(overhead.effective_ns)) + " ns a value");
    return format_probe_overhead({overhead.effective_ns, overhead.total_ns});
}

}  // namespace

std::string cpu_text(const std::vector<std::uint32_t>& cpus) { return fmt::format("{}", fmt::join(cpus, ",")); }

Result<bool> store_benchmark(const BenchOptions& options, const std::string& folder, const std::string& name,
                             const std::vector<std::uint32_t>& cpus, BenchLabels labels) {
    auto [run, start] = PERFLEET_TRY(run_benchmark(options, name, cpus));
    run.series.front().format = overhead_of(options, labels);
    for (auto& [key, value] : labels) {
        run.labels[key] = std::move(value);
    }
    for (const std::string& warning : run.warnings) {
        say_of_bench(name + ": " + warning);
    }
    const auto destination = PERFLEET_TRY(open_destination(folder));
    PERFLEET_TRY(store_run(run, {host_name(), "", start, options.words.front() + " " + name, "bench"}, *destination));
    return run.warnings.empty();
}

Result<bool> stream_benchmark(const BenchOptions& options, const std::string& name,
                              const std::vector<std::uint32_t>& cpus, BenchLabels labels) {
    CollectorOptions collector_options;
    static_cast<GatewayChoice&>(collector_options) = options;
    collector_options.command = {options.words.front()};
    collector_options.own_command_line = {"perfleet", "bench", options.words.front(), name};
    CollectorOptions::Benchmark& benchmark = collector_options.benchmark.emplace();
    benchmark.name = name;
    benchmark.is_circle = !options.circle.empty();
    benchmark.parameters = parameters_of(options, name, cpus);
    benchmark.overhead = overhead_of(options, labels);
    benchmark.row_count = options.row_count(cpus.size());
    collector_options.labels.assign(labels.begin(), labels.end());
    const auto collector = PERFLEET_TRY(Collector::open(
        std::move(collector_options), [](const LogEvent& event) { say_of_bench(std::string{event.text()}); }));
    const StatusSignal signal;
    wait_for_start(options, name, signal);
    const auto summary = PERFLEET_TRY(collector->run());
    if (!summary.everything_acknowledged) {
        return Error{ErrorCode::kUnavailable, name + ": the gateway hasn't acknowledged all of session " +
                                                  session_hex(summary.session) + "; is it running?"};
    }
    if (summary.run_status == protocol::kRunIncomplete) {
        say_of_bench(name + ": stored as failed: not all of its " + std::to_string(options.row_count(cpus.size())) +
                     " rows came");
        return false;
    }
    if (summary.command_exit_status != 0) {
        say_of_bench(name + ": stored as failed: the program ended with status " +
                     std::to_string(summary.command_exit_status) + "; its standard error says why");
        return false;
    }
    return true;
}

}  // namespace perfleet
