// config: the effective settings of each program that is installed beside this one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/option/program_options.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/run_program.h"

namespace perfleet {
namespace {

const std::vector<std::string> kPrograms{"perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"};

struct ConfigOptions {
    std::vector<std::string> programs;
    bool is_check = false;
    bool is_of_services = false;
};

// The file that the program's systemd unit names (no daemon reads it by default); empty if there is none.
std::string service_file_of(const std::string& program) {
    const std::string file = "/etc/perfleet/" + program + ".toml";
    std::error_code error;
    return program != kPrograms.front() && std::filesystem::exists(file, error) ? file : "";
}

// Shows or checks one program's settings: as started from a shell, and as its service starts it.
Result<int> run_for(const std::string& path, const std::string& program, const ConfigOptions& options) {
    const std::string service_file = service_file_of(program);
    const char* const option = options.is_check ? "--check-config" : "--show-config";
    int worst = 0;
    if (!options.is_of_services || service_file.empty()) {
        worst = PERFLEET_TRY(run_program_here({path, option}));
    }
    if (service_file.empty()) {
        return worst;
    }
    if (!options.is_check && !options.is_of_services) {
        fmt::print("# Its service reads {} instead: perfleet config --service\n", service_file);
        return worst;
    }
    return std::max(worst, PERFLEET_TRY(run_program_here({path, "--config", service_file, option})));
}

Result<int> run_config(const ConfigOptions& options) {
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
        const auto status = PERFLEET_TRY(run_for(path, program, options));
        worst = std::max(worst, status);
    }
    return worst;
}

}  // namespace

void add_config_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<ConfigOptions>(
        app, invocation, "config", "Show the effective settings and the source of each", run_config);
    command->footer(
        "Each line is a key of the program's config file, with its value, and behind it the\n"
        "file and line, the command line or the default that it is from. What a command line\n"
        "would change: perfleet-gateway --memory 2g --show-config.");
    add_options(*command,
                {{"program PROGRAM", options->programs, "Of these programs; default: all that are installed",
                  is_one_of(kPrograms)},
                 {"--check", options->is_check, "Only check the config files; exit status 2: a fault was found"},
                 {"--service", options->is_of_services,
                  "Of the daemons what their services read: /etc/perfleet/PROGRAM.toml, which a daemon that is started "
                  "by hand doesn't"}});
}

}  // namespace perfleet
