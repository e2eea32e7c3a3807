// Which sessions there are: KeyedReads' lists of them, also where damage has made holes in them.
#include <optional>
#include <set>
#include <utility>

#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// What is damaged of them is noted and left out; false when something was.
Result<bool> KeyedReads::add_session_records(const KeyRange& range, SessionRecords& records) const {
    bool is_whole = true;
    auto visited = visit_readable(
        *engine_, range,
        [&](std::string_view key, std::string_view value) {
            auto record = decode_session_untrusted(value);
            if (record.ok()) {
                records.try_emplace({record->target, record->session}, std::move(*record));
            } else {
                is_whole = false;
                notes_->add(at_key(key, record.error()).message);
            }
            return Visit::kContinue;
        },
        [&](const DamagedRange& damaged) {
            is_whole = false;
            notes_->add(engine_->damage_in(damaged.error));
        });
    return visited.ok() ? Result<bool>{is_whole} : visited.error();
}

// Of which the partition has a batch record that can be read: one look for each.
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

std::vector<SessionRecord> KeyedReads::values_of(SessionRecords&& records) {
    std::vector<SessionRecord> values;
    values.reserve(records.size());
    for (auto& [name, record] : records) {
        values.push_back(std::move(record));
    }
    return values;
}

// Where the list has a hole, sessions are told by their batches, too.
Result<std::vector<SessionRecord>> KeyedReads::sessions(const Partition& partition) const {
    SessionRecords records;
    auto is_whole = PERFLEET_TRY(add_session_records(partition_sessions_range(partition), records));
    if (is_whole) {
        return values_of(std::move(records));
    }
    auto names = PERFLEET_TRY(sessions_with_batches(partition));
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
    return values_of(std::move(records));
}

// A session's description stands in each of its partitions, too; who has batches and none anywhere is noted.
Result<std::vector<SessionRecord>> KeyedReads::all_sessions() const {
    SessionRecords records;
    auto is_whole = PERFLEET_TRY(add_session_records(all_sessions_range(), records));
    if (is_whole) {
        return values_of(std::move(records));
    }
    auto all = PERFLEET_TRY(partitions());
    std::set<SessionName> named;
    for (const Partition& partition : all) {
        PERFLEET_TRY(add_session_records(partition_sessions_range(partition), records));
        auto names = PERFLEET_TRY(sessions_with_batches(partition));
        named.insert(names.begin(), names.end());
    }
    for (const SessionName& name : named) {
        if (!records.contains(name)) {
            notes_->add(describe_key(session_key(Table::kSession, name.target, name.session)) +
                        ": what the session is can't be read, so its rows can't be shown");
        }
    }
    return values_of(std::move(records));
}

Result<std::vector<SessionName>> KeyedReads::session_names(const Partition& partition) const {
    std::vector<SessionName> names;
    ReadableCursor at{*engine_, partition_sessions_range(partition)};
    while (PERFLEET_TRY(at.next_item())) {
        if (const auto name = decode_partition_session_key(at.key()); name.ok()) {
            names.push_back(name->name);
        }
    }
    return names;
}

}  // namespace perfleet
