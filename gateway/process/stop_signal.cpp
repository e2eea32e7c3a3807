#include "gateway/process/stop_signal.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <thread>

namespace perfleet {
namespace {

class SignalThread final : public StopSignal {
public:
    SignalThread(int descriptor, const sigset_t& signals)
        : fd_{descriptor}, signals_{signals}, thread_{[this] { wait(); }} {}

    ~SignalThread() override {
        is_over_ = true;
        pthread_kill(thread_.native_handle(), SIGTERM);
        thread_.join();
        close(fd_);
    }

    const std::atomic<bool>& flag() const override { return flag_; }
    int fd() const override { return fd_; }

private:
    void wait() {
        while (!is_over_) {
            int signal = 0;
            if (sigwait(&signals_, &signal) == 0 && !is_over_) {
                flag_.store(true, std::memory_order_release);
                const std::uint64_t one = 1;
                (void)!write(fd_, &one, sizeof one);
            }
        }
    }

    int fd_;
    sigset_t signals_;
    std::atomic<bool> flag_{false};
    std::atomic<bool> is_over_{false};
    std::thread thread_;  // last: it uses all of them
};

}  // namespace

Result<std::unique_ptr<StopSignal>> StopSignal::catch_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
        return error_from_errno(error, "blocking signals");
    }
    const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) {
        return error_from_errno(errno, "eventfd");
    }
    return std::unique_ptr<StopSignal>{std::make_unique<SignalThread>(descriptor, signals)};
}

}  // namespace perfleet
