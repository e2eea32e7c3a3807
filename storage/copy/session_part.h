// What one session has in one partition: the unit in which stores are copied and compared.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

struct SessionPart {
    Partition partition;
    SessionName session;

    // The same in a store with so many shards.
    [[nodiscard]] SessionPart in(ShardCount shards) const {
        return {partition_of(session.target, partition.bucket, partition.retention_class, shards), session};
    }

    friend constexpr auto operator<=>(const SessionPart&, const SessionPart&) = default;
};

// Its batches, as far as they can be read.
struct PartBatches {
    std::map<Seq, std::uint32_t> seals;
    std::map<Series, std::uint64_t> rows;
    std::string damage;  // of records; empty: none

    [[nodiscard]] std::uint64_t row_count() const;  // without definitions
};

[[nodiscard]] Result<PartBatches> read_part(const KeyedReads& reads, const SessionPart& part);

// What of `from` belongs into a store that has `to` of the same part.
enum class PartVerdict : std::uint8_t {
    kPresent,      // all of it is there
    kMissing,      // none is: what is there (of other seqs) stays beside it
    kReplaces,     // some is there, and nothing else
    kInterleaves,  // each has what the other hasn't, and their seqs lie between each other
    kConflict,     // the same seq has another seal
};
[[nodiscard]] PartVerdict judge_part(const PartBatches& from, const PartBatches& to);

struct PartCopy {
    std::uint64_t size_bytes = 0;
    std::uint64_t row_count_left_out = 0;  // of batches that were copied; without definitions
    std::string damage;                    // the first that could not be read, and was left out; empty: none
};

// Bytes are copied as they are, under the keys of the part there, but rows of blocks that can't be read are taken out
// of their batches' records: the copy is sound, and its ledger counts them as lost. The records come last, in one
// write, so that rows are seen whole or not at all. With `is_alone` everything else that is there goes: records first,
// which hides the rows; blocks, which an interruption may have left, too, last. Errors: those of the engines, damage
// excepted.
[[nodiscard]] Result<PartCopy> copy_part(const Engine& from, Engine& to, const SessionPart& part,
                                         const SessionPart& part_there, bool is_alone);

// As copy_part, of one that interleaves: what either has, batch by batch, for a compacted block or a list of records
// would reach over those of the other. In one write. Errors: also kCorrupt, where `to` has something that can't be
// read: then nothing is changed.
[[nodiscard]] Result<PartCopy> merge_part(const Engine& from, Engine& to, const SessionPart& part,
                                          const SessionPart& part_there);

// Over all keys, but for their shards, and values. Errors: also damage.
[[nodiscard]] Result<std::uint32_t> checksum_of_part(const Engine& engine, const SessionPart& part);

}  // namespace perfleet
