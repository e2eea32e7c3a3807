// Decides for each batch of a put: stored, duplicate, conflict or expired.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schemas/vocabulary/non_copyable.h"
#include "storage/engine/owned_changes.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/known_seqs.h"
#include "storage/store/writer.h"

namespace perfleet {

// One call of put: judges batch after batch and gathers the changes to write. Unless keep() is called, its changes of
// KnownSeqs are undone.
class PutCall : NonCopyable {
public:
    PutCall(const KeyedReads& reads, KnownSeqs& known, const Partition& partition, bool is_dropped)
        : reads_{&reads}, known_{&known}, partition_{partition}, is_dropped_{is_dropped} {}
    ~PutCall();

    // Errors: as Store::put.
    [[nodiscard]] Result<PutOutcome> judge(const AdmittedBatch& batch);

    // The sessions of batches to be stored.
    [[nodiscard]] const std::vector<SessionName>& stored() const { return stored_; }

    // Changes of the partition; and, for expired batches, of its shard.
    [[nodiscard]] Changes& changes() { return changes_.changes; }
    [[nodiscard]] const Changes& expired() const { return expired_.changes; }

    // Keeps the changes of KnownSeqs: they were written.
    void keep() { reported_.clear(); }

private:
    [[nodiscard]] Result<PutOutcome> judge_resolved(const AdmittedBatch& batch, const KnownSession& known);

    void add_stored(const AdmittedBatch& batch);

    void add_expired(const AdmittedBatch& batch);

    const KeyedReads* reads_;
    KnownSeqs* known_;
    Partition partition_;
    bool is_dropped_;
    OwnedChanges changes_;
    OwnedChanges expired_;
    std::vector<SessionName> stored_;
    std::vector<std::pair<KnownSession*, std::uint64_t>> reported_;
};

}  // namespace perfleet
