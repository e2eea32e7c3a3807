#include "tools/perfleet/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace perfleet {

namespace {

constexpr std::size_t kOutputSizeBytesMax = 256U << 20U;

}  // namespace

Result<ProgramOutput> run_program(const std::vector<std::string>& command) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return error_from_errno(errno, "pipe");
    }
    std::vector<char*> arguments;
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
    pid_t pid = 0;
    const int failure = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    ProgramOutput output;
    std::array<char, 65'536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    while (failure == 0 && output.text.size() < kOutputSizeBytesMax) {
        const ssize_t size = ::read(pipe[0], buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            break;
        }
        output.text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(pipe[0]);
    if (failure != 0) {
        return error_from_errno(failure, command[0]);
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return output;
}

}  // namespace perfleet
