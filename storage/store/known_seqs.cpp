#include "storage/store/known_seqs.h"

#include "schemas/wire/delivery_limits.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

// Counting visits every session, so it is rare; a call adds at most one batch group.
constexpr std::uint64_t kCallsBetweenCounts = 1024;

}  // namespace

Result<KnownSession*> KnownSeqs::session(TargetId target, SessionId session) {
    const std::pair name{target, session};
    if (const auto found = sessions_.find(name); found != sessions_.end()) {
        return &found->second;
    }
    KnownSession known;
    known.watermark = PERFLEET_TRY(reads_->watermark(target, session));
    const auto note = PERFLEET_TRY(unless_damaged(reads_->session_note({target, session})));
    known.is_removed = note && note->is_removed;
    auto partitions = PERFLEET_TRY(reads_->session_partitions(target, session));
    known.partitions.insert(partitions.begin(), partitions.end());
    if (known.watermark.value != ~0ULL) {
        const Seq first{known.watermark.value + 1};
        for (const Partition& partition : known.partitions) {
            auto visited = reads_->visit_batches(partition, target, session, first, [&](const BatchRecord& batch) {
                known.seals.emplace(batch.seq.value, batch.seal);
                return Visit::kContinue;
            });
            // A batch with a damaged record is stored again if it is sent again.
            PERFLEET_TRY(unless_damaged(std::move(visited)));
        }
        auto expired = PERFLEET_TRY(reads_->expired_batch_seals(target, session, first));
        for (const auto& [seq, seal] : expired) {
            known.seals.emplace(seq.value, seal);
        }
    }
    return &sessions_.emplace(name, std::move(known)).first->second;
}

void KnownSeqs::make_room() {
    if (sessions_.size() >= limits::kGatewaySessionsMax) {
        sessions_.clear();
    }
    if (++calls_ % kCallsBetweenCounts != 0) {
        return;
    }
    std::size_t seq_count = 0;
    for (const auto& [name, known] : sessions_) {
        seq_count += known.seals.size();
    }
    if (seq_count >= limits::kStoreSeqsTotalMax) {
        sessions_.clear();
    }
}

void KnownSeqs::forget_partition(const Partition& partition) {
    for (auto& [name, known] : sessions_) {
        known.partitions.erase(partition);
        known.defined.erase(partition);
    }
}

}  // namespace perfleet
