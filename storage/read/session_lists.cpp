// KeyedReads' lists of sessions, also if damage hides some of them.
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "storage/engine/file_name.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/read/reader.h"

namespace perfleet {

// Skips and notes damaged records; returns false if there were any.
Result<bool> KeyedReads::visit_session_records(const KeyRange& range,
                                               const std::function<Visit(SessionRecord&&)>& visitor) const {
    bool is_whole = true;
    PERFLEET_TRY(visit_readable(
        *engine_, range,
        [&](std::string_view key, std::string_view value) {
            auto record = decode_session_untrusted(value);
            if (record.ok()) {
                return visitor(std::move(*record));
            }
            is_whole = false;
            notes_.add(at_key(key, record.error()).message);
            return Visit::kContinue;
        },
        [&](const DamagedRange& damaged) {
            is_whole = false;
            notes_.add(damage_in(damaged.error));
        }));
    return is_whole;
}

// Sessions with a readable batch record in the partition: one seek for each.
Result<std::vector<SessionName>> KeyedReads::sessions_with_batches(const Partition& partition) const {
    std::vector<SessionName> names;
    ReadableCursor at{*engine_, partition_batches_range(partition)};
    while (PERFLEET_TRY(at.next_item())) {
        if (const auto name = decode_partition_batch_key(at.key()); name.ok()) {
            names.push_back({name->key.target, name->key.session});
            at.seek(session_batches_range(partition, name->key.target, name->key.session).end);
        }
    }
    return names;
}

// If session records are damaged, sessions are also found through their batches.
Result<std::vector<SessionRecord>> KeyedReads::sessions(const Partition& partition) const {
    std::map<SessionName, SessionRecord> records;
    const auto is_whole =
        PERFLEET_TRY(visit_session_records(partition_sessions_range(partition), [&](SessionRecord&& record) {
            const SessionName name{record.target, record.session};
            records.try_emplace(name, std::move(record));
            return Visit::kContinue;
        }));
    const auto names = PERFLEET_TRY(is_whole ? std::vector<SessionName>{} : sessions_with_batches(partition));
    for (const SessionName& name : names) {
        if (!records.contains(name)) {
            auto record = session(name.target, name.session);
            if (!record.ok() && !is_damage(record.error())) {
                return record.error();
            }
            if (record.ok() && record->has_value()) {
                records.emplace(name, std::move(**record));
            }
        }
    }
    std::vector<SessionRecord> values;
    values.reserve(records.size());
    for (auto& [name, record] : records) {
        values.push_back(std::move(record));
    }
    return values;
}

// Each partition of a session has a copy of its record; a session with batches and without any record is noted.
Result<Done> KeyedReads::visit_sessions(const std::function<Visit(SessionRecord&&)>& visitor) const {
    bool is_stopped = false;
    const auto visit = [&](SessionRecord&& record) {
        is_stopped = visitor(std::move(record)) == Visit::kStop;
        return is_stopped ? Visit::kStop : Visit::kContinue;
    };
    const auto is_whole = PERFLEET_TRY(visit_session_records(all_sessions_range(), visit));
    if (is_whole || is_stopped) {
        return Done{};
    }
    // Damaged sessions only, to bound memory. True: a partition has a readable copy of the record.
    std::map<SessionName, bool> damaged;
    std::optional<Error> failure;
    const auto is_damaged = [&](const SessionName& name) {
        if (!damaged.contains(name)) {
            const auto record = session(name.target, name.session);
            if (!record.ok() && !is_damage(record.error())) {
                failure = record.error();
            }
            if (record.ok() && record->has_value()) {
                return false;
            }
        }
        return true;
    };
    const auto all = PERFLEET_TRY(partitions());
    for (const Partition& partition : all) {
        PERFLEET_TRY(visit_session_records(partition_sessions_range(partition), [&](SessionRecord&& record) {
            const SessionName name{record.target, record.session};
            if (is_damaged(name) && !std::exchange(damaged[name], true)) {
                return failure ? Visit::kStop : visit(std::move(record));
            }
            return Visit::kContinue;
        }));
        const auto names = PERFLEET_TRY(sessions_with_batches(partition));
        for (const SessionName& name : names) {
            if (is_damaged(name)) {
                damaged.try_emplace(name, false);
            }
        }
        if (failure || is_stopped) {
            return failure ? Result<Done>{*failure} : Done{};
        }
    }
    for (const auto& [name, is_found] : damaged) {
        if (!is_found) {
            notes_.add(describe_key(session_key(Table::kSession, name.target, name.session)) +
                       ": what the session is can't be read, so its rows can't be shown");
        }
    }
    return Done{};
}

Result<std::vector<SessionRecord>> StoreReader::all_sessions() const {
    std::map<SessionName, SessionRecord> records;
    PERFLEET_TRY(visit_sessions([&](SessionRecord&& record) {
        const SessionName name{record.target, record.session};
        records.emplace(name, std::move(record));
        return Visit::kContinue;
    }));
    std::vector<SessionRecord> values;
    values.reserve(records.size());
    for (auto& [name, record] : records) {
        values.push_back(std::move(record));
    }
    return values;
}

Result<std::vector<SessionName>> KeyedReads::session_names(const Partition& partition) const {
    std::set<SessionName> names;
    ReadableCursor at{*engine_, partition_sessions_range(partition)};
    for (auto step = at.next(); !step.ok() || *step != CursorStep::kEnd; step = at.next()) {
        if (!step.ok()) {
            return step.error();
        }
        if (*step == CursorStep::kGap) {
            notes_.add(damage_in(at.gap().error));
            const auto with_batches = PERFLEET_TRY(sessions_with_batches(partition));
            names.insert(with_batches.begin(), with_batches.end());
        } else if (const auto name = decode_partition_session_key(at.key()); name.ok()) {
            names.insert(name->name);
        }
    }
    return std::vector<SessionName>{names.begin(), names.end()};
}

}  // namespace perfleet
