#include "tools/perfleet/function/function_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/text/layout.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/intake/session/sealed_rows.h"
#include "target-collector/linux/command.h"
#include "target-collector/linux/host/machine_state.h"
#include "target-collector/linux/host/target_identity.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/process/proc_reader.h"
#include "tools/perfleet/function/function_image.h"
#include "tools/perfleet/function/function_overhead.h"
#include "tools/perfleet/import/session/own_session.h"
#include "tools/perfleet/shell/command_stop.h"
#include "tools/perfleet/shell/redirected_output.h"
#include "tools/perfleet/shell/watch.h"

namespace perfleet {
namespace {

constexpr const char* kKernel = "kernel";
constexpr int kDrainIntervalMs = 20;  // a sixteenth of the ring at a million calls a second
constexpr std::uint64_t kMonotonicTicksPerSecond = 1'000'000'000;
constexpr std::uint64_t kFlushIntervalNs = 1'000'000'000;

using Clock = std::chrono::steady_clock;

// A session with the durations of the calls.
class CallStore {
public:
    // `formats`: the description of each function's probes.
    [[nodiscard]] static Result<std::unique_ptr<CallStore>> begin(SessionDestination& destination,
                                                                  std::span<const std::string> names,
                                                                  std::span<const std::string> formats,
                                                                  const std::vector<std::string>& own_command_line) {
        SessionRecord record;
        record.session = new_session_id();
        record.target_name = host_name();
        record.target = target_id_of(record.target_name);
        utsname system{};
        ::uname(&system);
        record.architecture = system.machine;
        record.host.os_release = system.release;
        record.host.command_line = own_command_line;
        const auto state = machine_state();
        record.labels.assign(state.begin(), state.end());
        for (std::size_t i = 0; i < names.size(); ++i) {
            EventRecord& event = record.events.emplace_back();
            event.name = names[i];
            event.format = formats[i];
            event.kind = Kind::kTracepoint;
            event.period = 1;
            event.unit = "ns";
        }
        record.clock_name = "monotonic";
        record.ticks_per_second = kMonotonicTicksPerSecond;
        record.linux_clockid = CLOCK_MONOTONIC;
        record.start_point = observe_clocks();
        record.collector_version = PERFLEET_VERSION;
        record = PERFLEET_TRY(admit_own(record));
        const ClockPoint start = record.start_point;
        record.received = start.utc_ns;
        auto writer =
            PERFLEET_TRY(destination.begin(std::move(record), UtcNs{std::numeric_limits<std::int64_t>::max()}));
        std::unique_ptr<CallStore> calls{new CallStore{std::move(writer)}};
        calls->rows_.tick(start.ticks);
        calls->rows_.begin_epoch(start.ticks);
        return calls;
    }

    // Announces the hour of the next rows. Rows older than a second are passed on, so that a kill loses no more.
    void enter() {
        const Ticks now = observe_clocks().ticks;
        if (now.value - flushed_.value >= kFlushIntervalNs) {
            flushed_ = now;
            rows_.flush(now);
        }
        rows_.tick(now);
        if (rows_.epoch_is_over()) {
            rows_.begin_epoch(now);
        }
    }

    void add(const FunctionCall& call) {
        using enum ColumnId;
        const auto row =
            row_of<Kind::kTracepoint>(column<kCpu>(call.cpu), column<kPid>(call.pid), column<kTid>(call.tid),
                                      column<kWeight>(1), column<kValue>(call.duration_ns));
        constexpr std::array<std::span<const std::byte>, 1> kNoRawData{};
        rows_.append({series_of(call.function), Ticks{call.end_ns}, row, kNoRawData});
    }

    [[nodiscard]] const std::optional<Error>& error() const { return rows_.error(); }

    Result<Done> end(std::span<const FunctionCounts> counts) {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const Series series = series_of(i);
            if (counts[i].rows_lost != 0) {
                rows_.count_lost(series, CountName::kLostKernelRing, counts[i].rows_lost);
            }
            if (const std::uint64_t full = counts[i].evicted + counts[i].without_memory; full != 0) {
                rows_.count_lost(series, CountName::kLostSaturated, full);
            }
            if (counts[i].elsewhere != 0) {
                rows_.count_lost(series, CountName::kLostMalformed, counts[i].elsewhere);
            }
        }
        return rows_.finish(observe_clocks());
    }

    [[nodiscard]] SessionId id() const { return writer_->record().session; }

private:
    explicit CallStore(std::unique_ptr<SessionWriter> writer) : writer_{std::move(writer)}, rows_{*writer_} {}

    static Series series_of(std::size_t function) {
        return {Kind::kTracepoint, EventNumber{static_cast<std::uint16_t>(function)}};
    }

    std::unique_ptr<SessionWriter> writer_;
    SealedRows rows_;
    Ticks flushed_;
};

class Measurement {
public:
    Measurement(const FunctionRunOptions& options, SessionDestination* destination, const ShowFunctions& show)
        : options_{options}, destination_{destination}, show_{show} {}

