#include "query-engine/statistic/session/inventory.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/session_ledger.h"
#include "query-engine/statistic/session/coverage.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/session/session_changes.h"
#include "schemas/session/command_text.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

// The last time at which the session is known to have run.
UtcNs last_seen(const ScannedSession& session) {
    if (session.end) {
        return session.clock.utc_of(session.end->end_point.ticks);
    }
    Ticks last = session.record.start_point.ticks;
    for (const BatchRecord& batch : session.batches) {
        for (const BatchRecord::Rows& rows : batch.rows) {
            last = std::max(last, rows.last_ticks);
        }
    }
    return std::max(session.clock.utc_of(last), session.began());
}

std::uint64_t stored_rows(const ScannedSession& session) {
    std::uint64_t row_count = 0;
    for (const BatchRecord& batch : session.batches) {
        for (const BatchRecord::Rows& rows : batch.rows) {
            row_count += is_definition(rows.series.kind) ? 0 : rows.row_count;
        }
    }
    return row_count;
}

std::string target_hex(TargetId target) { return session_hex(SessionId{0, target.value}).substr(16); }

std::string joined(const std::vector<std::string>& parts, const char* separator) {
    std::string text;
    for (const std::string& part : parts) {
        text += (text.empty() ? "" : separator) + part;
    }
    return text;
}

// The events in the syntax of -e, with braces around groups.
std::string events_text(const std::vector<EventRecord>& events) {
    std::string text;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const std::uint16_t group = events[i].group;
        const bool begins = group != 0 && (i == 0 || events[i - 1].group != group);
        const bool ends = group != 0 && (i + 1 == events.size() || events[i + 1].group != group);
        text += (i == 0 ? "" : ",") + std::string(begins ? "{" : "") + events[i].name + (ends ? "}" : "");
    }
    return text;
}

std::string labels_text(const SessionRecord& record) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : record.labels) {
        parts.push_back(key + "=" + value);
    }
    return joined(parts, ",");
}

// Reads all blocks, so that later ledgers count damaged ones as lost.
Result<Done> find_damaged_blocks(const Scan& scan) {
    constexpr std::array kWanted{ColumnId::kTime};
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        for (const Series& series : scan.sessions()[i].series) {
            RowCursor rows{scan, i, series, kWanted};
            const bool is_wanted = !is_definition(series.kind) && scan.is_selected(i, series);
            while (is_wanted && rows.next() != nullptr) {
            }
            PERFLEET_TRY(rows.status());
        }
    }
    return Done{};
}

struct LossColumn {
    const char* name;
    CountName entry;
};

constexpr std::array kReasons{
    LossColumn{"kernel_ring", CountName::kLostKernelRing},
    LossColumn{"ring_full", CountName::kLostRingFull},
    LossColumn{"spool_full", CountName::kLostSpoolFull},
    LossColumn{"quota", CountName::kLostQuota},
    LossColumn{"saturated", CountName::kLostSaturated},
    LossColumn{"refused", CountName::kLostRefused},
    LossColumn{"malformed", CountName::kLostMalformed},
    LossColumn{"unflushed", CountName::kLostUnflushed},
    LossColumn{"killed", CountName::kLostKilled},
    LossColumn{"not_delivered", CountName::kLostNotDelivered},
    LossColumn{"kernel_throttled", CountName::kLostThrottled},
    LossColumn{"timer_late", CountName::kLostTimerLate},
};
constexpr std::array kNotes{
    LossColumn{"frames_unmapped", CountName::kFramesUnmapped},
    LossColumn{"frames_truncated", CountName::kFramesTruncated},
    LossColumn{"throttled", CountName::kThrottled},
    LossColumn{"own_skipped", CountName::kOwnSkipped},
    LossColumn{"late", CountName::kLate},
    LossColumn{"stacks_no_table", CountName::kStacksNoTable},
    LossColumn{"stacks_bad_address", CountName::kStacksBadAddress},
    LossColumn{"stacks_not_copied", CountName::kStacksNotCopied},
    LossColumn{"unclean_end", CountName::kUncleanEnd},
    LossColumn{"stacks_copied", CountName::kStacksCopied},
    LossColumn{"below_period", CountName::kBelowPeriod},
    LossColumn{"unchecked", CountName::kUnchecked},
    LossColumn{"names_not_read", CountName::kNamesNotRead},
};

}  // namespace

