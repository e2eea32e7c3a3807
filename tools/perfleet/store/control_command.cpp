// control: sends requests to running collectors, through the gateway that writes to the store.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/option/program_options.h"
#include "exporters/report/report.h"
#include "gateway/control/operator_message.h"
#include "query-engine/scan/session_choice.h"
#include "query-engine/select/selection.h"
#include "schemas/vocabulary/time.h"
#include "storage/store/open_store.h"
#include "tools/perfleet/session/control_line.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {
namespace {

using protocol::ControlCommand;

constexpr double kTimeoutSMax = 3'600;

struct ControlOptions {
    std::string data = default_data_folder();
    std::vector<std::string> targets;
    std::string select;
    std::string session;
    std::string what;
    std::uint64_t frequency_hz = 0;
    std::uint64_t period = 0;
    std::string event;
    double timeout_s = 10;
    OutputOptions output;
};

Result<OperatorCommand> order_of(const ControlOptions& options) {
    OperatorCommand order;
    order.event = options.event;
    order.timeout_ns = static_cast<std::uint64_t>(options.timeout_s * static_cast<double>(kNsPerSecond));
    if ((options.what.empty() ? 0 : 1) + (options.frequency_hz == 0 ? 0 : 1) + (options.period == 0 ? 0 : 1) != 1) {
        return Error{ErrorCode::kUsage, "control: give one of start, stop, --frequency HZ, --period N"};
    }
    if (options.frequency_hz != 0) {
        order.command = ControlCommand::kSetFrequency;
        order.value = options.frequency_hz;
    } else if (options.period != 0) {
        order.command = ControlCommand::kSetPeriod;
        order.value = options.period;
    } else {
        order.command = options.what == "start" ? ControlCommand::kStart : ControlCommand::kStop;
    }
    return order;
}

// Sessions that may still run: those without an end.
Result<std::vector<SessionRecord>> open_sessions(const ControlOptions& options) {
    const auto matchers = PERFLEET_TRY(parse_matchers(options.select));
    const auto store = PERFLEET_TRY(open_store_reader(options.data));
    auto sessions = PERFLEET_TRY(noted_sessions(*store));
    PERFLEET_TRY(choose_session(options.session, sessions));
    std::vector<SessionRecord> open;
    for (const auto& [name, session] : sessions) {
        const SessionRecord& record = session.record;
        const bool is_named = options.targets.empty() || std::ranges::count(options.targets, record.target_name) != 0;
        if (is_named && PERFLEET_TRY(matches(matchers, record)) &&
            !PERFLEET_TRY(store->session_end(record.target, record.session)).has_value()) {
            open.push_back(record);
        }
    }
    return open;
}

// For each target, the answers of connected sessions; if none is connected, only the newest answer.
std::vector<Answered> reported_answers(const std::vector<Answered>& answers) {
    std::map<TargetId, const Answered*> absent;
    std::vector<Answered> reported;
    std::ranges::copy_if(answers, std::back_inserter(reported),
                         [](const Answered& answer) { return answer.reply.outcome != RequestOutcome::kNotConnected; });
    for (const Answered& answer : answers) {
        const bool is_there = std::ranges::count(reported, answer.session.target,
                                                 [](const Answered& other) { return other.session.target; }) != 0;
        const Answered*& last = absent[answer.session.target];
        if (!is_there && (last == nullptr || last->session.came() < answer.session.came())) {
            last = &answer;
        }
    }
    for (const auto& [target, answer] : absent) {
        if (answer != nullptr) {
            reported.push_back(*answer);
        }
    }
    std::ranges::sort(reported, {}, [](const Answered& answer) {
        return std::tie(answer.session.target_name, answer.session.session);
    });
    return reported;
}

std::string outcome_text(const Answered& answer) {
    std::string outcome{reason_name(answer.reply.outcome)};
    std::replace(outcome.begin(), outcome.end(), '_', ' ');
    return outcome;
}

Answer table_of(const std::vector<Answered>& answers) {
    Answer table;
    table.columns = {{"target", ""}, {"session", ""}, {"outcome", ""}, {"reason", ""}};
    for (const Answered& answer : answers) {
        table.rows.push_back({answer.session.target_name, session_hex(answer.session.session), outcome_text(answer),
                              printable(answer.reply.reason)});
    }
    return table;
}

// Prints a line a session.
void print_lines(const std::vector<Answered>& answers) {
    constexpr std::size_t kDigits = 8;
    for (const Answered& answer : answers) {
        std::printf("%s (session %s): %s%s%s\n", printable(answer.session.target_name).c_str(),
                    session_hex(answer.session.session).substr(0, kDigits).c_str(), outcome_text(answer).c_str(),
                    answer.reply.reason.empty() ? "" : ": ", printable(answer.reply.reason).c_str());
    }
}

Result<int> run_control(const ControlOptions& options) {
    PERFLEET_TRY(data_folder_of(options.data));
    const auto order = PERFLEET_TRY(order_of(options));
    if (options.targets.empty() && options.select.empty() && options.session.empty()) {
        return Error{ErrorCode::kUsage,
                     "control: choose sessions with --target NAME, --session ID or --select '{…}'; '{}' selects "
                     "all"};
    }
    const auto sessions = PERFLEET_TRY(open_sessions(options));
    const auto line = PERFLEET_TRY(ControlLine::open(options.data));
    if (sessions.empty()) {
        return Error{ErrorCode::kNotFound, "no running session is selected (perfleet sessions lists them)"};
    }
    auto answers = PERFLEET_TRY(line->ask(sessions, order));
    const std::vector<Answered> reported = reported_answers(answers);
    if (options.output.is_text()) {
        print_lines(reported);
    } else {
        PERFLEET_TRY(print_answer(table_of(reported), options.output));
    }
    const bool are_all = std::ranges::all_of(
        reported, [](const Answered& answer) { return answer.reply.outcome == RequestOutcome::kApplied; });
    return are_all ? 0 : kExitFailure;
}

}  // namespace

