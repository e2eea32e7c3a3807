// The command that a collector starts and profiles: made at once, run only when the events are open.
//
// A resource: a command that was never run is ended; one that runs is left alone.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// The file that a shell would run for `name`. Errors: kNotFound, kInvalid (found, but it can't be run).
[[nodiscard]] Result<std::string> find_command(const std::string& name);

class Command {
public:
    // Forks; the child waits. `words` has at least one; `variables`, as NAME=VALUE, are added to its environment.
    // Errors: find_command()'s, kIo.
    [[nodiscard]] static Result<std::unique_ptr<Command>> start(const std::vector<std::string>& words,
                                                                const std::vector<std::string>& variables = {});
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    ~Command();

    [[nodiscard]] pid_t pid() const { return pid_; }
    // Readable when it has ended; -1 where the kernel has no such descriptor (before Linux 5.3).
    [[nodiscard]] int end_fd() const { return end_fd_.get(); }

    // Lets the child run its program. Errors: as find_command(), when the kernel refuses to run it.
    [[nodiscard]] Result<Done> run();

    // How it ended, as a shell shows it; empty while it runs. Doesn't wait.
    [[nodiscard]] std::optional<int> exit_status();

    // Asks it to end (SIGTERM).
    void terminate();

private:
    Command() = default;

    std::string name_;
    pid_t pid_ = -1;
    FileDescriptor end_fd_;
    FileDescriptor go_fd_;     // a byte lets the child go on; its end makes the child end
    FileDescriptor error_fd_;  // errno of a failed exec; its end: the program runs
    std::optional<int> exit_status_;
};

}  // namespace perfleet
