// Passes the signals that should end this program on to the command that it runs, and records which came first.
//
// One thread.
#pragma once

#include <chrono>
#include <optional>

#include "target-collector/linux/command.h"

namespace perfleet {

class CommandStop {
public:
    // Borrows the command; null: there is none. SIGINT, SIGTERM, SIGQUIT and SIGHUP (unless nohup ignores it) no longer
    // end this program.
    explicit CommandStop(Command* command);

    // Readable from the first signal on.
    [[nodiscard]] int fd() const { return fd_; }

    // Call it when fd() is readable, and then every 100 ms or so. The terminal sends SIGINT and SIGQUIT to the command,
    // too: it has half a second to end by itself.
    void pass_on();

    // The first signal; 0: none came.
    [[nodiscard]] int signal() const;

private:
    Command* command_;
    int fd_;
    std::optional<std::chrono::steady_clock::time_point> end_at_;
};

}  // namespace perfleet
