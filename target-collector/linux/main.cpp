// perfleet-collector: profiles this machine and sends the data to a gateway.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "daemon/command-line/arguments.h"
#include "daemon/command-line/version.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics_option.h"
#include "daemon/metrics/metrics_server.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/service/service_manager.h"
#include "daemon/start/program_start.h"
#include "daemon/terminal/live_line.h"
#include "target-collector/linux/collector.h"
#include "target-collector/linux/command_line.h"
#include "target-collector/linux/host/cpu_budget.h"
#include "target-collector/linux/host/progress.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/linux/symbols/confined_reader.h"
#include "target-collector/metrics/collector_metrics.h"

namespace perfleet {
namespace {

constexpr int kExitFailure = 1;
constexpr unsigned kLibraryThreads = 2;  // the threads of name resolution and of metrics

std::atomic<Collector*> running_collector{nullptr};

std::atomic<bool> is_opening{true};
std::atomic<bool> is_stopping{false};
std::atomic<bool> is_stop_due{false};  // requested, but not passed on yet

void on_signal(int signal) {
    const bool was_stopping = is_stopping.exchange(true);
    // Two SIGHUPs often come together; a second one isn't the user's request to end at once.
    if (was_stopping && signal == SIGHUP) {
        return;
    }
    // Opening may block forever, for example on a pipe without a reader.
    if (was_stopping && is_opening.load()) {
        ::signal(signal, SIG_DFL);
        ::raise(signal);
        return;
    }
    is_stop_due.store(true);
    if (Collector* const collector = running_collector.load(); collector != nullptr && is_stop_due.exchange(false)) {
        collector->stop();
    }
}

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    if (!is_signal_ignored(SIGHUP)) {
        ::sigaction(SIGHUP, &action, nullptr);
    }
}

// Passes on a signal that came before the collector existed.
void pass_signals_to(Collector& collector) {
    running_collector.store(&collector);
    is_opening.store(false);
    if (is_stop_due.exchange(false)) {
        collector.stop();
    }
}

// Reports an error before the log exists.
int fail_early(const Error& error) {
    std::fprintf(stderr, "perfleet-collector: %s\n", error.message.c_str());
    return exit_status_of(error, false);
}

int fail(Log& log, const Error& error, bool has_command) {
    log.write({LogLevel::kError, "end", error.message});
    return exit_status_of(error, has_command);
}

Result<std::unique_ptr<MetricsServer>> start_metrics(const std::string& address, const Collector& collector, Log& log) {
    if (address.empty()) {
        return std::unique_ptr<MetricsServer>{};
    }
    auto server = MetricsServer::start(address, [&collector, &log](MetricPage& page) {
        add_collector_metrics(collector.counts(), log.suppressed_count(), page);
        add_process_metrics(page);
    });
    if (server.ok()) {
        log.write({LogLevel::kNotice, "start", "metrics are at http://" + (*server)->address() + "/metrics"});
    }
    return server;
}

int run(int argc, char** argv) {
    const ServiceManager manager = ServiceManager::from_environment();
    CommandLine parsed;
    CLI::App app;
    app.name("perfleet-collector");
    describe_command_line(CommandLineForm::kCollector, app, parsed);
    app.set_version_flag("--version", version_line("perfleet-collector"));
    std::string address;
    std::string log_level{"notice"};
    std::string log_format{"text"};
    add_options(app, {metrics_row(address, "9412"), log_level_row(log_level), log_format_row(log_format)});
    if (const std::optional<int> status = parse_arguments(app, argc, argv)) {
        return *status;
    }
    parsed.options.own_command_line.assign(argv, argv + argc);
    parsed.options.reader_program = "/proc/self/exe";
    auto line = finish_command_line(std::move(parsed));
    if (!line.ok()) {
        return fail_early(line.error());
    }
    if (!line->has_value()) {
        return 0;
    }
    auto opened_log = Log::to_standard_error("perfleet-collector", log_level, log_format);
    if (!opened_log.ok()) {
        return fail_early(opened_log.error());
    }
    Log& log = **opened_log;
    for (const std::string& note : (*line)->notes) {
        log.write({LogLevel::kNotice, "start", note});
    }
    CollectorOptions options = std::move((*line)->options);
    if (manager.is_there() && !(*line)->cpu_budget_percent && options.all_cpus && !options.period) {
        options.cpu_budget_percent = CpuBudget::kPercentUnattended;
    }
    const bool has_command = !options.command.empty();
    // A live line would mix with a command's output to the same terminal.
    const bool has_live_line = LiveLine::is_possible() && !has_command && log_format == "text";
    options.reports_progress = !has_live_line;
    LiveLine live_line;

    catch_signals();  // opening takes a while, and a session that has begun must end cleanly
    auto collector = Collector::open(
        std::move(options), [&log, &live_line](const LogEvent& event) { live_line.write([&] { log.write(event); }); });
    if (!collector.ok()) {
        return fail(log, collector.error(), has_command);
    }
    const auto metrics = start_metrics(address, **collector, log);
    if (!metrics.ok()) {
        return fail(log, metrics.error(), false);
    }
    pass_signals_to(**collector);
    ::signal(SIGPIPE, SIG_IGN);  // not earlier: the command would inherit it
    manager.say_ready();
    if (has_live_line) {
        live_line.start(
            [&collector = **collector, progress = Progress{monotonic_now().value}](std::size_t column_count) mutable {
                return progress.for_terminal(collector.counts(), collector.peer(), monotonic_now().value, column_count);
            });
    }
    const auto summary = (*collector)->run();
    live_line.stop();
    running_collector.store(nullptr);
    manager.say_stopping();
    if (!summary.ok()) {
        return fail(log, summary.error(), has_command);
    }
    log.write({LogLevel::kNotice, "end", summary_line(*summary)});
    const bool nothing_is_lost =
        (summary->everything_acknowledged || (summary->is_rest_kept && !summary->session_refused)) &&
        summary->damaged_spool_files == 0;
    return nothing_is_lost ? summary->command_exit_status : kExitFailure;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) {
    perfleet::run_if_confined_reader(argv);
    return perfleet::start_program("perfleet-collector", perfleet::kLibraryThreads) ? perfleet::run(argc, argv)
                                                                                    : perfleet::kExitFailure;
}
