#include "daemon/start/stop_signal.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/host/wake_event.h"

namespace perfleet {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<pthread_t> signal_thread;

// In a thread that was there before the signals were blocked, such as those of a database.
void pass_on(int signal) { pthread_kill(signal_thread, signal); }

class SignalThread final : public StopSignal {
public:
    SignalThread(WakeEvent event, const sigset_t& signals, std::function<void()> overdue, std::uint64_t stop_within_ns)
        : event_{std::move(event)},
          signals_{signals},
          overdue_{std::move(overdue)},
          stop_within_{stop_within_ns},
          thread_{[this] { wait(); }} {
        signal_thread = thread_.native_handle();
        struct sigaction action {};
        action.sa_handler = pass_on;
        action.sa_flags = SA_RESTART;
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
            if (sigismember(&signals_, signal) == 1) {
                sigaction(signal, &action, &before_.emplace_back(signal, action).second);
            }
        }
    }

    ~SignalThread() override {
        for (const auto& [signal, action] : before_) {
            sigaction(signal, &action, nullptr);
        }
        is_over_ = true;
        pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread): it waits for one
        thread_.join();
    }

    const std::atomic<bool>& flag() const override { return flag_; }
    int fd() const override { return event_.fd(); }

private:
    void wait() {
        std::optional<Clock::time_point> deadline;
        while (!is_over_) {
            if (wait_for_signal(deadline)) {
                if (!is_over_ && !deadline.has_value()) {
                    deadline = Clock::now() + stop_within_;
                    flag_.store(true, std::memory_order_release);
                    event_.signal();
                }
            } else if (deadline.has_value() && Clock::now() >= *deadline) {
                overdue_();
                return;
            }
        }
    }

    // False: the deadline has passed, or the call was interrupted.
    [[nodiscard]] bool wait_for_signal(const std::optional<Clock::time_point>& deadline) const {
        if (!deadline.has_value()) {
            int signal = 0;
            return sigwait(&signals_, &signal) == 0;
        }
        const auto left = std::max(*deadline - Clock::now(), Clock::duration::zero());
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
        const timespec timeout{seconds.count(), std::chrono::nanoseconds{left - seconds}.count()};
        return sigtimedwait(&signals_, nullptr, &timeout) >= 0;
    }

    WakeEvent event_;
    sigset_t signals_;
    std::function<void()> overdue_;
    std::chrono::nanoseconds stop_within_;
    std::atomic<bool> flag_{false};
    std::atomic<bool> is_over_{false};
    std::vector<std::pair<int, struct sigaction>> before_;
    std::thread thread_;  // last member: it uses the others
};

}  // namespace

Result<std::unique_ptr<StopSignal>> StopSignal::catch_signals(std::function<void()> overdue,
                                                              std::uint64_t stop_within_ns) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        sigaddset(&signals, SIGHUP);
    }
    if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
        return error_from_errno(error, "blocking signals");
    }
    WakeEvent event;
    if (!event) {
        return error_from_errno(errno, "eventfd");
    }
    return std::unique_ptr<StopSignal>{
        std::make_unique<SignalThread>(std::move(event), signals, std::move(overdue), stop_within_ns)};
}

}  // namespace perfleet
