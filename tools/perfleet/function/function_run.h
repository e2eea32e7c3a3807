// One measurement of functions: traces processes for a time and stores the time of each call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "target-collector/intake/session/session_writer.h"
#include "target-collector/source/linux/bpf/function_tracer.h"
#include "tools/perfleet/function/function_finder.h"

namespace perfleet {

struct FunctionRunOptions : FunctionSearch {
    std::vector<std::string> functions;  // [IMAGE:]FUNCTION; empty: nothing is measured
    std::vector<std::uint32_t> pids;     // traced processes; empty: the command, or with `all_cpus` the whole machine
    bool all_cpus = false;
    bool follows_children = false;              // of traced processes (function_tracer.h)
    bool counts_only = false;                   // in the kernel; nothing is stored
    std::vector<std::string> command;           // to be started; with `pids` or `all_cpus` it only limits the time
    std::vector<std::string> own_command_line;  // stored in the session
    std::optional<double> watch_s;              // seconds between two calls of `show`
};

struct FunctionRun {
    std::vector<std::string> names;  // of the functions: "libc.so.6:malloc"
    std::vector<FunctionCounts> counts;
    std::optional<SessionId> session;  // the session with the calls' times
    int exit_status = 0;               // of a command that was traced
    int signal = 0;                    // the signal that ended its command and ends this program, too; 0: none
    std::vector<std::string> warnings;
};

using ShowFunctions = std::function<void(std::span<const std::string> names, std::span<const FunctionCounts> counts)>;

// The words behind `image:`; "kernel" is the kernel. Errors: kUsage.
struct FunctionName {
    std::string image;  // empty: the program itself
    std::string function;
};
[[nodiscard]] Result<FunctionName> parse_function(const std::string& text);

// Runs until the command ends, all traced processes end, or at SIGINT or SIGTERM, which go to a traced command.
// `destination`: null with `counts_only`. Errors: kUsage, those of finding functions, of the tracer, of the command and
// of SessionWriter.
[[nodiscard]] Result<FunctionRun> run_functions(const FunctionRunOptions& options, SessionDestination* destination,
                                                const ShowFunctions& show);

}  // namespace perfleet
