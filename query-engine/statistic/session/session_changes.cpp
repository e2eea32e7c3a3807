#include "query-engine/statistic/session/session_changes.h"

#include <algorithm>
#include <array>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/measure.h"
#include "schemas/wire/protocol.h"

namespace perfleet {
namespace {

using protocol::ControlCommand;

constexpr Series kChanges{Kind::kControl, kNoEvent};

std::string command_name(std::uint64_t command) {
    if (command == protocol::kRunEnded) {
        return "run ended";
    }
    switch (static_cast<ControlCommand>(command)) {
        case ControlCommand::kStart: return "start";
        case ControlCommand::kStop: return "stop";
        case ControlCommand::kSetFrequency: return "frequency";
        case ControlCommand::kSetPeriod: return "period";
    }
    return "command " + std::to_string(command);
}

bool has_value(std::uint64_t command) {
    return command != static_cast<std::uint64_t>(ControlCommand::kStart) &&
           command != static_cast<std::uint64_t>(ControlCommand::kStop);
}

}  // namespace

Result<std::vector<SessionChange>> read_changes(const Scan& scan, std::size_t session_index) {
    constexpr std::array kWanted{ColumnId::kTime, ColumnId::kCommand, ColumnId::kEvent, ColumnId::kValue};
    std::vector<SessionChange> changes;
    const std::vector<Series>& there = scan.sessions()[session_index].series;
    if (std::find(there.begin(), there.end(), kChanges) == there.end()) {
        return changes;  // nearly all sessions have none
    }
    RowCursor rows{scan, session_index, kChanges, kWanted};
    while (const RowBlock* const block = rows.next()) {
        for (std::size_t i = 0; i < block->rows.row_count(); ++i) {
            const auto value = [&](ColumnId id) { return block->rows.integers(id)[i]; };
            changes.push_back({Ticks{value(ColumnId::kTime)}, value(ColumnId::kCommand),
                               EventNumber{static_cast<std::uint16_t>(value(ColumnId::kEvent))},
                               value(ColumnId::kValue)});
        }
    }
    PERFLEET_TRY(rows.status());
    std::stable_sort(changes.begin(), changes.end(),
                     [](const SessionChange& a, const SessionChange& b) { return a.time < b.time; });
    return changes;
}

bool are_all_stopped(const std::vector<SessionChange>& changes, std::size_t event_count) {
    std::vector<bool> is_stopped(event_count, false);
    for (const SessionChange& change : changes) {
        const auto command = static_cast<ControlCommand>(change.command);
        if (command != ControlCommand::kStart && command != ControlCommand::kStop) {
            continue;
        }
        for (std::size_t event = 0; event < event_count; ++event) {
            if (change.event == kNoEvent || change.event.value == event) {
                is_stopped[event] = command == ControlCommand::kStop;
            }
        }
    }
    return event_count > 0 && std::all_of(is_stopped.begin(), is_stopped.end(), [](bool is) { return is; });
}

Result<Answer> make_controls(const Scan& scan) {
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""}, {"time", ""}, {"command", ""}, {"event", ""}, {"value", ""}};
    for (const std::size_t i : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[i];
        const auto changes = PERFLEET_TRY(read_changes(scan, i));
        const auto [first, last] = scan.tick_range(i);
        for (const SessionChange& change : changes) {
            if (change.time < first || change.time >= last) {
                continue;
            }
            const EventRecord* const changed = session.record.event_at(change.event);
            const std::string event = change.event == kNoEvent ? "all"
                                      : changed != nullptr     ? changed->name
                                                               : std::to_string(change.event.value);
            answer.rows.push_back({session_hex(session.record.session), session.record.target_name,
                                   format_time(session.clock.utc_of(change.time)), command_name(change.command), event,
                                   has_value(change.command) ? AnswerValue{change.value} : AnswerValue{}});
        }
        const std::array kinds{Kind::kControl};
        answer.ledger.add(scan.ledger(i, kinds, answer.warnings));
    }
    warn_of_open_sessions(scan, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

}  // namespace perfleet
