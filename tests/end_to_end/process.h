// Real programs under test: started, watched through their output, ended by their own process id. Temporary folders.
//
// Every wait has a deadline (kTimeoutS); after it the wait ends and the test fails with the program's output.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet::end_to_end {

inline constexpr int kTimeoutS = 240;

// build/<preset>/bin/NAME, and helper programs of the tests.
[[nodiscard]] std::string program_path(std::string_view name);
[[nodiscard]] std::string workload_path(std::string_view name);

// A folder that is removed with everything in it at the end of the test.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

// How a program ended: `signal` is 0 unless a signal ended it; then `status` is -1.
struct Ending {
    int status = -1;
    int signal = 0;
};

// A child process whose standard output and standard error are gathered. It is killed when this goes out of scope.
class Process {
public:
    struct Options {
        std::vector<std::string> environment;  // NAME=VALUE, added to the test's own
        std::string folder;                    // to start in; empty: the test's own
        std::optional<uid_t> user;             // to run as (and the group of the same number); needs root
    };

    // Throws std::runtime_error when the program can't be started.
    explicit Process(const std::vector<std::string>& command);
    Process(const std::vector<std::string>& command, const Options& options);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] pid_t pid() const;

    // The first line of standard output (standard error) that begins with `prefix`, without its newline; nothing when
    // the program ended or the timeout did.
    [[nodiscard]] std::optional<std::string> wait_for_output(std::string_view prefix);
    [[nodiscard]] std::optional<std::string> wait_for_error(std::string_view prefix);

    // Sends a signal; does nothing when the program has ended.
    void send_signal(int signal);

    // Waits until the program has ended and its output is read; nothing when the timeout ended first.
    [[nodiscard]] std::optional<Ending> wait();

    // What was written so far.
    [[nodiscard]] std::string output() const;
    [[nodiscard]] std::string error_output() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Runs a program to its end.
struct Finished {
    Ending ending;
    std::string output;
    std::string error_output;
};
[[nodiscard]] Finished run(const std::vector<std::string>& command, const Process::Options& options = {});

// The value of `name=` in a line like "ready listen=tcp://127.0.0.1:4711 query=none"; empty when it isn't there.
[[nodiscard]] std::string field_of(std::string_view line, std::string_view name);

}  // namespace perfleet::end_to_end
