// The command line of `perfleet`: each group of commands adds its subcommands; the chosen one sets `run`, which main()
// calls after parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "daemon/option/program_options.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

struct Invocation {
    std::vector<std::string> arguments;  // as given, without the program's name
    std::function<Result<int>()> run;    // gives the exit status
};

// Prints the error on standard error and returns its exit status.
[[nodiscard]] int report_error(const Error& error);
// The exit status of a command that ran; prints its error, if any.
[[nodiscard]] inline int exit_status(const Result<int>& ran) { return ran.ok() ? *ran : report_error(ran.error()); }

// The default folder of `record` and of the commands that read: $XDG_DATA_HOME/perfleet, else ~/.local/share/perfleet.
// Empty if this user has no home.
[[nodiscard]] std::string default_data_folder();

// The named folder, else the default. Errors: kUsage, with a hint.
[[nodiscard]] Result<std::string> data_folder_of(const std::string& named);

// The option --data, with the default folder.
[[nodiscard]] OptionRow data_row(std::string& folder, const OptionRule& rule = {});

// The groups of commands, each in a file of its own.
void add_table_commands(CLI::App& app, Invocation& invocation);
void add_annotate_command(CLI::App& app, Invocation& invocation);
void add_sessions_commands(CLI::App& app, Invocation& invocation);  // below `sessions`, behind add_table_commands
void add_symbols_commands(CLI::App& app, Invocation& invocation);   // below `symbols`, likewise
void add_bench_command(CLI::App& app, Invocation& invocation);
void add_compare_command(CLI::App& app, Invocation& invocation);
void add_diff_command(CLI::App& app, Invocation& invocation);
void add_export_command(CLI::App& app, Invocation& invocation);
void add_flamegraph_command(CLI::App& app, Invocation& invocation);
void add_timeline_command(CLI::App& app, Invocation& invocation);
void add_keygen_command(CLI::App& app, Invocation& invocation);
void add_import_command(CLI::App& app, Invocation& invocation);
void add_inspect_command(CLI::App& app, Invocation& invocation);
void add_relay_command(CLI::App& app, Invocation& invocation);
void add_control_command(CLI::App& app, Invocation& invocation);
void add_copy_command(CLI::App& app, Invocation& invocation);
void add_backup_commands(CLI::App& app, Invocation& invocation);
void add_config_command(CLI::App& app, Invocation& invocation);
void add_completion_command(CLI::App& app, Invocation& invocation);
void add_record_command(CLI::App& app, Invocation& invocation);
void add_stat_command(CLI::App& app, Invocation& invocation);

}  // namespace perfleet
