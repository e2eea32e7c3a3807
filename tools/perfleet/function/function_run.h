// One measurement of functions: who is followed, for how long, and each call's time on its way into a store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "target-collector/source/linux/bpf/function_tracer.h"
#include "tools/perfleet/function/function_finder.h"
#include "tools/perfleet/import/session/session_writer.h"

namespace perfleet {

struct FunctionRunOptions {
    std::vector<std::string> functions;  // IMAGE:FUNCTION
    std::vector<std::uint32_t> pids;     // who is followed; empty: the command, or with `all` the whole machine
    bool all = false;
    bool follows_children = false;  // of whom is followed (function_tracer.h)
    bool uses_uretprobes = false;   // FunctionSearch
    std::string objdump = "objdump";
    std::vector<std::string> command;           // what is started; beside `pids` or `all` it says for how long
    std::vector<std::string> own_command_line;  // for the session
    SymbolPaths paths;
    std::optional<double> watch_s;  // between two calls of `show`
    int stop_fd = -1;               // readable: it ends
};

struct FunctionRun {
    std::vector<std::string> names;  // of the functions: "libc.so.6:malloc"
    std::vector<FunctionCounts> counts;
    std::optional<SessionId> session;  // of each call's time
    int exit_status = 0;               // of a command that was followed
    std::vector<std::string> warnings;
};

using ShowFunctions = std::function<void(std::span<const std::string> names, std::span<const FunctionCounts> counts)>;

// The words behind `image:`; "kernel" is the kernel. Errors: kUsage.
struct FunctionName {
    std::string image;
    std::string function;
};
[[nodiscard]] Result<FunctionName> parse_function(const std::string& text);

// Runs until the command ends, all that are followed have, or `stop_fd` says so. `destination` is null: nothing is
// stored, and all is counted in the kernel. Errors: kUsage, those of finding, of the tracer, of the command and of
// SessionWriter.
[[nodiscard]] Result<FunctionRun> run_functions(const FunctionRunOptions& options, SessionDestination* destination,
                                                const ShowFunctions& show);

}  // namespace perfleet
