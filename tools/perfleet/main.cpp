// The command line `perfleet`.
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/command-line/arguments.h"
#include "daemon/command-line/version.h"
#include "daemon/start/program_start.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/store/open_engine.h"
#include "target-collector/linux/symbols/confined_reader.h"
#include "tools/perfleet/query/perf_commands.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

constexpr unsigned kLibraryThreads = 1;  // looks up names; RocksDB starts more, and reports them itself

namespace perfleet {
namespace {

// In the order of the help.
constexpr AddCommands* kCommands[] = {
    add_record_command,   add_stat_command,    add_table_commands, add_annotate_command, add_sessions_commands,
    add_symbols_commands, add_diff_command,    add_bench_command,  add_compare_command,  add_flamegraph_command,
    add_timeline_command, add_export_command,  add_import_command, add_keygen_command,   add_inspect_command,
    add_relay_command,    add_control_command, add_copy_command,   add_backup_commands,  add_completion_command,
    add_config_command,   add_mcp_command,     add_web_command};

// The exit status: a failure if the output could not be written.
int with_output_written(int status) {
    std::cout.flush();
    const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
    if (is_written || status != EXIT_SUCCESS) {
        return status;
    }
    return report_error(Error{ErrorCode::kIo, "standard output: not all of it could be written"});
}

// Ends this process by the signal, without a core file.
[[noreturn]] void end_by(int signal) {
    const rlimit none{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &none);
    std::signal(signal, SIG_DFL);
    (void)std::raise(signal);
    std::_Exit(128 + signal);  // it is blocked
}

// $HOME, else the home folder in the user database; empty if neither names a folder. Service users often have the root
// folder, or one that doesn't exist.
std::string home_folder() {
    if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
        return home;
    }
    const passwd* const user = ::getpwuid(::getuid());
    const std::string folder = user == nullptr || user->pw_dir == nullptr ? "" : user->pw_dir;
    struct stat status {};
    const bool is_there = folder.starts_with('/') && ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    return is_there && folder != "/" ? folder : "";
}

// Turns the words "help", "version" and "list", which many type, into options: "help sessions name" is "sessions name
// --help".
std::vector<const char*> with_help_as_option(int argument_count, char** arguments) {
    std::vector<const char*> words{arguments, arguments + argument_count};
    const std::string first = argument_count > 1 ? words[1] : "";
    if (first == "help") {
        words.erase(words.begin() + 1);
        words.push_back("--help");
    } else if (first == "version") {
        words[1] = "--version";
    } else if (first == "list") {  // as perf
        words[1] = "--list-events";
        words.insert(words.begin() + 1, "record");
        words.erase(std::remove_if(words.begin() + 3, words.end(),  // its options are of details
                                   [](std::string_view word) { return word.starts_with("-") && word != "--help"; }),
                    words.end());
    }
    return words;
}

}  // namespace

int report_error(const Error& error) {
    print_note(error.message);
    return error.code == ErrorCode::kUsage ? kExitUsage : kExitFailure;
}

std::string default_data_folder() {
    if (const char* data_home = std::getenv("XDG_DATA_HOME"); data_home != nullptr && data_home[0] == '/') {
        return std::string{data_home} + "/perfleet";
    }
    const std::string home = home_folder();
    return home.empty() ? "" : home + "/.local/share/perfleet";
}

Result<std::string> data_folder_of(const std::string& named) {
    std::string folder = named.empty() ? default_data_folder() : named;
    if (folder.empty()) {
        return Error{ErrorCode::kUsage,
                     "which data folder? HOME and XDG_DATA_HOME aren't set, and this user has no home folder: name one "
                     "with --data, or set one of them"};
    }
    return folder;
}

Result<std::string> writable_data_folder_of(const std::string& named, bool is_folder_only) {
    auto folder = PERFLEET_TRY(data_folder_of(named));
    if (auto made = is_folder_only || is_folder(folder) ? prepare_writer_folder(folder) : Done{}; !made.ok()) {
        return Error{made.error().code, made.error().message + " (name another data folder with --data)"};
    }
    return folder;
}

OptionRow data_row(std::string& folder, const OptionRule& rule) {
    return {"--data DIR", folder, "data folder (default: where `perfleet record` writes)", is_not_empty, rule};
}

}  // namespace perfleet

int main(int argument_count, char** arguments) {
    std::signal(SIGPIPE, SIG_DFL);  // a program that ignores it passes that on to its children: a reader that quits is
                                    // no error to report
    perfleet::run_if_confined_reader(arguments);
    if (!perfleet::start_program("perfleet", kLibraryThreads)) {
        return perfleet::kExitFailure;
    }
    CLI::App app{"Record, query and export performance data of Linux and seL4"};
    app.name("perfleet");
    app.set_version_flag("--version", perfleet::version_line("perfleet"));
    app.require_subcommand(0, 1);

    perfleet::Invocation invocation;
    invocation.arguments.assign(arguments + 1, arguments + argument_count);
    for (perfleet::AddCommands* const add : perfleet::kCommands) {
        add(app, invocation);
    }
    perfleet::add_perf_query_options(app);

    const std::string first = argument_count > 1 ? arguments[1] : "";
    if (first != "--manual-pages") {  // these have it on each page
        app.footer(perfleet::kExitStatuses);
    }
    const std::string second = argument_count > 2 ? arguments[2] : "";
    if (const std::string_view instead = perfleet::instead_of_perf_command(first, second); !instead.empty()) {
        perfleet::print_note("there is no command '" + first + "', as perf has it; instead: " + std::string{instead});
        return perfleet::kExitUsage;
    }
    const std::vector<const char*> words = perfleet::with_help_as_option(argument_count, arguments);
    if (const auto status = perfleet::parse_arguments(app, static_cast<int>(words.size()), words.data())) {
        return perfleet::with_output_written(*status);
    }
    if (!invocation.run) {
        std::fprintf(stderr, "perfleet: which command?\n\n%s", app.help().c_str());
        return perfleet::kExitUsage;
    }
    const int status = perfleet::exit_status(invocation.run());
    if (status > perfleet::kEndBySignal) {
        (void)std::fflush(stdout);
        perfleet::end_by(status - perfleet::kEndBySignal);
    }
    return perfleet::with_output_written(status);
}
