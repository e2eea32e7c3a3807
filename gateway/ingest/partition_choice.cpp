#include "gateway/ingest/partition_choice.h"

#include <algorithm>

#include "gateway/admission/intake_limits.h"

namespace perfleet {

Result<Partition> choose_partition(Session& session, BucketNumber bucket, const Store& store,
                                   const RetentionClassOf& class_of) {
    std::vector<Partition>& chosen = session.chosen;
    const auto known = std::find_if(chosen.begin(), chosen.end(),
                                    [&](const Partition& partition) { return partition.bucket == bucket; });
    if (known != chosen.end()) {
        return *known;
    }
    const SessionRecord& record = session.record;
    auto stored = store.retention_class(record.target, record.session, bucket);
    if (!stored && stored.error().code != ErrorCode::kCorrupt) {
        return std::move(stored).error();
    }
    const std::uint8_t by_rules = class_of ? class_of(record) : std::uint8_t{0};
    const Partition partition =
        partition_of(record.target, bucket, stored ? stored->value_or(by_rules) : by_rules, store.shards());
    if (chosen.size() >= intake_limits::kPartitionsRememberedMax) {
        chosen.erase(chosen.begin());
    }
    chosen.push_back(partition);
    return partition;
}

}  // namespace perfleet
