#include "tools/perfleet/shell/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "daemon/start/program_start.h"

namespace perfleet {
namespace {

constexpr double kMsPerSecond = 1'000;

// Signal handlers take no arguments.
volatile int stop_fd = -1;
volatile std::sig_atomic_t first_signal = 0;

void on_stop(int signal) {
    if (first_signal == 0) {
        first_signal = signal;
    }
    const auto number = static_cast<std::uint64_t>(signal);
    (void)!::write(stop_fd, &number, sizeof number);
}

}  // namespace

int first_stop_signal() { return first_signal; }

int catch_stop_signals(std::initializer_list<int> signals) {
    if (stop_fd < 0) {
        stop_fd = ::eventfd(0, EFD_CLOEXEC);
    }
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = on_stop;
    action.sa_flags = SA_RESTART;
    for (const int signal : signals) {
        if (signal != SIGHUP || !is_signal_ignored(SIGHUP)) {
            ::sigaction(signal, &action, nullptr);
        }
    }
    return stop_fd;
}

bool any_runs(const std::vector<std::uint32_t>& pids) {
    return std::ranges::any_of(
        pids, [](std::uint32_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; });
}

int watch(double interval_s, const std::function<int()>& show) {
    const int stopped = catch_stop_signals();
    const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
    int status = 0;
    for (bool is_first = true;; is_first = false) {
        if (is_terminal) {
            std::fputs(kClearScreen, stdout);
            std::printf("Every %g s; Ctrl-C ends\n\n", interval_s);
        } else if (!is_first) {
            std::fputs("\n", stdout);
        }
        std::fflush(stdout);
        status = show();
        if (status != 0 && is_first) {
            break;
        }
        pollfd stop{stopped, POLLIN, 0};
        if (::poll(&stop, 1, static_cast<int>(interval_s * kMsPerSecond)) != 0 || std::ferror(stdout) != 0) {
            status = 0;
            break;
        }
    }
    return status;
}

}  // namespace perfleet
