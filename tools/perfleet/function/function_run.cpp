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
#include <map>
#include <memory>
#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/linux/clock_relation.h"
#include "target-collector/linux/command.h"
#include "target-collector/linux/machine_state.h"
#include "target-collector/linux/target_identity.h"
#include "target-collector/process/proc_reader.h"
#include "tools/perfleet/function/function_image.h"
#include "tools/perfleet/function/function_overhead.h"
#include "tools/perfleet/import/local_session.h"
#include "tools/perfleet/redirected_output.h"

namespace perfleet {
namespace {

constexpr const char* kKernel = "kernel";
constexpr int kDrainIntervalMs = 20;  // a sixteenth of the ring at a million calls a second
constexpr std::uint64_t kMonotonicTicksPerSecond = 1'000'000'000;
constexpr std::uint64_t kFlushIntervalNs = 1'000'000'000;

using Clock = std::chrono::steady_clock;

// A session of the calls' times.
class CallStore {
public:
    // `formats`: what is to be known of each function's probes.
    CallStore(Store& store, std::span<const std::string> names, std::span<const std::string> formats)
        : session_{store}, names_{names}, formats_{formats} {}

    Result<Done> begin(const std::vector<std::string>& own_command_line) {
        HelloDescription hello;
        const std::string target = host_name();
        hello.session = new_session_id();
        hello.target = target_id_of(target);
        hello.target_name = target;
        utsname system{};
        ::uname(&system);
        hello.architecture = system.machine;
        hello.host.os_release = system.release;
        const std::vector<std::string_view> words{own_command_line.begin(), own_command_line.end()};
        hello.host.command_line = words;
        const auto state = machine_state();
        std::vector<LabelDescription> labels;
        for (const auto& [key, value] : state) {
            labels.push_back({key, value});
        }
        hello.labels = labels;
        std::vector<EventDescription> events;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            EventDescription& event = events.emplace_back();
            event.name = names_[i];
            event.format = formats_[i];
            event.kind = Kind::kTracepoint;
            event.period = 1;
            event.unit = "ns";
        }
        hello.events = events;
        hello.clock = {"monotonic", kMonotonicTicksPerSecond, CLOCK_MONOTONIC};
        hello.start_point = observe_clocks();
        hello.collector_version = PERFLEET_VERSION;
        PERFLEET_TRY(session_.admit(hello));
        return enter();
    }

    // The hour of the rows that come now. What is older than a second goes into the store: a kill takes no more.
    Result<Done> enter() {
        const ClockPoint now = observe_clocks();
        if (now.ticks.value - flushed_.value >= kFlushIntervalNs) {
            flushed_ = now.ticks;
            PERFLEET_TRY(session_.flush(now.ticks));
        }
        return session_.enter(bucket_of(now.utc_ns), now.ticks);
    }

    Result<Done> add(const FunctionCall& call) {
        using enum ColumnId;
        const auto row =
            row_of<Kind::kTracepoint>(column<kCpu>(call.cpu), column<kPid>(call.pid), column<kTid>(call.tid),
                                      column<kWeight>(1), column<kValue>(call.duration_ns));
        return session_.append({series_of(call.function), Ticks{call.end_ns}, row});
    }

    Result<Done> end(std::span<const FunctionCounts> counts) {
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const Series series = series_of(i);
            if (counts[i].rows_lost != 0) {
                session_.lose(series, CountName::kLostKernelRing, counts[i].rows_lost);
            }
            if (const std::uint64_t full = counts[i].too_deep + counts[i].without_memory; full != 0) {
                session_.lose(series, CountName::kLostSaturated, full);
            }
        }
        return session_.end(observe_clocks());
    }

    [[nodiscard]] SessionId id() const { return session_.record().session; }

private:
    static Series series_of(std::size_t function) {
        return {Kind::kTracepoint, EventNumber{static_cast<std::uint16_t>(function)}};
    }

    LocalSession session_;
    std::span<const std::string> names_;
    std::span<const std::string> formats_;
    Ticks flushed_;
};

bool any_runs(const std::vector<std::uint32_t>& pids) {
    return std::any_of(pids.begin(), pids.end(),
                       [](std::uint32_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; });
}

class Measurement {
public:
    Measurement(const FunctionRunOptions& options, Store* store, const ShowFunctions& show)
        : options_{options}, store_{store}, show_{show} {}

    Result<FunctionRun> run() {
        for (const auto step : {&Measurement::find, &Measurement::open, &Measurement::measure}) {
            PERFLEET_TRY((this->*step)());
        }
        return std::move(run_);
    }

private:
    [[nodiscard]] bool follows_command() const { return options_.pids.empty() && !options_.all; }

    Result<FunctionImages> images() const {
        if (!options_.pids.empty()) {
            return images_of_process(options_.pids.front());
        }
        if (options_.all) {
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
            const auto image = PERFLEET_TRY(find_image(*images_or_none, name.image));
            FunctionSearch search;
            search.paths = options_.paths;
            search.may_throw = options_.all || options_.follows_children || images_or_none->may_throw();
            auto found = PERFLEET_TRY(find_function(image, name.function, search));
            run_.names.push_back(found.traced.name);
            functions_.push_back(std::move(found.traced));
            formats_.push_back(store_ == nullptr ? "" : format_of(found.way));
            run_.warnings.insert(run_.warnings.end(), found.warnings.begin(), found.warnings.end());
        }
        return Done{};
    }

