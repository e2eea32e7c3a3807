// Counts the rows of batches of one partition that are about to be deleted as expired.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "storage/engine/owned_changes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

class ExpiredRows {
public:
    // Borrows all arguments. Adds to the changes the counts and the seals of batches above their session's watermark:
    // those may be sent again, and must not be counted twice.
    ExpiredRows(const KeyedReads& reads, const Partition& partition, OwnedChanges& changes)
        : reads_{&reads}, partition_{partition}, changes_{&changes} {}

    void add(const BatchKey& key, const BatchRecord& batch);

    // Call it once, after the last batch. Returns all rows, without definitions. A repeated count after an interruption
    // is the same, or lower if something was damaged since: the greater count is kept. Errors: those of reads.
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
