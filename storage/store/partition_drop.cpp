#include "storage/store/partition_drop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "storage/store/record.h"

namespace perfleet {
namespace {

bool are_neighbours(const Partition& a, const Partition& b) {
    return a.bucket == b.bucket && a.retention_class == b.retention_class && a.shard + 1 == b.shard;
}

}  // namespace

Result<PartitionDrop> make_partition_drop(const KeyedReads& reads, const Partition& partition) {
    PartitionDrop drop;
    std::map<std::tuple<TargetId, SessionId, Series>, std::uint64_t> rows;
    std::map<std::pair<TargetId, SessionId>, Seq> watermarks;
    std::optional<Error> error;
    auto visited = reads.visit_partition_batches(partition, [&](const BatchKey& key, const BatchRecord& batch) {
        for (const BatchRecord::Rows& series : batch.rows) {
            rows[{key.target, key.session, series.series}] += series.row_count;
        }
        auto [at, is_new] = watermarks.try_emplace({key.target, key.session});
        if (is_new) {
            auto watermark = reads.watermark(key.target, key.session);
            if (!watermark.ok() && !is_damage(watermark.error())) {
                error = watermark.error();
                return;
            }
            at->second = watermark.ok() ? *watermark : Seq{0};
        }
        if (key.seq > at->second) {  // may be sent again: remembered, so that it isn't counted again
            drop.changes.put(expired_batch_key(key), encode_record(ExpiredBatch{batch.seal, {}}));
        }
    });
    if (error) {
        return *error;
    }
    if (!visited.ok() && !is_damage(visited.error())) {
        return visited.error();
    }
    for (const auto& [name, row_count] : rows) {
        const auto& [target, session, series] = name;
        drop.changes.put(expired_key(target, session, series, partition), encode_record(row_count));
        drop.row_count += is_definition(series.kind) ? 0 : row_count;
    }
    auto sessions = reads.sessions(partition);
    if (!sessions.ok()) {
        return sessions.error();
    }
    for (const SessionRecord& session : *sessions) {
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
