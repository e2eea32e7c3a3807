#include "tools/perfleet/shell/pager.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tools/perfleet/shell/print_answer.h"

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

// Text would be lost in a pager that can't be started.
bool is_there(const std::string& command) {
    const std::string word = command.substr(0, command.find_first_of(" \t"));
    const bool is_plain = word.find_first_of("'\"$`\\;&|<>()=*?[]~#") == std::string::npos;
    return !is_plain || std::system(("command -v " + word + " > /dev/null 2>&1").c_str()) == 0;
}

}  // namespace

std::unique_ptr<Pager> Pager::start() {
    const std::string command = pager_command();
    if (::isatty(STDOUT_FILENO) != 1 || command.empty() || command == "cat" || !is_there(command)) {
        return nullptr;
    }
    ::setenv("LESS", "FRX", 0);
    ::setenv("LV", "-c", 0);
    std::FILE* const pipe = ::popen(command.c_str(), "we");
    return pipe == nullptr ? nullptr : std::unique_ptr<Pager>{new Pager{pipe}};
}

// Ignores signals only now: the pager would have inherited it.
Pager::Pager(std::FILE* pipe) : pipe_{pipe}, ignored_{SIGINT, SIGQUIT, SIGPIPE} {}

Pager::~Pager() { ::pclose(pipe_); }

bool Pager::write(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), pipe_) == text.size() && std::fflush(pipe_) == 0;
}

Result<Done> print_paged(std::string_view text) {
    const std::unique_ptr<Pager> pager = Pager::start();
    if (pager == nullptr) {
        return print_text(text);
    }
    (void)pager->write(text);
    return Done{};
}

}  // namespace perfleet
