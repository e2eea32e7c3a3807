#include "query-engine/scan/session_choice.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

// By start, of those that aren't removed.
std::vector<SessionName> by_start(const NotedSessions& sessions) {
    std::vector<std::pair<std::int64_t, SessionName>> starts;
    for (const auto& [name, session] : sessions) {
        if (!session.note.is_removed) {
            starts.emplace_back(session.record.start_point.utc_ns.value, name);
        }
    }
    std::sort(starts.begin(), starts.end());
    std::vector<SessionName> names;
    for (const auto& [start, name] : starts) {
        names.push_back(name);
    }
    return names;
}

void leave(const SessionName& name, NotedSessions& sessions) {
    NotedSessions chosen;
    chosen.insert(sessions.extract(name));
    sessions = std::move(chosen);
}

// Lower case; nothing where it can't begin an id.
std::optional<std::string> id_prefix(const std::string& text) {
    std::string prefix;
    for (const char c : text) {
        const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
        if ((lower < '0' || lower > '9') && (lower < 'a' || lower > 'f')) {
            return std::nullopt;
        }
        prefix += lower;
    }
    return prefix;
}

// "last", or "last~2": the second before it.
Result<Done> choose_from_last(const std::string& wanted, NotedSessions& sessions) {
    std::size_t before = 0;
    if (const std::size_t tilde = wanted.find('~'); tilde != std::string::npos) {
        const auto number = number_of<std::size_t>(std::string_view{wanted}.substr(tilde + 1));
        if (!number) {
            return Error{ErrorCode::kUsage, "--session \"" + wanted.substr(0, 64) +
                                                "\": behind last~ stands a number: last~1 is the one before the last"};
        }
        before = *number;
    }
    const std::vector<SessionName> names = by_start(sessions);
    if (before >= names.size()) {
        return Error{ErrorCode::kNotFound,
                     "--session " + wanted + ": " +
                         (names.empty() ? "no session is selected"
                                        : "only " + std::to_string(names.size()) + " sessions are selected")};
    }
    leave(names[names.size() - 1 - before], sessions);
    return Done{};
}

}  // namespace

Result<NotedSessions> noted_sessions(const StoreReader& store) {
    Result<std::vector<SessionRecord>> records = store.all_sessions();
    Result<std::map<SessionName, SessionNote>> notes = store.session_notes();
    if (!records.ok() || !notes.ok()) {
        return records.ok() ? std::move(notes).error() : std::move(records).error();
    }
    NotedSessions sessions;
    for (SessionRecord& record : *records) {
        const SessionName name{record.target, record.session};
        const auto note = notes->find(name);
        sessions.emplace(name, NotedSession{std::move(record), note == notes->end() ? SessionNote{} : note->second});
    }
    return sessions;
}

Result<Done> choose_session(const std::string& wanted, NotedSessions& sessions) {
    if (wanted.empty()) {
        return Done{};
    }
    if (wanted == "last" || wanted.starts_with("last~")) {
        return choose_from_last(wanted, sessions);
    }
    const std::vector<SessionName> names = by_start(sessions);
    const auto named = std::find_if(names.rbegin(), names.rend(), [&](const SessionName& name) {
        return sessions.at(name).note.given_name == wanted;
    });
    if (named != names.rend()) {
        leave(*named, sessions);
        return Done{};
    }
    const std::optional<std::string> prefix = id_prefix(wanted);
    if (!prefix) {
        return Error{ErrorCode::kUsage, "--session \"" + wanted.substr(0, 64) +
                                            "\" is neither \"last\", nor the name of a selected session, nor the "
                                            "beginning of its hex digits (perfleet sessions lists them)"};
    }
    std::erase_if(sessions, [&](const auto& entry) { return !session_hex(entry.first.session).starts_with(*prefix); });
    const std::size_t found_count = sessions.size();
    std::erase_if(sessions, [](const auto& entry) { return entry.second.note.is_removed; });
    if (sessions.empty()) {
        return Error{ErrorCode::kNotFound, "--session " + wanted + ": " +
                                               (found_count != 0 ? "was removed (perfleet losses counts its rows)"
                                                                 : "no selected session begins so (perfleet sessions "
                                                                   "lists them)")};
    }
    if (sessions.size() > 1) {
        return Error{ErrorCode::kUsage, "--session " + wanted + ": " + std::to_string(sessions.size()) +
                                            " sessions begin so; write more of its digits"};
    }
    return Done{};
}

}  // namespace perfleet
