#include "tools/perfleet/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>

namespace perfleet {
namespace {

constexpr double kMsPerSecond = 1'000;
constexpr const char* kClearScreen = "\033[H\033[2J";

// Signal handlers can't be given anything.
volatile int stop_fd = -1;

void on_stop(int) {
    const std::uint64_t one = 1;
    (void)!::write(stop_fd, &one, sizeof one);
}

// While it lives SIGINT and SIGTERM make the descriptor readable.
class StopSignals {
public:
    StopSignals() {
        stop_fd = ::eventfd(0, EFD_CLOEXEC);
        struct sigaction action {};
        sigemptyset(&action.sa_mask);
        action.sa_handler = on_stop;
        action.sa_flags = SA_RESTART;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            ::sigaction(kSignals[i], &action, &before_[i]);
        }
    }
    ~StopSignals() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            ::sigaction(kSignals[i], &before_[i], nullptr);
        }
        ::close(stop_fd);
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

private:
    static constexpr std::array kSignals{SIGINT, SIGTERM};
    std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

int watch(double interval_s, const std::function<int()>& show) {
    const StopSignals signals;
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
        pollfd stop{stop_fd, POLLIN, 0};
        if (::poll(&stop, 1, static_cast<int>(interval_s * kMsPerSecond)) != 0 || std::ferror(stdout) != 0) {
            status = 0;
            break;
        }
    }
    return status;
}

}  // namespace perfleet
