// The collector's command line: options, exit statuses and the closing line, the same for `perfleet-collector` and
// `perfleet record`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/collector.h"

namespace CLI {
class App;
}

namespace perfleet {

enum class CommandLineForm {
    kCollector,  // --gateway or --output
    kRecord,     // --data
};

struct CommandLine {
    CollectorOptions options;
    std::vector<std::string> notes;  // of options that are ignored
    // kRecord.
    std::string data_folder;  // empty: not given
    std::string output_file;  // to write at the end; empty: none
    bool is_quiet = false;    // errors only
    // kCollector.
    std::optional<double> cpu_budget_percent;  // as written; 0: none
    // As written; finish_command_line() converts them into options, or executes them.
    std::vector<std::string> labels;
    bool has_machine_state = false;
    bool lists_events = false;
    std::string interrupt_registers;  // as listed; empty: none
    std::string user_registers;
    std::string switch_output;
    std::vector<std::string> cpu_lists;
    std::string user;
};

inline constexpr double kRecordExitWaitS = 60;  // for a store on this machine, which is slow only if it is busy

// Adds description and options of this form to `app`; parsing fills `line`, which must outlive it.
void describe_command_line(CommandLineForm form, CLI::App& app, CommandLine& line);

// Adds those that choose what is sampled to a command that has others.
void add_live_options(CLI::App& app, CommandLine& line, const std::string& group = "Live");

// Completes `line` after parsing. Nothing if --list-events was given: the list was printed to standard output. Errors:
// kUsage, with the option and what to do.
[[nodiscard]] Result<std::optional<CommandLine>> finish_command_line(CommandLine line);

// 2 for wrong usage; 127 and 126, as in a shell, if the command doesn't exist or can't be run; else 1.
[[nodiscard]] int exit_status_of(const Error& error, bool has_command);

// "1000 rows, 960 of them samples, 3 lost (kernel_ring 3); 2 batches, all acknowledged; session 0123…"
[[nodiscard]] std::string summary_line(const CollectorSummary& summary);

}  // namespace perfleet
