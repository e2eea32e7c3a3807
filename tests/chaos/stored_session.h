// Everything that a scan of the store returns for one session: every batch record, every row of every block.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet::chaos {

struct StoredSession {
    struct Block {
        Partition partition;
        Series series;
        Seq first_seq;
        Seq last_seq;
        std::vector<std::uint64_t> values;  // of the column that numbers a source's rows, in the order of the rows
        bool was_compacted = false;         // is in one block with others
    };

    TargetId target;
    SessionId session;
    std::optional<SessionEnd> end;
    Seq watermark;
    std::vector<BatchRecord> batches;  // by partition, then seq
    std::vector<Block> blocks;
    std::map<Series, std::uint64_t> expired;
};

// The column in which a chaos_source numbers the rows of this kind; of tracepoints, which perfleet-collector takes, the
// one with the call's first argument; of other kinds, any.
[[nodiscard]] ColumnId value_column(Kind kind);

// All sessions of the store. Errors: those of reading, blocks included.
[[nodiscard]] Result<std::vector<StoredSession>> scan_store(const StoreReader& store);

}  // namespace perfleet::chaos
