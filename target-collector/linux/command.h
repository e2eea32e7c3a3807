// The command that a collector starts and profiles: forked at once, executed only after the events are open.
//
// A resource: its destructor ends a command that never ran; a running one continues.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// The file that a shell would run for `name`. Errors: kNotFound, kInvalid (found, but it can't be run).
[[nodiscard]] Result<std::string> find_command(const std::string& name);

class Command : NonCopyable {
public:
    // Forks; the child waits. `words` has at least one; `variables`, as NAME=VALUE, are added to its environment.
    // Errors: find_command()'s, kIo.
    [[nodiscard]] static Result<std::unique_ptr<Command>> start(const std::vector<std::string>& words,
                                                                const std::vector<std::string>& variables = {});
    ~Command();

    [[nodiscard]] pid_t pid() const { return pid_; }
    // Readable when the command has ended; -1 if the kernel lacks pidfds (before Linux 5.3).
    [[nodiscard]] int end_fd() const { return end_fd_.get(); }

    // Lets the child run its program. Errors: as find_command(), when the kernel refuses to run it.
    [[nodiscard]] Result<Done> run();

    // The exit status as in a shell; empty while it runs. Doesn't wait.
    [[nodiscard]] std::optional<int> exit_status();

    // Requests its end (SIGTERM).
    void terminate();

private:
    Command() = default;

    std::string name_;
    std::string path_;
    pid_t pid_ = -1;
    FileDescriptor end_fd_;
    FileDescriptor go_fd_;     // a byte starts the program; closing it ends the child
    FileDescriptor error_fd_;  // errno of a failed exec; closed: the program runs
    std::optional<int> exit_status_;
};

}  // namespace perfleet
