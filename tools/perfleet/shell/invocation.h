// The command line of `perfleet`: each group of commands adds its subcommands; the chosen one sets `run`, which main()
// calls after parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUndecided = 3;  // --fail-undecided, or --precision was not reached
inline constexpr int kEndBySignal = 256;  // and the signal's number: the program ends by it, in main()

struct Invocation {
    std::vector<std::string> arguments;  // as given, without the program's name
    std::function<Result<int>()> run;    // gives the exit status

    [[nodiscard]] std::vector<std::string> command_line() const {
        std::vector<std::string> words{"perfleet"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return words;
    }
};

// Adds a subcommand and its options, which live as long as it. `run` is called with them after parsing; it returns the
// exit status, or Done for 0.
template <class Options, class Run>
std::pair<CLI::App*, std::shared_ptr<Options>> add_command(CLI::App& app, Invocation& invocation,
                                                           const std::string& name, const std::string& summary,
                                                           Run run) {
    CLI::App* const command = app.add_subcommand(name, summary);
    const auto options = std::make_shared<Options>();
    command->callback([&invocation, options, run] {
        invocation.run = [options, run]() -> Result<int> {
            if constexpr (std::is_same_v<std::invoke_result_t<Run, Options&>, Result<Done>>) {
                PERFLEET_TRY(run(*options));
                return 0;
            } else {
                return run(*options);
            }
        };
    });
    return {command, options};
}

// Prints the error on standard error and returns its exit status.
[[nodiscard]] int report_error(const Error& error);
// The exit status of a command that ran; prints its error, if any.
[[nodiscard]] inline int exit_status(const Result<int>& ran) { return ran.ok() ? *ran : report_error(ran.error()); }

// The default folder of `record` and of the commands that read: $XDG_DATA_HOME/perfleet, else ~/.local/share/perfleet.
// Empty if this user has no home.
[[nodiscard]] std::string default_data_folder();

// The named folder, else the default. Errors: kUsage, with a hint.
[[nodiscard]] Result<std::string> data_folder_of(const std::string& named);

// The same for writing: a folder is created if missing; `is_folder_only`: no store elsewhere. Errors: kUsage, and those
// of prepare_writer_folder(), with a hint.
[[nodiscard]] Result<std::string> writable_data_folder_of(const std::string& named, bool is_folder_only = false);

// The option --data, with the default folder.
[[nodiscard]] OptionRow data_row(std::string& folder, const OptionRule& rule = {});

// The groups of commands, each in a file of its own.
using AddCommands = void(CLI::App& app, Invocation& invocation);
AddCommands add_annotate_command, add_backup_commands, add_bench_command, add_compare_command, add_completion_command,
    add_config_command, add_control_command, add_copy_command, add_diff_command, add_export_command,
    add_flamegraph_command, add_import_command, add_inspect_command, add_keygen_command, add_mcp_command,
    add_record_command, add_relay_command, add_stat_command, add_table_commands, add_timeline_command, add_web_command;
// Below `sessions` and `symbols`, behind add_table_commands.
AddCommands add_sessions_commands, add_symbols_commands;

}  // namespace perfleet
