#include "tools/perfleet/record/record_first.h"

#include <csignal>
#include <utility>

#include "schemas/text/hex.h"
#include "tools/perfleet/record/record.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {

bool asks_for_recording(const CommandLine& line) {
    const CollectorOptions& given = line.options;
    return given.all_cpus || !given.pids.empty() || !line.user.empty() || !given.command.empty();
}

Result<FirstRecording> record_first(CommandLine line, const std::string& data, const std::string& program,
                                    std::vector<std::string> own_command_line) {
    if (line.options.call_chains == CallChainMode::kNone) {
        line.options.call_chains = CallChainMode::kAuto;
    }
    line.options.exit_wait_s = kRecordExitWaitS;
    auto finished = PERFLEET_TRY(finish_command_line(std::move(line)));
    CollectorOptions& options = finished->options;
    options.own_command_line = std::move(own_command_line);
    const bool has_command = !options.command.empty();
    const auto folder = PERFLEET_TRY(writable_data_folder_of(data, true));
    const auto say = [&program](const LogEvent& event) { print_note(event.text(), program); };
    const auto recording = PERFLEET_TRY(record(std::move(options), folder, say, nullptr));
    const CollectorSummary& summary = recording.summary;
    say(summary_line(summary));
    if (recording.not_stored || !summary.everything_acknowledged) {
        return Error{ErrorCode::kIo, recording.not_stored ? recording.not_stored->message : "not all rows are stored"};
    }
    const int signal = recording.signal;
    const bool is_ended_by_it = signal != 0 && (has_command || (signal != SIGINT && signal != SIGTERM));
    return FirstRecording{.folder = folder,
                          .session = session_hex(summary.session),
                          .signal = signal,
                          .exit_status = is_ended_by_it ? kEndBySignal + signal : summary.command_exit_status};
}

int report_recording_error(const Error& error, bool has_command) {
    (void)report_error(error);
    return exit_status_of(error, has_command);
}

}  // namespace perfleet
