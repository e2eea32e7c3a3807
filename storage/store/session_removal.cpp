#include "storage/store/session_removal.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "storage/engine/damaged_reads.h"
#include "storage/store/expired_rows.h"

namespace perfleet {
namespace {

Result<Done> delete_keys(const Engine& engine, const KeyRange& range, Changes& changes) {
    return visit_readable(
        engine, range,
        [&](std::string_view key, std::string_view) {
            changes.deletes.emplace_back(key);
            return Visit::kContinue;
        },
        [](const DamagedRange&) {});
}

}  // namespace

Result<std::uint64_t> count_removed(const KeyedReads& reads, const SessionName& session,
                                    std::span<const Partition> partitions, OwnedChanges& changes) {
    std::uint64_t sum = 0;
    for (const Partition& partition : partitions) {
        ExpiredRows rows{reads, partition, changes};
        auto visited =
            reads.visit_batches(partition, session.target, session.session, Seq{0}, [&](const BatchRecord& batch) {
                rows.add({session.target, session.session, batch.seq}, batch);
                return Visit::kContinue;
            });
        if (!visited.ok() && !is_damage(visited.error())) {
            return visited.error();
        }
        auto row_count = PERFLEET_TRY(rows.finish());
        sum += row_count;
    }
    return sum;
}

Result<SessionRemoval> make_session_removal(const Engine& engine, const KeyedReads& reads, const Partition& partition,
                                            const SessionName& session) {
    SessionRemoval removal;
    std::vector<std::string>& deletes = removal.changes.deletes;
    // Deletes each batch's own record and blocks, even if compacted: a crash may undo the compaction and so restore
    // them.
    auto visited =
        reads.visit_batches(partition, session.target, session.session, Seq{0}, [&](const BatchRecord& batch) {
            const BatchKey key{session.target, session.session, batch.seq};
            deletes.push_back(partition_batch_key(partition, key));
            for (const BatchRecord::Rows& series : batch.rows) {
                deletes.push_back(block_key({partition, key.target, key.session, series.series, key.seq}));
            }
            return Visit::kContinue;
        });
    if (!visited.ok() && !is_damage(visited.error())) {
        return visited.error();
    }
    for (const KeyRange& range :
         visited.ok() ? session_summary_ranges(partition, session) : session_ranges(partition, session)) {
        PERFLEET_TRY(delete_keys(engine, range, removal.changes));
    }
    deletes.push_back(partition_session_key(partition, session.target, session.session));
    auto others = PERFLEET_TRY(reads.session_names(partition));
    removal.is_partition_empty =
        std::all_of(others.begin(), others.end(), [&](const SessionName& other) { return other == session; });
    if (removal.is_partition_empty) {
        deletes.push_back(compacted_key(partition));
        deletes.push_back(dictionary_key(partition));
    }
    return removal;
}

}  // namespace perfleet
