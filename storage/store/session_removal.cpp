#include "storage/store/session_removal.h"

#include <algorithm>
#include <utility>

#include "storage/engine/damaged_reads.h"
#include "storage/store/expired_rows.h"

namespace perfleet {

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
        PERFLEET_TRY(unless_damaged(std::move(visited)));
        sum += PERFLEET_TRY(rows.finish());
    }
    return sum;
}

Result<SessionRemoval> make_session_removal(const KeyedReads& reads, const Partition& partition,
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
    const bool is_whole = PERFLEET_TRY(unless_damaged(std::move(visited))).has_value();
    for (const KeyRange& range :
         is_whole ? session_summary_ranges(partition, session) : session_ranges(partition, session)) {
        PERFLEET_TRY(visit_readable(reads.engine(), range, [&](std::string_view key, std::string_view) {
            deletes.emplace_back(key);
            return Visit::kContinue;
        }));
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
