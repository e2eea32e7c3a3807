// One session's data in one partition: the unit in which stores are copied and compared.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

struct SessionPart {
    Partition partition;
    SessionName session;

    // The same part in a store with another number of shards.
    [[nodiscard]] SessionPart in(ShardCount shards) const {
        return {partition_of(session.target, partition.bucket, partition.retention_class, shards), session};
    }

    friend constexpr auto operator<=>(const SessionPart&, const SessionPart&) = default;
};

// The readable batches of a part.
struct PartBatches {
    std::map<Seq, std::uint32_t> seals;
    std::map<Series, std::uint64_t> rows;
    std::string damage;  // of records; empty: none

    [[nodiscard]] std::uint64_t row_count() const;  // without definitions
};

[[nodiscard]] Result<PartBatches> read_part(const KeyedReads& reads, const SessionPart& part);

// How a part of `from` relates to the same part of `to`.
enum class PartVerdict : std::uint8_t {
    kPresent,      // `to` has all of it
    kMissing,      // `to` has none of it; its batches with other seqs stay
    kReplaces,     // `to` has some of it, and nothing else
    kInterleaves,  // each has batches that the other lacks, and their seqs interleave
    kConflict,     // the same seq has different seals
};
[[nodiscard]] PartVerdict judge_part(const PartBatches& from, const PartBatches& to);

struct PartCopy {
    std::uint64_t size_bytes = 0;
    std::uint64_t row_count_left_out = 0;  // of copied batches; without definitions
    std::string damage;                    // first unreadable value, which was left out; empty: none
};

// Copies bytes unchanged, under the keys of `part_there`. Rows of unreadable blocks are removed from their batches'
// records: the copy is sound, and its ledger counts them as lost. Records are written last, in one write, so that rows
// become visible all at once. With `is_alone` everything else in `part_there` is deleted: records first, which hides
// the rows, then blocks, including those of an interrupted copy. Errors: those of the engines, except damage.
[[nodiscard]] Result<PartCopy> copy_part(const Engine& from, Engine& to, const SessionPart& part,
                                         const SessionPart& part_there, bool is_alone);

// As copy_part, for parts that interleave: splits the compacted blocks and records of both into those of single
// batches, because a compacted one would span seqs of the other part. In one write. Errors: also kCorrupt (`to` has
// something unreadable; then nothing is changed).
[[nodiscard]] Result<PartCopy> merge_part(const Engine& from, Engine& to, const SessionPart& part,
                                          const SessionPart& part_there);

// Over all keys, without their shards, and values. Errors: also damage.
[[nodiscard]] Result<std::uint32_t> checksum_of_part(const Engine& engine, const SessionPart& part);

}  // namespace perfleet