    Result<FunctionRun> run() {
        for (const auto step : {&Measurement::find, &Measurement::open, &Measurement::measure}) {
            PERFLEET_TRY((this->*step)());
        }
        return std::move(run_);
    }

private:
    [[nodiscard]] bool follows_command() const { return options_.pids.empty() && !options_.all_cpus; }

    Result<FunctionImages> images() const {
        if (!options_.pids.empty()) {
            return images_of_process(options_.pids.front());
        }
        if (options_.all_cpus) {
            return images_of_machine();
        }
        const auto path = find_command(options_.command.front());
        return path.ok() ? images_of_program(*path) : Result<FunctionImages>{Error{path.error()}};
    }

    Result<Done> find() {
        std::optional<FunctionImages> images_or_none;
        for (const std::string& text : options_.functions) {
            const auto name = PERFLEET_TRY(parse_function(text));
            if (name.image == kKernel) {
                TracedFunction& function = functions_.emplace_back();
                function.name = name.function;
                run_.names.push_back(text);
                formats_.emplace_back();
                continue;
            }
            if (!images_or_none) {
                images_or_none = PERFLEET_TRY(images());
            }
            if (name.image.empty() && options_.all_cpus) {
                return Error{ErrorCode::kUsage,
                             "--function: '" + text + "': with -a it needs an image, such as libc:" + text};
            }
            const auto image = name.image.empty() ? images_or_none->images.front()
                                                  : PERFLEET_TRY(find_image(*images_or_none, name.image));
            auto found = PERFLEET_TRY(find_function(image, name.function, options_));
            PERFLEET_TRY(warn_of_processes_without(image, found.traced.name));
            run_.names.push_back(found.traced.name);
            functions_.push_back(std::move(found.traced));
            formats_.push_back(destination_ == nullptr ? "" : format_of(found.way));
        }
        return Done{};
    }

    // Names are resolved in the first process: the other processes' files of the same name may differ.
    Result<Done> warn_of_processes_without(const FunctionImage& image, const std::string& function) {
        for (std::size_t i = 1; i < options_.pids.size(); ++i) {
            const auto has = PERFLEET_TRY(images_of_process(options_.pids[i]));
            if (std::none_of(has.images.begin(), has.images.end(),
                             [&](const FunctionImage& one) { return one.path == image.path; })) {
                run_.warnings.push_back(
                    fmt::format("{}: {} hasn't mapped {}: its calls aren't timed", function, has.whose, image.path));
            }
        }
        return Done{};
    }

    // The cost of the probes themselves, measured once for each way.
    std::string format_of(ProbedWay way) {
        const auto [overhead, is_new] = overheads_.try_emplace(way);
        if (is_new) {
            overhead->second = measure_function_overhead(way);
        }
        return overhead->second ? format_probe_overhead(*overhead->second) : "";
    }

    Result<Done> open() {
        if (!options_.command.empty()) {
            const RedirectedOutput to_error{STDERR_FILENO};  // standard output is for the answer
            command_ = PERFLEET_TRY(Command::start(options_.command));
        }
        FunctionTracer::Options tracer_options;
        tracer_options.pids =
            follows_command() ? std::vector{static_cast<std::uint32_t>(command_->pid())} : options_.pids;
        tracer_options.follows_children = options_.follows_children;
        tracer_options.has_rows = destination_ != nullptr;
        tracer_options.own_pid = static_cast<std::uint32_t>(::getpid());
        tracer_ = PERFLEET_TRY(FunctionTracer::open(functions_, tracer_options));
        if (destination_ != nullptr) {
            calls_ = PERFLEET_TRY(CallStore::begin(*destination_, run_.names, formats_, options_.own_command_line));
        }
        return Done{};
    }

    Result<Done> measure() {
        tracer_->enable(true);
        if (follows_command()) {
            stop_.emplace(command_.get());
        } else {
            stop_fd_ = catch_stop_signals();
        }
        if (command_) {
            PERFLEET_TRY(command_->run());
        }
        auto shown = Clock::now();
        while (!is_over()) {
            PERFLEET_TRY(drain());
            if (options_.watch_s && std::chrono::duration<double>(Clock::now() - shown).count() >= *options_.watch_s) {
                shown = Clock::now();
                show_(run_.names, tracer_->counts());
            }
        }
        tracer_->enable(false);
        PERFLEET_TRY(drain());
        run_.counts = tracer_->counts();
        if (calls_) {
            PERFLEET_TRY(calls_->end(run_.counts));
            run_.session = calls_->id();
        }
        add_warnings();
        return Done{};
    }

    // Waits briefly, or until an event.
    bool is_over() {
        std::array<pollfd, 3> waited{
            {{tracer_->wake_fd(), POLLIN, 0}, {stop_fd_, POLLIN, 0}, {command_ ? command_->end_fd() : -1, POLLIN, 0}}};
        ::poll(waited.data(), waited.size(), kDrainIntervalMs);
        if (command_) {
            if (const auto status = command_->exit_status()) {
                run_.exit_status = follows_command() ? *status : 0;
                run_.signal = stop_ ? stop_->signal() : 0;
                return true;
            }
        }
        if (stop_) {
            stop_->pass_on();
        } else if ((waited[1].revents & POLLIN) != 0) {
            if (command_) {
                command_->terminate();
            }
            return true;
        }
        return !options_.pids.empty() && !any_runs(options_.pids);
    }

