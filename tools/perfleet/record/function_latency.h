// `latency --function`: measures functions on this machine, and stores each call's time as a session, or counts in the
// kernel only.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

struct FunctionOptions {
    std::vector<std::string> functions;  // IMAGE:FUNCTION; empty: nothing is measured
    std::vector<std::uint32_t> pids;
    bool all_cpus = false;
    bool follows_children = false;
    bool counts_only = false;
    bool uses_uretprobes = false;
    std::string objdump = "objdump";
    std::vector<std::string> command;
};

// The objects must outlive the parsing.
void add_function_options(CLI::App& command, FunctionOptions& options);

// Checks that options that need --function aren't given without it. Errors: kUsage.
[[nodiscard]] Result<Done> check_function_options(const FunctionOptions& options);

// Measures, then names the session in `query` and calls `show`: once, or with a histogram once for each function.
// Returns the exit status.
[[nodiscard]] Result<int> run_function_latency(const FunctionOptions& options, QueryOptions& query,
                                               const OutputOptions& printing, std::optional<double> watch_s,
                                               const std::vector<std::string>& own_command_line,
                                               const std::function<int()>& show);

}  // namespace perfleet
