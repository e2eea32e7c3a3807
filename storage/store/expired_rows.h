// The rows of batches that are about to be deleted, as counts of what expired; of one partition.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "storage/engine/owned_changes.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

class ExpiredRows {
public:
    // All are borrowed. The changes get the counts, and the batches above their session's watermark: those may be sent
    // again, and must not be counted again.
    ExpiredRows(const KeyedReads& reads, const Partition& partition, OwnedChanges& changes)
        : reads_{&reads}, partition_{partition}, changes_{&changes} {}

    void add(const BatchKey& key, const BatchRecord& batch);

    // Once, after the last batch. Gives all rows, definitions left out. Counted again, after an interruption, they are
    // as many as before, or fewer where something is damaged by now: the greater count stays. Errors: of reads.
    [[nodiscard]] Result<std::uint64_t> finish();

private:
    const KeyedReads* reads_;
    Partition partition_;
    OwnedChanges* changes_;
    std::map<std::tuple<TargetId, SessionId, Series>, std::uint64_t> rows_;
    std::map<std::pair<TargetId, SessionId>, Seq> watermarks_;
    std::optional<Error> error_;
};

}  // namespace perfleet
