// `latency --function`: measures functions on this machine, and stores each call's time as a session, or counts in the
// kernel only.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "tools/perfleet/function/function_run.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

// The objects must outlive the parsing.
void add_function_options(CLI::App& command, FunctionRunOptions& options);

// Checks that options that need --function aren't given without it. Errors: kUsage.
[[nodiscard]] Result<Done> check_function_options(const FunctionRunOptions& options);

// Measures, then names the session in `query` and calls `show`: once, or with a histogram once for each function.
// Returns the exit status.
[[nodiscard]] Result<int> run_function_latency(FunctionRunOptions options, QueryOptions& query,
                                               const OutputOptions& printing, const std::function<int()>& show);

}  // namespace perfleet
