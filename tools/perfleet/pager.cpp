#include "tools/perfleet/pager.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/perfleet/print_answer.h"

namespace perfleet {
namespace {

std::string pager_command() {
    for (const char* name : {"PERFLEET_PAGER", "PAGER"}) {
        if (const char* const command = std::getenv(name); command != nullptr) {
            return command;
        }
    }
    return "less -FRX";
}

// Ctrl-C belongs to the pager, and a pager that is left reads no more.
class IgnoredSignals {
public:
    IgnoredSignals() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            before_[i] = ::signal(kSignals[i], SIG_IGN);
        }
    }
    ~IgnoredSignals() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            ::signal(kSignals[i], before_[i]);
        }
    }
    IgnoredSignals(const IgnoredSignals&) = delete;
    IgnoredSignals& operator=(const IgnoredSignals&) = delete;

private:
    static constexpr std::array kSignals{SIGINT, SIGQUIT, SIGPIPE};
    std::array<sighandler_t, kSignals.size()> before_{};
};

// False: the shell didn't find it.
bool show_in(const std::string& command, std::string_view text) {
    ::setenv("LESS", "FRX", 0);
    ::setenv("LV", "-c", 0);
    std::FILE* const pager = ::popen(command.c_str(), "we");
    if (pager == nullptr) {
        return false;
    }
    const IgnoredSignals ignored;  // only now: the pager would have inherited it
    (void)std::fwrite(text.data(), 1, text.size(), pager);
    const int status = ::pclose(pager);
    constexpr int kNotRunnable = 126;
    constexpr int kNotFound = 127;
    return !WIFEXITED(status) || (WEXITSTATUS(status) != kNotRunnable && WEXITSTATUS(status) != kNotFound);
}

}  // namespace

Result<Done> print_paged(std::string_view text) {
    const std::string command = pager_command();
    const bool has_pager = ::isatty(STDOUT_FILENO) == 1 && !command.empty() && command != "cat";
    return has_pager && show_in(command, text) ? Result<Done>{Done{}} : print_text(text);
}

}  // namespace perfleet
