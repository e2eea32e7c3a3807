#include "storage/model/row_cover.h"

#include <string>

#include "storage/limits/store_limits.h"

namespace perfleet {

void RowCover::add_seq(Seq seq, bool is_next) {
    if (is_next && !seqs.empty()) {
        seqs.back().last = seq;
    } else {
        seqs.push_back({seq, seq});
    }
}

void write_cover(RecordWriter& writer, EpochNumber epoch, std::uint64_t row_count, std::span<const SeqRange> seqs) {
    writer.fields(epoch, row_count);
    std::uint64_t next = 0;
    writer.list(seqs, [&](const SeqRange& range) {
        writer.varint(range.first.value - next);
        writer.varint(range.last.value - range.first.value);
        next = range.last.value + 1;
    });
}

RowCover read_cover(RecordReader& reader) {
    RowCover cover;
    reader.fields(cover.epoch, cover.row_count);
    std::uint64_t next = 0;
    reader.list(cover.seqs, [&](SeqRange& range) {
        if (cover.seqs.size() >= limits::kCoverRangesMax) {
            reader.fail(ErrorCode::kTooLarge, "more than " + std::to_string(limits::kCoverRangesMax) + " seq ranges");
            return;
        }
        const std::uint64_t gap = reader.varint();
        const std::uint64_t span = reader.varint();
        if (gap > ~0ULL - next || span >= ~0ULL - (next + gap)) {
            reader.fail(ErrorCode::kInvalid, "seqs beyond the last");
            return;
        }
        range.first = Seq{next + gap};
        range.last = Seq{next + gap + span};
        next = range.last.value + 1;
    });
    return cover;
}

}  // namespace perfleet
