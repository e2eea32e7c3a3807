// perfleet-collector: profiles this machine and sends what it sees to a gateway.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "target-collector/linux/collector.h"
#include "target-collector/linux/command_line.h"

namespace perfleet {
namespace {

constexpr int kExitFailure = 1;

std::atomic<Collector*> running_collector{nullptr};

void on_signal(int /*signal*/) {
    if (Collector* const collector = running_collector.load()) {
        collector->stop();
    }
}

void say(std::string_view text) {
    const std::string line = "perfleet-collector: " + std::string(text) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

int run(int argc, char** argv) {
    auto line = parse_command_line(CommandLineForm::kCollector, argc, argv);
    if (!line.ok()) {
        say(line.error().message);
        return exit_status_of(line.error(), false);
    }
    if (!line->has_value()) {
        return 0;
    }
    CollectorOptions options = std::move((*line)->options);
    const bool has_command = !options.command.empty();

    auto collector = Collector::open(std::move(options), say);
    if (!collector.ok()) {
        say(collector.error().message);
        return exit_status_of(collector.error(), has_command);
    }
    running_collector.store(collector->get());
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    const auto summary = (*collector)->run();
    running_collector.store(nullptr);
    if (!summary.ok()) {
        say(summary.error().message);
        return exit_status_of(summary.error(), has_command);
    }
    say(summary_line(*summary));
    return summary->everything_acknowledged || (summary->is_rest_kept && !summary->session_refused) ? 0 : kExitFailure;
}

}  // namespace
}  // namespace perfleet

int main(int argc, char** argv) { return perfleet::run(argc, argv); }
