#include "gateway/process/symbol_fetch.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {
namespace {

constexpr int kPauseFactor = 10;

class PeriodicSymbolFetch final : public SymbolFetch, NonCopyable {
public:
    explicit PeriodicSymbolFetch(Options options) : options_{std::move(options)}, thread_{[this] { run(); }} {}

    ~PeriodicSymbolFetch() override {
        stop_.signal();
        thread_.join();
    }

private:
    using Clock = std::chrono::steady_clock;

    // False if the thread must stop.
    [[nodiscard]] bool wait(int fd, std::chrono::milliseconds most) const {
        std::array<pollfd, 2> ready{pollfd{stop_.fd(), POLLIN, 0}, pollfd{fd, POLLIN, 0}};
        const Clock::time_point end = Clock::now() + most;
        for (;;) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
            const int count = ::poll(ready.data(), ready.size(), static_cast<int>(std::max<decltype(left)>(left, 0)));
            if (count >= 0 || errno != EINTR) {
                return (ready[0].revents & POLLIN) == 0;
            }
        }
    }

    void run() {
        for (;;) {
            const Clock::time_point begin = Clock::now();
            if (!fetch()) {
                return;
            }
            const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
            if (!wait(-1, std::max(options_.pause, took * kPauseFactor))) {
                return;
            }
        }
    }

    // Runs the program once. False if the thread must stop.
    [[nodiscard]] bool fetch() {
        const std::array<const char*, 8> arguments{
            options_.program.c_str(), "symbols", "fetch", "--data", options_.data.c_str(), "--debuginfod",
            options_.servers.c_str(), nullptr};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        pid_t pid = 0;
        const int error = ::posix_spawn(&pid, options_.program.c_str(), &actions, &attributes,
                                        const_cast<char* const*>(arguments.data()), environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        if (error != 0) {
            report("can't be started: " + std::string{std::strerror(error)});
            return true;
        }
        const FileDescriptor process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
        const bool goes_on = wait(process.get(), std::chrono::hours{1});
        int status = 0;
        if (!goes_on || ::waitpid(pid, &status, WNOHANG) == 0) {
            ::kill(pid, SIGKILL);
            while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
            }
        }
        if (goes_on && status != 0) {
            report(WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                       : "ended with exit status " + std::to_string(WEXITSTATUS(status)));
        }
        return goes_on;
    }

    // Logs each cause once in a row.
    void report(const std::string& what) {
        if (options_.log && std::exchange(reported_, what) != what) {
            options_.log({LogLevel::kWarning, "symbols",
                          "symbols aren't fetched from debuginfod servers: " + options_.program + " symbols fetch " +
                              what + "; it is tried again"});
        }
    }

    Options options_;
    std::string reported_;
    WakeEvent stop_;
    std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<SymbolFetch>> SymbolFetch::start(Options options) {
    if (::access(options.program.c_str(), X_OK) != 0) {
        return Error{ErrorCode::kNotFound,
                     "--debuginfod takes the program " + options.program + ": " + std::string{std::strerror(errno)}};
    }
    return std::unique_ptr<SymbolFetch>{std::make_unique<PeriodicSymbolFetch>(std::move(options))};
}

}  // namespace perfleet
