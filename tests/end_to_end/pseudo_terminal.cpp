#include "tests/end_to_end/pseudo_terminal.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "schemas/text/layout.h"

namespace perfleet::end_to_end {
namespace {

// Never returns.
void become(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    ::setenv("TERM", "xterm", 1);
    for (const char* name : {"COLUMNS", "NO_COLOR", "PAGER", "PERFLEET_PAGER", "LESS"}) {
        ::unsetenv(name);
    }
    for (const std::string& setting : environment) {
        const std::size_t equals = setting.find('=');
        ::setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
    }
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    std::_Exit(127);
}

}  // namespace

TerminalRun run_in_terminal(const std::vector<std::string>& command, unsigned short columns,
                            const std::vector<std::string>& environment) {
    const winsize size{24, columns, 0, 0};
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child < 0) {
        throw std::runtime_error("no pseudo-terminal");
    }
    if (child == 0) {
        ::alarm(kTimeoutS);
        become(command, environment);
    }
    TerminalRun run;
    std::array<char, 4096> bytes{};
    // Reading fails when the last program has closed the terminal.
    for (ssize_t count = 0; (count = ::read(terminal, bytes.data(), bytes.size())) > 0;) {
        run.output.append(bytes.data(), static_cast<std::size_t>(count));
    }
    ::close(terminal);
    int status = 0;
    ::waitpid(child, &status, 0);
    run.ending = WIFEXITED(status) ? Ending{WEXITSTATUS(status), 0} : Ending{-1, WTERMSIG(status)};
    run.output.erase(std::remove(run.output.begin(), run.output.end(), '\r'), run.output.end());
    return run;
}

std::size_t widest_line(const std::string& output) {
    std::size_t widest = 0;
    std::istringstream lines{output};
    for (std::string line; std::getline(lines, line);) {
        for (std::size_t start = 0; (start = line.find("\x1b[", start)) != std::string::npos;) {
            line.erase(start, line.find_first_not_of("0123456789;", start + 2) + 1 - start);
        }
        widest = std::max(widest, text_width(line));
    }
    return widest;
}

}  // namespace perfleet::end_to_end
