#include "query-engine/scan/session_choice.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/perf/perf_event.h"
#include "schemas/text/parse.h"
#include "schemas/vocabulary/row_clock.h"

namespace perfleet {
namespace {

// Approximate size of a record in memory.
std::size_t size_bytes_of(const SessionRecord& record) {
    std::size_t size_bytes = sizeof(NotedSession) + record.events.capacity() * sizeof(EventRecord);
    for (const EventRecord& event : record.events) {
        size_bytes += event.name.size() + event.format.capacity() + event.attr.capacity();
    }
    for (const auto& [key, value] : record.labels) {
        size_bytes += sizeof key + sizeof value + key.size() + value.size();
    }
    for (const std::string& word : record.host.command_line) {
        size_bytes += sizeof word + word.size();
    }
    return size_bytes + record.host.tracing_header_page.capacity() + record.host.tracing_header_event.capacity();
}

// Drops the large texts of a record with more than kLargeTextsSizeBytesMin of them; false if it stays as it is.
bool leave_out_large_texts(SessionRecord& record) {
    constexpr std::size_t kLargeTextsSizeBytesMin = 16U << 10;
    std::size_t size_bytes = 0;
    for (const EventRecord& event : record.events) {
        size_bytes += event.format.size() + event.attr.size();
    }
    if (size_bytes < kLargeTextsSizeBytesMin) {
        return false;
    }
    for (EventRecord& event : record.events) {
        std::string{}.swap(event.format);  // an assignment would keep the memory
        std::string{}.swap(event.attr);
    }
    return true;
}

// The sessions that aren't removed, by time of arrival.
std::vector<SessionName> in_order(const NotedSessions& sessions) {
    std::vector<std::tuple<UtcNs, UtcNs, SessionName>> times;
    for (const auto& [name, session] : sessions) {
        if (!session.note.is_removed) {
            times.emplace_back(session.record.came(), session.record.start_point.utc_ns, name);
        }
    }
    std::sort(times.begin(), times.end());
    std::vector<SessionName> names;
    for (const auto& [came, start, name] : times) {
        names.push_back(name);
    }
    return names;
}

void leave(const SessionName& name, NotedSessions& sessions) {
    NotedSessions chosen;
    chosen.insert(sessions.extract(name));
    sessions = std::move(chosen);
}

// The text in lower case; nothing if an id can't begin with it.
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

bool has_label(const SessionRecord& record, std::string_view key) {
    return std::ranges::any_of(record.labels, [&](const auto& label) { return label.first == key; });
}

// The first use that the session has.
SessionUse use_of(const SessionRecord& record) {
    for (const SessionUse use : {SessionUse::kProfile, SessionUse::kDurations, SessionUse::kTracepoints}) {
        if (serves(record, use)) {
            return use;
        }
    }
    return SessionUse::kAny;
}

// Of one session, and how to make one.
struct UseText {
    std::string_view does;
    std::string_view hint;
};
UseText text_of(SessionUse use) {
    switch (use) {
        case SessionUse::kProfile: return {"was recorded to sample", "perfleet record -- COMMAND does"};
        case SessionUse::kDurations:
            return {"measures times",
                    "they come from perfleet import, latency --function IMAGE:FUNCTION, and programs that measure "
                    "themselves; --pair START,STOP takes the time between two tracepoints; for where the time goes: "
                    "perfleet top"};
        case SessionUse::kTracepoints: return {"has tracepoints", "perfleet record -e SYSTEM:EVENT"};
        case SessionUse::kAny:
        case SessionUse::kLikeTheLast: break;
    }
    return {"is alike", "perfleet sessions lists them"};
}

// "last", or "last~2": the second before it.
Result<std::size_t> choose_from_last(const std::string& wanted, NotedSessions& sessions, SessionUse use) {
    std::size_t before = 0;
    if (const std::size_t tilde = wanted.find('~'); tilde != std::string::npos) {
        const auto number = number_of<std::size_t>(std::string_view{wanted}.substr(tilde + 1));
        if (!number) {
            return Error{ErrorCode::kUsage, "--session \"" + wanted.substr(0, 64) +
                                                "\": last~ is followed by a number: last~1 is the one before the last"};
        }
        before = *number;
    }
    const std::vector<SessionName> names = in_order(sessions);
    const auto is_meant =
        [&, last_use = names.empty() ? use : use_of(sessions.at(names.back()).record)](const SessionRecord& record) {
            return use == SessionUse::kAny ||
                   (use == SessionUse::kLikeTheLast ? use_of(record) == last_use : serves(record, use));
        };
    std::size_t meant_count = 0;
    for (std::size_t i = names.size(); i-- > 0;) {
        if (is_meant(sessions.at(names[i]).record) && meant_count++ == before) {
            leave(names[i], sessions);
            return names.size() - 1 - i - before;
        }
    }
    const auto count_text = [](std::size_t count) {
        return std::to_string(count) + (count == 1 ? " session" : " sessions");
    };
    if (names.empty()) {
        return Error{ErrorCode::kNotFound, "--session " + wanted + ": no session is selected"};
    }
    const UseText text = text_of(use);
    return Error{ErrorCode::kNotFound,
                 meant_count == 0 ? "of " + count_text(names.size()) + " none " + std::string{text.does} + " (" +
                                        std::string{text.hint} + ")"
                                  : "--session " + wanted + ": only " + count_text(meant_count) +
                                        (meant_count == names.size() ? "" : " of " + std::to_string(names.size())) +
                                        (meant_count == 1 ? " is meant" : " are meant") + " by last"};
}

}  // namespace

bool serves(const SessionRecord& record, SessionUse use) {
    const bool has_own_times = record.clock_name != kRowClock;
    return std::ranges::any_of(record.events, [&](const EventRecord& event) {
        const bool is_tracepoint = event.kind == Kind::kTracepoint;
        switch (use) {
            case SessionUse::kProfile:  // not what `latency --function`, `stat` and `bench` store
                return event.kind == Kind::kSample ||
                       (is_tracepoint && event.perf_type != 0 && !has_label(record, "bench"));
            case SessionUse::kDurations:  // not a run of `compare`, which is meaningless alone, nor the kernel's
                                          // tracepoints
                return event.kind == Kind::kLatency ||
                       (is_tracepoint && event.perf_type <= perf::kTypeSoftware && !has_label(record, "comparison"));
            case SessionUse::kTracepoints: return is_tracepoint && has_own_times;
            case SessionUse::kAny:
            case SessionUse::kLikeTheLast: break;
        }
        return true;
    });
}

Result<NotedSessions> noted_sessions(const StoreReader& store, const SessionFilter* filter, QueryMemory* memory) {
    Result<std::map<SessionName, SessionNote>> notes = store.session_notes();
    if (!notes.ok()) {
        return std::move(notes).error();
    }
    QueryMemory unbounded{~std::size_t{0}};
    MemoryShare share{memory != nullptr ? *memory : unbounded};
    NotedSessions sessions;
    PERFLEET_TRY(store.visit_sessions([&](SessionRecord&& record) {
        if (filter == nullptr || filter->takes(record)) {
            const SessionName name{record.target, record.session};
            const auto note = notes->find(name);
            const bool is_brief = leave_out_large_texts(record);
            share.add(size_bytes_of(record));
            sessions.emplace(
                name, NotedSession{std::move(record), note == notes->end() ? SessionNote{} : note->second, is_brief});
        }
        return share.is_exceeded() ? Visit::kStop : Visit::kContinue;
    }));
    return share.is_exceeded() ? Result<NotedSessions>{memory->exceeded()} : std::move(sessions);
}

Result<Done> complete_records(const StoreReader& store, NotedSessions& sessions, QueryMemory& memory) {
    MemoryShare share{memory};
    std::size_t missing_count = 0;
    const auto complete = [&](NotedSession& session, SessionRecord record) {
        session.record = std::move(record);
        session.is_brief = false;
        share.add(size_bytes_of(session.record));
    };
    for (auto& [name, session] : sessions) {
        PERFLEET_TRY(share.check());
        if (session.is_brief) {
            auto record = store.session(name.target, name.session);
            if (!record.ok() && record.error().code != ErrorCode::kCorrupt) {
                return std::move(record).error();
            }
            if (record.ok() && record->has_value()) {
                complete(session, std::move(**record));
            } else {
                ++missing_count;
            }
        }
    }
    if (missing_count != 0) {  // a missing record is damaged; the partitions have copies
        PERFLEET_TRY(store.visit_sessions([&](SessionRecord&& record) {
            const auto found = sessions.find({record.target, record.session});
            if (found != sessions.end() && found->second.is_brief) {
                complete(found->second, std::move(record));
            }
            return share.is_exceeded() ? Visit::kStop : Visit::kContinue;
        }));
    }
    return share.check();
}

std::size_t size_bytes_of(const NotedSessions& sessions) {
    std::size_t size_bytes = 0;
    for (const auto& [name, session] : sessions) {
        size_bytes += size_bytes_of(session.record);
    }
    return size_bytes;
}

bool is_from_last(std::string_view wanted) { return wanted == "last" || wanted.starts_with("last~"); }

Result<std::size_t> choose_session(const std::string& wanted, NotedSessions& sessions, SessionUse use) {
    if (wanted.empty()) {
        return 0;
    }
    if (is_from_last(wanted)) {
        return choose_from_last(wanted, sessions, use);
    }
    const std::vector<SessionName> names = in_order(sessions);
    const auto named = std::find_if(names.rbegin(), names.rend(), [&](const SessionName& name) {
        return sessions.at(name).note.given_name == wanted;
    });
    if (named != names.rend()) {
        leave(*named, sessions);
        return 0;
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
        return Error{ErrorCode::kNotFound,
                     "--session " + wanted + ": " +
                         (found_count != 0 ? "was removed (perfleet losses counts its rows)"
                                           : "no selected session begins with it (perfleet sessions "
                                             "lists them)")};
    }
    if (sessions.size() > 1) {
        return Error{ErrorCode::kUsage, "--session " + wanted + ": " + std::to_string(sessions.size()) +
                                            " sessions begin with it; give more of its digits"};
    }
    return 0;
}

std::string newest_with_event(const NotedSessions& sessions, std::string_view event) {
    const std::vector<SessionName> names = in_order(sessions);
    const auto newest = std::find_if(names.rbegin(), names.rend(), [&](const SessionName& name) {
        return std::ranges::any_of(sessions.at(name).record.events,
                                   [&](const EventRecord& one) { return one.name == event; });
    });
    if (newest == names.rend()) {
        return "";
    }
    constexpr std::size_t kDigitsMin = 8;
    const std::string id = session_hex(newest->session);
    std::size_t digits = kDigitsMin;
    for (const auto& [name, session] : sessions) {
        const std::string other = session_hex(name.session);
        const auto common = std::mismatch(id.begin(), id.end(), other.begin()).first - id.begin();
        digits = name == *newest ? digits : std::max(digits, static_cast<std::size_t>(common) + 1);
    }
    return id.substr(0, digits);
}

}  // namespace perfleet
