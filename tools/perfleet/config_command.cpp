// config: the settings that hold, of each program that is installed beside this one.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tools/perfleet/invocation.h"

namespace perfleet {
namespace {

const std::vector<std::string> kPrograms{"perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"};

struct ConfigOptions {
    std::vector<std::string> programs;
    bool is_check = false;
};

// Its exit status; its output goes where this program's goes.
Result<int> run_program(const std::string& path, const char* option) {
    std::vector<char*> words{const_cast<char*>(path.c_str()), const_cast<char*>(option), nullptr};  // not changed
    pid_t child = 0;
    if (const int error = ::posix_spawn(&child, path.c_str(), nullptr, nullptr, words.data(), environ); error != 0) {
        return error_from_errno(error, path);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child) {
        return error_from_errno(errno, path);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : kExitFailure;
}

int run_config(const ConfigOptions& options) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    int worst = 0;
    bool is_first = true;
    for (const std::string& program : options.programs.empty() ? kPrograms : options.programs) {
        fmt::print("{}{}", is_first || options.is_check ? "" : "\n", options.is_check ? program + ": " : "");
        is_first = false;
        const std::string path = (folder / program).string();
        if (!std::filesystem::exists(path, error)) {
            fmt::print("{}{}not installed in {}\n", options.is_check ? "" : "# ",
                       options.is_check ? "" : program + ": ", folder.string());
            continue;
        }
        std::fflush(stdout);
        const Result<int> status = run_program(path, options.is_check ? "--check-config" : "--show-config");
        if (!status.ok()) {
            return report_error(status.error());
        }
        worst = std::max(worst, *status);
    }
    return worst;
}

}  // namespace

void add_config_command(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("config", "Show the settings that hold, and where each is from");
    command->footer(
        "Each line is a key of the program's config file, with its value, and behind it the\n"
        "file and line, the command line or the default that it is from. What a command line\n"
        "would change: perfleet-gateway --memory 2g --show-config.");
    const auto options = std::make_shared<ConfigOptions>();
    command->add_option("program", options->programs, "Of these programs; default: all that are installed")
        ->type_name("PROGRAM")
        ->check(CLI::IsMember(kPrograms));
    command->add_flag("--check", options->is_check, "Only check the config files; exit status 2: a fault was found");
    command->callback([&invocation, options] { invocation.run = [options] { return run_config(*options); }; });
}

}  // namespace perfleet
