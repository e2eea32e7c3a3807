#include "tests/end_to_end/process.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace perfleet::end_to_end {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point timeout_end() { return Clock::now() + std::chrono::seconds{kTimeoutS}; }

struct Pipe {
    int read_end = -1;
    int write_end = -1;

    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            throw std::runtime_error{std::string{"pipe: "} + std::strerror(errno)};
        }
        read_end = ends[0];
        write_end = ends[1];
    }
};

std::vector<char*> c_strings(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& text : strings) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

// The complete line of `text` that begins with `prefix`.
std::optional<std::string> find_line(const std::string& text, std::string_view prefix) {
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string::npos) {
            return std::nullopt;
        }
        if (text.compare(begin, prefix.size(), prefix) == 0) {
            return text.substr(begin, end - begin);
        }
        begin = end + 1;
    }
}

}  // namespace

std::string program_path(std::string_view name) { return std::string{PERFLEET_BIN_DIR "/"}.append(name); }

std::string workload_path(std::string_view name) { return std::string{PERFLEET_WORKLOAD_DIR "/"}.append(name); }

TemporaryFolder::TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string{base != nullptr && *base != 0 ? base : "/tmp"} + "/perfleet-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error{pattern + ": " + std::strerror(errno)};
    }
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

struct Process::State {
    pid_t pid = -1;
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::string output;
    std::string error_output;
    int open_pipes = 2;
    std::optional<Ending> ending;
    std::thread output_reader;
    std::thread error_reader;
    std::thread waiter;

    void read_all(int descriptor, std::string& into) {
        char buffer[4096];
        while (true) {
            const ssize_t size = read(descriptor, buffer, sizeof buffer);
            if (size < 0 && errno == EINTR) {
                continue;
            }
            const std::lock_guard lock{mutex};
            if (size <= 0) {
                --open_pipes;
                changed.notify_all();
                break;
            }
            into.append(buffer, static_cast<std::size_t>(size));
            changed.notify_all();
        }
        close(descriptor);
    }

    // The process id stays taken until the child is reaped under the lock, so that no signal can reach a stranger.
    void wait_for_end() {
        siginfo_t info{};
        while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
        }
        const std::lock_guard lock{mutex};
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        ending = WIFSIGNALED(status) ? Ending{-1, WTERMSIG(status)} : Ending{WEXITSTATUS(status), 0};
        changed.notify_all();
    }

    std::optional<std::string> wait_for(const std::string& text, std::string_view prefix) {
        std::unique_lock lock{mutex};
        std::optional<std::string> line;
        changed.wait_until(lock, timeout_end(), [&] {
            line = find_line(text, prefix);
            return line.has_value() || (ending.has_value() && open_pipes == 0);
        });
        return line;
    }
};

Process::Process(const std::vector<std::string>& command) : Process{command, Options{}} {}

Process::Process(const std::vector<std::string>& command, const Options& options) : state_{std::make_unique<State>()} {
    std::vector<std::string> arguments = command;
    const std::vector<char*> argv = c_strings(arguments);
    std::vector<std::string> variables = options.environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        variables.emplace_back(*variable);
    }
    const std::vector<char*> envp = c_strings(variables);
    const Pipe output;
    const Pipe error_output;
    const pid_t parent = getpid();

    const pid_t pid = fork();
    if (pid < 0) {
        throw std::runtime_error{std::string{"fork: "} + std::strerror(errno)};
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (getppid() != parent || nothing < 0 || dup2(nothing, 0) < 0 || dup2(output.write_end, 1) < 0 ||
            dup2(error_output.write_end, 2) < 0 || (!options.folder.empty() && chdir(options.folder.c_str()) != 0)) {
            _exit(126);
        }
        if (options.user.has_value()) {
            if (setgroups(0, nullptr) != 0 || setgid(*options.user) != 0 || setuid(*options.user) != 0) {
                _exit(126);
            }
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // changing the user cleared it
        }
        execvpe(argv[0], argv.data(), envp.data());
        const char* text = std::strerror(errno);
        (void)!write(2, text, std::strlen(text));
        _exit(127);
    }
    close(output.write_end);
    close(error_output.write_end);
    state_->pid = pid;
    State* state = state_.get();
    state->output_reader = std::thread{[state, end = output.read_end] { state->read_all(end, state->output); }};
    state->error_reader =
        std::thread{[state, end = error_output.read_end] { state->read_all(end, state->error_output); }};
    state->waiter = std::thread{[state] { state->wait_for_end(); }};
}

Process::~Process() {
    send_signal(SIGKILL);
    state_->waiter.join();
    state_->output_reader.join();
    state_->error_reader.join();
}

pid_t Process::pid() const { return state_->pid; }

std::optional<std::string> Process::wait_for_output(std::string_view prefix) {
    return state_->wait_for(state_->output, prefix);
}

std::optional<std::string> Process::wait_for_error(std::string_view prefix) {
    return state_->wait_for(state_->error_output, prefix);
}

void Process::send_signal(int signal) {
    const std::lock_guard lock{state_->mutex};
    if (!state_->ending.has_value()) {
        kill(state_->pid, signal);
    }
}

std::optional<Ending> Process::wait() {
    std::unique_lock lock{state_->mutex};
    state_->changed.wait_until(lock, timeout_end(),
                               [this] { return state_->ending.has_value() && state_->open_pipes == 0; });
    return state_->ending;
}

std::string Process::output() const {
    const std::lock_guard lock{state_->mutex};
    return state_->output;
}

std::string Process::error_output() const {
    const std::lock_guard lock{state_->mutex};
    return state_->error_output;
}

Finished run(const std::vector<std::string>& command, const Process::Options& options) {
    Process process{command, options};
    const std::optional<Ending> ending = process.wait();
    return {ending.value_or(Ending{}), process.output(), process.error_output()};
}

std::string field_of(std::string_view line, std::string_view name) {
    const std::string key = std::string{" "}.append(name).append("=");
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::size_t begin = at + key.size();
    return std::string{line.substr(begin, line.find(' ', begin) - begin)};
}

}  // namespace perfleet::end_to_end