    // What the probes themselves take, measured once for each way.
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
        tracer_options.has_rows = store_ != nullptr;
        tracer_options.own_pid = static_cast<std::uint32_t>(::getpid());
        tracer_ = PERFLEET_TRY(FunctionTracer::open(functions_, tracer_options));
        if (store_ != nullptr) {
            calls_ = std::make_unique<CallStore>(*store_, run_.names, formats_);
            return calls_->begin(options_.own_command_line);
        }
        return Done{};
    }

    Result<Done> measure() {
        tracer_->enable(true);
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

    // Waits a while, or until something is to be done.
    bool is_over() {
        std::array<pollfd, 3> waited{{{tracer_->wake_fd(), POLLIN, 0},
                                      {options_.stop_fd, POLLIN, 0},
                                      {command_ ? command_->end_fd() : -1, POLLIN, 0}}};
        ::poll(waited.data(), waited.size(), kDrainIntervalMs);
        if (command_) {
            if (const auto status = command_->exit_status()) {
                run_.exit_status = follows_command() ? *status : 0;
                return true;
            }
        }
        std::uint64_t signals = 0;
        if ((waited[1].revents & POLLIN) != 0 && ::read(options_.stop_fd, &signals, sizeof(signals)) > 0) {
            if (!command_ || !follows_command()) {
                if (command_) {
                    command_->terminate();
                }
                return true;
            }
            if (signals == SIGTERM) {  // Ctrl-C the command has got, too, and may end as it likes
                command_->terminate();
            }
        }
        return !options_.pids.empty() && !any_runs(options_.pids);
    }

    Result<Done> drain() {
        if (!calls_) {
            return Done{};
        }
        Result<Done> done = calls_->enter();
        tracer_->drain([&](const FunctionCall& call) {
            if (done.ok()) {
                done = calls_->add(call);
            }
        });
        return done;
    }

    void add_warnings() {
        for (std::size_t i = 0; i < run_.names.size(); ++i) {
            const FunctionCounts& counts = run_.counts[i];
            const std::uint64_t lost = counts.too_deep + counts.without_memory;
            const std::uint64_t ended = counts.returned + lost;
            const auto warn = [&](std::string text) {
                run_.warnings.push_back(run_.names[i] + ": " + std::move(text));
            };
            if (counts.entered > ended && functions_[i].image.empty()) {
                warn(
                    fmt::format("{} of {} calls have no time: the kernel times at most two calls per CPU at once (ten "
                                "at least), or they still run",
                                counts.entered - ended, counts.entered));
            } else if (counts.entered > ended) {
                warn(
                    fmt::format("{} of {} calls didn't return (longjmp, an exception, a thread's end, or they still "
                                "run): they have no time",
                                counts.entered - ended, counts.entered));
            }
            if (counts.unmatched != 0) {
                warn(fmt::format("{} calls had begun before: they aren't counted", counts.unmatched));
            }
            if (counts.too_deep != 0) {
                warn(fmt::format("{} calls were nested deeper than {} in their thread: they have no time",
                                 counts.too_deep,
                                 functions_[i].exits.empty() ? FUNCTION_TRAMPOLINES_MAX : FUNCTION_DEPTH_MAX));
            }
            if (counts.without_memory != 0) {
                warn(fmt::format("{} calls have no time: the kernel had no memory for their thread",
                                 counts.without_memory));
            }
            if (counts.rows_lost != 0) {
                warn(
                    fmt::format("{} calls have no row: more than could be stored in time. --no-rows counts all of "
                                "them in a histogram",
                                counts.rows_lost));
            }
        }
        if (const std::uint64_t forked = tracer_->forked_count(); forked != 0) {
            run_.warnings.push_back(
                options_.follows_children
                    ? fmt::format("{} processes that were started meanwhile aren't followed: there are too many",
                                  forked)
                    : fmt::format("{} processes that were started meanwhile aren't followed; --follow does", forked));
        }
    }

    const FunctionRunOptions& options_;
    Store* store_;
    const ShowFunctions& show_;
    FunctionRun run_;
    std::vector<TracedFunction> functions_;
    std::vector<std::string> formats_;  // of events
    std::map<ProbedWay, std::optional<ProbeOverhead>> overheads_;
    std::unique_ptr<Command> command_;
    std::unique_ptr<FunctionTracer> tracer_;
    std::unique_ptr<CallStore> calls_;
};

}  // namespace

Result<FunctionName> parse_function(const std::string& text) {
    // The first colon that isn't one of "::", nor the last one of a path.
    for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 2)) {
        if (at + 1 < text.size() && text[at + 1] == ':') {
            continue;
        }
        if (at > 0 && at + 1 < text.size()) {
            return FunctionName{text.substr(0, at), text.substr(at + 1)};
        }
        break;
    }
    return Error{ErrorCode::kUsage, "--function: '" + text +
                                        "' isn't IMAGE:FUNCTION, such as libc:malloc, ./program:ns::f or "
                                        "kernel:vfs_read"};
}

Result<FunctionRun> run_functions(const FunctionRunOptions& options, Store* store, const ShowFunctions& show) {
    return Measurement{options, store, show}.run();
}

}  // namespace perfleet
