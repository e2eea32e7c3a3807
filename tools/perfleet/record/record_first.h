// The recording that a command makes before it shows it: `flamegraph -- COMMAND`, `web -p PID`.
#pragma once

#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/command_line.h"

namespace perfleet {

struct FirstRecording {
    std::string folder;   // of the store
    std::string session;  // its id, as --session takes it
    int signal = 0;       // that ended the recording; 0: none
    int exit_status = 0;  // with which a command ends that has shown the recording
};

// Whether -a, -p, --uid or a COMMAND is given.
[[nodiscard]] bool asks_for_recording(const CommandLine& line);

// Records into the folder `data` (empty: the default), with call chains, and reports on standard error what was stored.
// `program`: the name in messages, "perfleet web". Errors: those of record(); kIo, where not all rows are stored.
[[nodiscard]] Result<FirstRecording> record_first(CommandLine line, const std::string& data, const std::string& program,
                                                  std::vector<std::string> own_command_line);

// Prints the error of record_first(). Returns the exit status: 126 or 127 where COMMAND can't be run.
[[nodiscard]] int report_recording_error(const Error& error, bool has_command);

}  // namespace perfleet
