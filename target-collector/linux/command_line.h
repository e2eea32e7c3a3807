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
    // kRecord.
    std::string data_folder;     // empty: not named
    std::string perf_data_file;  // to write at the end; empty: none
    bool is_quiet = false;       // errors only
    bool is_compression_asked = false;
    // kCollector.
    std::optional<double> cpu_budget_percent;  // as written; 0: none
    // As written; finish_command_line() makes options of them, or does what they say.
    std::vector<std::string> labels;
    bool has_machine_state = false;
    bool lists_events = false;
    std::string switch_output;
    std::vector<std::string> cpu_lists;
    std::string user;
};

// Describes `app` and gives it all options of this form; parsing fills `line`, which outlives it.
void describe_command_line(CommandLineForm form, CLI::App& app, CommandLine& line);

// What is left to do after `line` was parsed. Nothing when --list-events was asked for: it was answered on standard
// output. Errors: kUsage, naming the option and the way out.
[[nodiscard]] Result<std::optional<CommandLine>> finish_command_line(CommandLine line);

// 2 for wrong usage; as a shell 127 and 126 for a command that isn't there or can't be run; else 1.
[[nodiscard]] int exit_status_of(const Error& error, bool has_command);

// "1000 rows, 3 lost (kernel_ring 3); 2 batches, all acknowledged; session 0123…"
[[nodiscard]] std::string summary_line(const CollectorSummary& summary);

}  // namespace perfleet
