#include "target-collector/linux/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <span>
#include <string_view>
#include <system_error>

#include "schemas/host/file_io.h"

namespace perfleet {
namespace {

constexpr int kInterpreterSizeMax = 256;  // the kernel's BINPRM_BUF_SIZE

bool is_runnable(const std::string& path, bool& is_there) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) {
        return false;
    }
    is_there = true;
    return ::access(path.c_str(), X_OK) == 0;
}

Error not_found(const std::string& name) { return {ErrorCode::kNotFound, "the command '" + name + "' was not found"}; }

Error not_runnable(const std::string& name, int error) {
    Error refused = error_from_errno(error, "can't run the command '" + name + "'");
    refused.code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid;
    return refused;
}

// `path`, unless it is a script whose interpreter is missing: of that the kernel only says "No such file".
Result<std::string> with_interpreter(const std::string& name, std::string path) {
    std::ifstream file{path, std::ios::binary};
    std::string interpreter;
    if (file.get() == '#' && file.get() == '!' && file >> std::setw(kInterpreterSizeMax) >> interpreter &&
        ::access(interpreter.c_str(), F_OK) != 0) {
        return Error{ErrorCode::kNotFound,
                     "can't run the command '" + name + "': its interpreter '" + interpreter + "' isn't there"};
    }
    return path;
}

// Runs between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const char* path, char* const* words, char* const* shell_words, char* const* environment,
                         int go_fd, int error_fd) {
    std::array<std::byte, 1> go{};
    if (read_all(go_fd, go) != go.size()) {
        ::_exit(0);
    }
    ::execve(path, words, environment);
    if (errno == ENOEXEC) {
        ::execve("/bin/sh", shell_words, environment);  // a script without "#!", which every shell runs, too
    }
    const int error = errno;
    (void)!::write(error_fd, &error, sizeof(error));
    ::_exit(127);
}

}  // namespace

Result<std::string> find_command(const std::string& name) {
    bool is_there = false;
    if (name.find('/') != std::string::npos) {
        if (is_runnable(name, is_there)) {
            return with_interpreter(name, name);
        }
        std::error_code error;
        if (std::filesystem::is_directory(name, error)) {
            return not_runnable(name, EISDIR);
        }
    } else if (!name.empty()) {
        const char* const variable = std::getenv("PATH");
        std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
        for (bool has_more = true; has_more;) {
            const std::size_t colon = rest.find(':');
            has_more = colon != std::string_view::npos;
            const std::string_view folder = rest.substr(0, colon);
            std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + name;
            if (is_runnable(path, is_there)) {
                return with_interpreter(name, std::move(path));
            }
            rest.remove_prefix(has_more ? colon + 1 : rest.size());
        }
    }
    return is_there ? not_runnable(name, EACCES) : not_found(name);
}

Result<std::unique_ptr<Command>> Command::start(const std::vector<std::string>& words,
                                                const std::vector<std::string>& variables) {
    auto path = PERFLEET_TRY(find_command(words.front()));
    std::unique_ptr<Command> command(new Command);
    command->name_ = words.front();
    command->path_ = path;
    int go[2] = {-1, -1};
    int error[2] = {-1, -1};
    if (::pipe2(go, O_CLOEXEC) != 0) {
        return error_from_errno(errno, "can't start the command '" + words.front() + "'");
    }
    const FileDescriptor go_end{go[0]};
    command->go_fd_.reset(go[1]);
    if (::pipe2(error, O_CLOEXEC) != 0) {
        return error_from_errno(errno, "can't start the command '" + words.front() + "'");
    }
    const FileDescriptor error_end{error[1]};
    command->error_fd_.reset(error[0]);
    std::vector<char*> exec_words;
    for (const std::string& word : words) {
        exec_words.push_back(const_cast<char*>(word.c_str()));  // execv() doesn't change them
    }
    exec_words.push_back(nullptr);
    std::vector<char*> shell_words{const_cast<char*>("sh"), path.data()};
    shell_words.insert(shell_words.end(), exec_words.begin() + 1, exec_words.end());
    std::vector<char*> environment;
    for (char* const* variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text{*variable};
        const std::string_view name = text.substr(0, text.find('='));
        const bool is_replaced = std::ranges::any_of(variables, [name](const std::string& other) {
            return other.starts_with(name) && other.substr(name.size()).starts_with('=');
        });
        if (!is_replaced) {
            environment.push_back(*variable);
        }
    }
    for (const std::string& variable : variables) {
        environment.push_back(const_cast<char*>(variable.c_str()));
    }
    environment.push_back(nullptr);
    command->pid_ = ::fork();
    if (command->pid_ == 0) {
        ::close(go[1]);
        become(path.c_str(), exec_words.data(), shell_words.data(), environment.data(), go[0], error[1]);
    }
    if (command->pid_ < 0) {
        return error_from_errno(errno, "can't start the command '" + words.front() + "'");
    }
    command->end_fd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, command->pid_, 0)));
    return command;
}

Command::~Command() {
    const bool never_ran{go_fd_};
    go_fd_.reset();
    if (pid_ > 0 && never_ran) {
        ::waitpid(pid_, nullptr, 0);
    }
}

Result<Done> Command::run() {
    const char byte = 'g';
    (void)!::write(go_fd_.get(), &byte, 1);
    go_fd_.reset();
    int error = 0;
    const bool has_failed = read_all(error_fd_.get(), std::as_writable_bytes(std::span{&error, 1})) == sizeof(error);
    error_fd_.reset();
    if (has_failed) {
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
        exit_status_ = error == ENOENT ? 127 : 126;
        Error refused = not_runnable(name_, error);
        if (error == ENOENT && ::access(path_.c_str(), F_OK) == 0) {
            refused.message = "can't run the command '" + name_ + "': the loader that it names isn't there";
        }
        return refused;
    }
    return Done{};
}

std::optional<int> Command::exit_status() {
    constexpr int kSignalBase = 128;
    int status = 0;
    if (!exit_status_ && pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_status_ = WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return exit_status_;
}

void Command::terminate() {
    if (!exit_status() && pid_ > 0) {
        ::kill(pid_, SIGTERM);
    }
}

}  // namespace perfleet
