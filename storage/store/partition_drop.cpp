#include "storage/store/partition_drop.h"

#include <algorithm>

#include "storage/model/record.h"
#include "storage/store/expired_rows.h"

namespace perfleet {
namespace {

bool are_neighbours(const Partition& a, const Partition& b) {
    return a.bucket == b.bucket && a.retention_class == b.retention_class && a.shard + 1 == b.shard;
}

}  // namespace

Result<PartitionDrop> make_partition_drop(const KeyedReads& reads, const Partition& partition) {
    PartitionDrop drop;
    ExpiredRows rows{reads, partition, drop.changes};
    PERFLEET_TRY(unless_damaged(reads.visit_partition_batches(
        partition, [&](const BatchKey& key, const BatchRecord& batch) { rows.add(key, batch); })));
    drop.row_count = PERFLEET_TRY(rows.finish());
    auto sessions = PERFLEET_TRY(reads.session_names(partition));
    for (const SessionName& session : sessions) {
        drop.changes.changes.deletes.push_back(session_partition_key(session.target, session.session, partition));
    }
    drop.changes.put(dropped_key(partition), encode_record(0));
    return drop;
}

std::vector<KeyRange> ranges_of(std::span<const Partition> partitions) {
    std::vector<Partition> ordered{partitions.begin(), partitions.end()};
    std::sort(ordered.begin(), ordered.end());
    std::vector<KeyRange> ranges;
    for (std::size_t i = 0; i < ordered.size(); ++i) {
        if (i != 0 && are_neighbours(ordered[i - 1], ordered[i])) {
            ranges.back().end = partition_range(ordered[i]).end;
        } else {
            ranges.push_back(partition_range(ordered[i]));
        }
    }
    return ranges;
}

}  // namespace perfleet