    Result<Done> drain() {
        if (!calls_) {
            return Done{};
        }
        calls_->enter();
        tracer_->drain([&](const FunctionCall& call) { calls_->add(call); });
        return calls_->error() ? Result<Done>{Error{*calls_->error()}} : Done{};
    }

    void add_warnings() {
        for (std::size_t i = 0; i < run_.names.size(); ++i) {
            const FunctionCounts& counts = run_.counts[i];
            const std::uint64_t lost = counts.evicted + counts.without_memory;
            const std::uint64_t unfinished = counts.abandoned + counts.open;
            const auto warn = [&](std::string text) {
                run_.warnings.push_back(run_.names[i] + ": " + std::move(text));
            };
            if (counts.entered + counts.unmatched == 0) {
                run_.warnings.push_back(run_.names[i] + " was not called");
            }
            if (unfinished != 0) {
                const char* const why =
                    functions_[i].image.empty()
                        ? "have no time: the kernel times at most two calls per CPU at once (ten at least), or they "
                          "still run"
                    : functions_[i].exits.empty()
                        ? "have no time: they didn't return (longjmp, an exception, a thread's end), still ran, or "
                          "were nested deeper than the kernel follows (64)"
                        : "didn't return (longjmp, an exception, a thread's end, or they still ran): they have no "
                          "time";
                warn(fmt::format("{} of {} calls {}", unfinished, counts.entered, why));
            }
            if (counts.unmatched > counts.evicted) {
                const std::uint64_t count = counts.unmatched - counts.evicted;
                warn(follows_command()
                         ? counted_noun(count, "return is", "returns are") +
                               " of no call that was seen to begin (entered behind its first instruction, or returned "
                               "twice, as after fork()): not counted"
                         : counted_noun(count, "call") + " had begun before: not counted");
            }
            if (counts.jumped != 0) {
                warn(
                    fmt::format("{} of {} times end at a jump to another function (a tail call): the time in that "
                                "one isn't included",
                                counts.jumped, counts.returned));
            }
            if (lost != 0) {
                warn(
                    fmt::format("{} of {} calls have no time: more than {} were open at once, or had been left "
                                "without a return",
                                lost, counts.entered, FUNCTION_OPEN_CALLS_MAX));
            }
            if (counts.elsewhere != 0) {
                warn(fmt::format("{} of {} calls have no time: they weren't on a goroutine's stack", counts.elsewhere,
                                 counts.entered));
            }
            if (counts.rows_lost != 0) {
                warn(counted_noun(counts.rows_lost, "call has", "calls have") +
                     " no row: more than could be stored in time. --no-rows counts all of them in a histogram");
            }
        }
        if (const std::uint64_t unprobed = tracer_->unprobed_count(); unprobed != 0) {
            run_.warnings.push_back(
                counted_noun(unprobed, "process", "processes") +
                " went on without the first thread (it ended alone, or another one called exec()): the kernel removed "
                "the probes, and later calls aren't counted; --follow counts them");
        }
        if (const std::uint64_t forked = tracer_->forked_count(); forked != 0) {
            run_.warnings.push_back(
                counted_noun(forked, "process that was started meanwhile isn't",
                             "processes that were started meanwhile aren't") +
                (options_.follows_children ? " followed: there are too many" : " followed; --follow does"));
        }
    }

    const FunctionRunOptions& options_;
    SessionDestination* destination_;
    const ShowFunctions& show_;
    FunctionRun run_;
    std::vector<TracedFunction> functions_;
    std::vector<std::string> formats_;  // of events
    std::map<ProbedWay, std::optional<ProbeOverhead>> overheads_;
    std::unique_ptr<Command> command_;
    std::optional<CommandStop> stop_;  // of a traced command
    int stop_fd_ = -1;                 // without one
    std::unique_ptr<FunctionTracer> tracer_;
    std::unique_ptr<CallStore> calls_;
};

}  // namespace

Result<FunctionName> parse_function(const std::string& text) {
    // The first colon that isn't part of "::" or a path's last one.
    for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 2)) {
        if (at + 1 < text.size() && text[at + 1] == ':') {
            continue;
        }
        if (at > 0 && at + 1 < text.size()) {
            return FunctionName{text.substr(0, at), text.substr(at + 1)};
        }
        break;
    }
    if (text.empty() || text.front() == ':' || text.back() == ':') {
        return Error{ErrorCode::kUsage, "--function: '" + text +
                                            "' isn't [IMAGE:]FUNCTION, such as libc:malloc, ns::f or kernel:vfs_read"};
    }
    return FunctionName{"", text};
}

Result<FunctionRun> run_functions(const FunctionRunOptions& options, SessionDestination* destination,
                                  const ShowFunctions& show) {
    return Measurement{options, destination, show}.run();
}

}  // namespace perfleet
