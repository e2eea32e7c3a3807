#include "tests/benchmark/crowd/stored_check.h"

#include <vector>

#include "storage/store/open_store.h"

namespace perfleet {
namespace {

struct StoredTarget {
    std::uint64_t batch_count = 0;
    std::uint64_t row_count = 0;
    bool is_exact = true;
};

// Batches come in the order of seq.
void count(StoredTarget& stored, const BatchRecord& record) {
    ++stored.batch_count;
    for (const BatchRecord::Rows& series : record.rows) {
        stored.row_count += series.series == kCrowdSamples ? series.row_count : 0;
    }
    bool is_produced_right = false;
    for (const CountEntry& entry : record.counts) {
        is_produced_right = is_produced_right || (entry.series == kCrowdSamples && entry.name == CountName::kProduced &&
                                                  entry.value == stored.row_count);
    }
    stored.is_exact = stored.is_exact && record.seq.value == stored.batch_count && is_produced_right;
}

}  // namespace

std::string StoredCrowd::json() const {
    return "{\"batches\":" + std::to_string(batches) + ",\"rows\":" + std::to_string(rows) +
           ",\"targets_wrong\":" + std::to_string(targets_wrong) + "}";
}

Result<StoredCrowd> check_stored_crowd(const std::string& data_folder, const CrowdPlan& plan) {
    const auto store = PERFLEET_TRY(open_store_reader(data_folder));
    const auto partitions = PERFLEET_TRY(store->partitions());
    StoredCrowd all;
    for (std::uint64_t number = plan.first; number < plan.first + plan.target_count; ++number) {
        const TargetId target = crowd_target(number);
        const SessionId session = crowd_session(number);
        StoredTarget stored;
        for (const Partition& partition : partitions) {
            if (partition.shard != partition_of(target, partition.bucket).shard) {
                continue;
            }
            const auto visited = store->visit_batches(partition, target, session, [&](const BatchRecord& record) {
                count(stored, record);
                return Visit::kContinue;
            });
            if (!visited.ok()) {
                return visited.error();
            }
        }
        const auto end = PERFLEET_TRY(store->session_end(target, session));
        const bool is_right = stored.is_exact && stored.batch_count == plan.batch_count() &&
                              stored.row_count == plan.batch_count() * plan.row_count && end.has_value();
        all.targets_wrong += is_right ? 0 : 1;
        all.batches += stored.batch_count;
        all.rows += stored.row_count;
    }
    return all;
}

}  // namespace perfleet
