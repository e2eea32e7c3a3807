#include "tools/perfleet/shell/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/file_io.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace perfleet {
namespace {

Result<pid_t> start(const std::vector<std::string>& command, const posix_spawn_file_actions_t* actions) {
    std::vector<char*> arguments;
    for (const std::string& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t pid = 0;
    const int failure = ::posix_spawnp(&pid, arguments[0], actions, nullptr, arguments.data(), environ);
    return failure == 0 ? Result<pid_t>{pid} : error_from_errno(failure, command[0]);
}

// The exit status; -1: ended by a signal.
int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Result<ProgramOutput> run_program(const std::vector<std::string>& command, std::size_t output_size_bytes_max) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return error_from_errno(errno, "pipe");
    }
    FileDescriptor from{pipe[0]};
    FileDescriptor to{pipe[1]};
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
    const auto pid = start(command, &actions);
    ::posix_spawn_file_actions_destroy(&actions);
    to.reset();
    if (!pid.ok()) {
        return pid.error();
    }
    ProgramOutput output;
    output.text = read_rest(from.get(), output_size_bytes_max).value_or("");
    from.reset();  // ends a program that still writes
    output.status = wait_for(*pid);
    return output;
}

Result<int> run_program_here(const std::vector<std::string>& command) {
    const int status = wait_for(PERFLEET_TRY(start(command, nullptr)));
    return status < 0 ? 1 : status;
}

}  // namespace perfleet
