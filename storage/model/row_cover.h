// The rows that a summary or a map stands for. Byte layout: storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/ids.h"
#include "storage/model/record_bytes.h"

namespace perfleet {

// Rows of one series in an epoch: those of all batches with these seqs.
struct RowCover {
    EpochNumber epoch;
    std::uint64_t row_count = 0;
    std::vector<SeqRange> seqs;  // ascending

    // Adds a seq greater than all before. `is_next`: no batch that isn't covered lies between it and the last one.
    void add_seq(Seq seq, bool is_next);

    friend bool operator==(const RowCover&, const RowCover&) = default;
};

void write_cover(RecordWriter& writer, EpochNumber epoch, std::uint64_t row_count, std::span<const SeqRange> seqs);
[[nodiscard]] RowCover read_cover(RecordReader& reader);

}  // namespace perfleet