std::vector<std::size_t> sessions_by_start(const Scan& scan) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        const ScannedSession& session = scan.sessions()[i];
        const Selection& selection = scan.selection();
        const bool is_before = selection.from && last_seen(session) < *selection.from;
        const bool is_after = selection.to && session.began() >= *selection.to;
        if (!is_before && !is_after) {
            indices.push_back(i);
        }
    }
    std::sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
        const auto place = [&](std::size_t index) {
            const ScannedSession& session = scan.sessions()[index];
            return std::tuple{session.began(), session.record.session, session.record.target};
        };
        return place(a) < place(b);
    });
    return indices;
}

Ledger ledger_of_sessions(const Scan& scan, const std::vector<std::size_t>& indices,
                          std::vector<std::string>& warnings) {
    Ledger sum;
    for (const std::size_t i : indices) {
        for (const Series& series : scan.ledger_series(i)) {
            if (scan.is_selected(i, series)) {
                sum.add(scan.ledger(i, series, warnings));
            }
        }
    }
    return sum;
}

Answer make_targets(const Scan& scan) {
    struct Target {
        const SessionRecord* newest = nullptr;
        std::uint64_t session_count = 0;
        UtcNs first;
        UtcNs last;
    };
    const std::vector<std::size_t> indices = sessions_by_start(scan);
    std::map<TargetId, Target> targets;
    for (const std::size_t i : indices) {
        const ScannedSession& session = scan.sessions()[i];
        Target& target = targets[session.record.target];
        if (target.newest == nullptr) {
            target.first = session.began();
            target.last = last_seen(session);
        }
        if (target.newest == nullptr || target.newest->came() <= session.record.came()) {
            target.newest = &session.record;
        }
        target.session_count += session.note.is_removed ? 0 : 1;
        target.last = std::max(target.last, last_seen(session));
    }
    std::vector<std::pair<TargetId, Target>> rows{targets.begin(), targets.end()};
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::tie(a.second.newest->target_name, a.first) < std::tie(b.second.newest->target_name, b.first);
    });

    Answer answer;
    answer.columns = {{"id", ""},       {"target", ""},     {"arch", ""},     {"labels", ""},
                      {"sessions", ""}, {"first_seen", ""}, {"last_seen", ""}};
    for (const auto& [id, target] : rows) {
        if (target.session_count == 0) {
            continue;
        }
        answer.rows.push_back({target_hex(id), target.newest->target_name, target.newest->architecture,
                               labels_text(*target.newest), target.session_count, format_time(target.first),
                               format_time(target.last)});
    }
    answer.ledger = ledger_of_sessions(scan, indices, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

const OptionTable<SessionListOptions>& session_list_options() {
    static const OptionTable<SessionListOptions> kTable = OptionTable<SessionListOptions>{}.value(
        {"limit", OptionType::kCount, "N", "only the last N sessions"}, &SessionListOptions::row_count_max);
    return kTable;
}

Result<Answer> make_sessions(const Scan& scan, const SessionListOptions& options) {
    PERFLEET_TRY(scan.store().damage().empty() ? Done{} : find_damaged_blocks(scan));
    std::vector<std::size_t> indices = sessions_by_start(scan);
    std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
        return scan.sessions()[a].record.came() < scan.sessions()[b].record.came();
    });
    std::vector<std::size_t> listed;
    std::ranges::copy_if(indices, std::back_inserter(listed),
                         [&](std::size_t i) { return !scan.sessions()[i].note.is_removed; });
    Answer answer;
    if (options.row_count_max && listed.size() > *options.row_count_max) {
        const auto left_out = static_cast<std::ptrdiff_t>(listed.size() - *options.row_count_max);
        listed.erase(listed.begin(), listed.begin() + left_out);
        answer.warnings.push_back(
            counted_noun(static_cast<std::uint64_t>(left_out), "older session is", "older sessions are") +
            " left out (--limit)");
    }
    answer.columns = {{"session", ""}, {"name", "", true},    {"target", ""}, {"arch", ""}, {"start", ""},
                      {"end", ""},     {"state", ""},         {"events", ""}, {"rows", ""}, {"batches", ""},
                      {"version", ""}, {"command", "", true}, {"labels", ""}};
    for (const std::size_t i : listed) {
        const ScannedSession& session = scan.sessions()[i];
        const std::vector<EventRecord>& events = session.record.events;
        const auto changes = PERFLEET_TRY(read_changes(scan, i));
        const char* const state = session.end ? "ended" : are_all_stopped(changes, events.size()) ? "stopped" : "open";
        const std::string& name = session.note.given_name;
        const std::string command = command_text(session.record.host);
        answer.rows.push_back({session_hex(session.record.session), name.empty() ? AnswerValue{} : AnswerValue{name},
                               session.record.target_name, session.record.architecture, format_time(session.began()),
                               session.end ? format_time(last_seen(session)) : std::string{}, std::string{state},
                               events_text(events), stored_rows(session), std::uint64_t{session.batches.size()},
                               session.record.collector_version, command.empty() ? AnswerValue{} : AnswerValue{command},
                               labels_text(session.record)});
    }
    answer.ledger = ledger_of_sessions(scan, indices, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

Result<Answer> make_losses(const Scan& scan, bool reads_blocks) {
    if (reads_blocks || !scan.store().damage().empty()) {
        PERFLEET_TRY(find_damaged_blocks(scan));
    }
    Answer answer;
    answer.columns = {{"session", ""},
                      {"target", ""},
                      {"kind", ""},
                      {"event", ""},
                      {"produced", "rows"},
                      {"stored", "rows"},
                      {"expired", "rows", true},
                      {"pending", "rows", true},
                      {"lost", "rows", true}};
    for (const LossColumn& reason : kReasons) {
        answer.columns.push_back({reason.name, "rows", true});
    }
    answer.columns.push_back({"damaged", "rows", true});
    answer.columns.push_back({"missing", "rows", true});
    answer.columns.push_back({"other", "rows", true});
    for (const LossColumn& note : kNotes) {
        answer.columns.push_back({note.name, "", true});
    }
    answer.columns.push_back({"uncovered_percent", "percent", true});
    for (const std::size_t i : sessions_by_start(scan)) {
        const ScannedSession& session = scan.sessions()[i];
        for (const Series& series : scan.ledger_series(i)) {
            if (!scan.is_selected(i, series)) {
                continue;
            }
            const Ledger ledger = scan.ledger(i, series, answer.warnings);
            answer.ledger.add(ledger);
            const auto lost = [&](const std::string& reason) {
                const auto entry = ledger.lost.find(reason);
                return entry == ledger.lost.end() ? std::uint64_t{0} : entry->second;
            };
            std::uint64_t lost_sum = 0;
            for (const auto& [reason, rows] : ledger.lost) {
                lost_sum += rows;
            }
            const EventRecord* const event = session.record.event_at(series.event);
            std::vector<AnswerValue> row{session_hex(session.record.session),
                                         session.record.target_name,
                                         std::string{kind_name(series.kind)},
                                         event != nullptr ? AnswerValue{event->name} : AnswerValue{},
                                         ledger.produced,
                                         ledger.stored,
                                         ledger.expired,
                                         ledger.pending,
                                         lost_sum};
            for (const LossColumn& reason : kReasons) {
                row.emplace_back(lost(reason.name));
            }
            row.emplace_back(lost("damaged"));
            row.emplace_back(lost("missing"));
            row.emplace_back(lost("other"));
            for (const LossColumn& note : kNotes) {
                row.emplace_back(last_entry(session, series, note.entry));
            }
            const std::optional<double> uncovered = uncovered_percent(scan, i, series);
            row.emplace_back(uncovered ? AnswerValue{*uncovered} : AnswerValue{});
            answer.rows.push_back(std::move(row));
        }
    }
    warn_of_open_sessions(scan, answer.warnings);
    warn_of_uncovered_time(scan, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

}  // namespace perfleet