void add_control_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<ControlOptions>(
        app, invocation, "control", "Start, stop or change the measurements of running collectors", run_control);
    command->footer(
        "Run it where the gateway runs, as its user or as root: control requests go through a "
        "socket in its data folder. For a store on RADOS run it anywhere, as a user of the cluster "
        "that may write there. Requests apply to running sessions; a restarted collector follows its own command line. "
        "perfleet controls lists the changes, and "
        "perfleet sessions shows stopped sessions.\n\n"
        "Exit status: 1 also if a session didn't apply the request.");
    const CLI::Range at_least_one{std::uint64_t{1}, std::uint64_t{INT64_MAX}, "at least 1"};
    add_options(
        *command,
        {{"what start|stop", options->what, "start or stop sampling", is_one_of({"start", "stop"})},
         {"--frequency HZ", options->frequency_hz, "sample so many times a second from now on",
          is_checked_by(at_least_one)},
         {"--period N", options->period, "sample once in so many events, or ns, from now on",
          is_checked_by(at_least_one)},
         {"--event NAME", options->event, "only this event; default: all of a session"},
         {"--data DIR", options->data, "Data folder of the gateway", is_not_empty, shows_default},
         {"--target NAME", options->targets, "for the target of this name; several times for several", is_one_each},
         {"--select MATCHERS", options->select, "for targets with these labels: '{rack=\"r12\"}', '{}' for all"},
         {"--session ID", options->session, "for this session: its name, first digits of its id, or last"},
         {"--wait S", options->timeout_s, "seconds that a collector may take to answer, reconnects included",
          is_between(0.1, kTimeoutSMax), is_not_nan, shows_default}});
    add_options(*command, output_rows(options->output));
}

}  // namespace perfleet
