#include "storage/compact/compactor.h"

#include <algorithm>
#include <map>

#include "storage/engine/damaged_reads.h"
#include "storage/limits/store_limits.h"
#include "storage/model/record.h"

namespace perfleet {
namespace {

// Compacting a block that is more than half full saves little and costs a whole rewrite.
constexpr std::uint32_t kSmallBlockRowsMax = limits::kBlockRowsMax / 2;

}  // namespace

Result<Compactor::Outcome> Compactor::compact_partition() {
    const auto sessions = PERFLEET_TRY(reads_->session_names(partition_));
    Outcome outcome = Outcome::kDone;
    for (const SessionName& session : sessions) {
        auto compacted = compact_session(session);
        if (!compacted.ok() || *compacted == Outcome::kStopped || *compacted == Outcome::kOvertaken) {
            return compacted;
        }
        outcome = *compacted == Outcome::kLeftover ? Outcome::kLeftover : outcome;
    }
    return outcome;
}

Result<Compactor::Outcome> Compactor::compact_session(const SessionName& session) {
    auto watermark = reads_->watermark(session.target, session.session);
    if (!watermark.ok()) {
        return is_damage(watermark.error()) ? Result<Outcome>{Outcome::kLeftover} : watermark.error();
    }
    Seq next{0};
    bool has_leftover = false;
    for (;;) {
        auto segment = PERFLEET_TRY(read_segment(session, *watermark, next, has_leftover));
        if (segment.batches.empty()) {
            return has_leftover ? Outcome::kLeftover : Outcome::kDone;
        }
        if (segment.batches.size() == 1) {
            continue;
        }
        auto compacted = PERFLEET_TRY(compact_segment(session, segment));
        if (!compacted) {
            return steps_.ended();
        }
    }
}

// Reads from `next` on, and moves `next` past the last batch that was read.
Result<Compactor::Segment> Compactor::read_segment(const SessionName& session, Seq watermark, Seq& next,
                                                   bool& has_leftover) const {
    Segment segment;
    bool is_broken = false;  // a gap, a list or a damaged record follows the segment's last batch
    ReadableCursor at = undamaged(session_batches_range(partition_, session.target, session.session, next));
    for (;;) {
        const auto step = PERFLEET_TRY(at.next());
        if (step == CursorStep::kEnd || segment.batches.size() == limits::kCompactedBatchesMax ||
            (is_broken && !segment.batches.empty())) {
            break;
        }
        is_broken = true;
        const auto name = step == CursorStep::kItem ? decode_partition_batch_key(at.key()) : Error{};
        if (!name.ok()) {
            continue;
        }
        if (name->key.seq > watermark || name->key.seq.value == ~0ULL) {
            has_leftover = true;
            break;
        }
        next = Seq{name->key.seq.value + 1};
        if (is_batch_list_untrusted(at.value())) {
            continue;
        }
        auto records = decode_batches_untrusted(at.value(), name->key.seq, partition_.bucket);
        if (records.ok()) {
            is_broken = false;
            segment.batches.push_back(std::move(records->front()));
            segment.size_bytes += at.key().size() + at.value().size();
        }
    }
    return segment;
}

// Returns false if compaction must stop.
Result<bool> Compactor::compact_segment(const SessionName& session, const Segment& segment) {
    std::map<Series, std::vector<Named>> series;
    for (const BatchRecord& batch : segment.batches) {
        for (const BatchRecord::Rows& rows : batch.rows) {
            series[rows.series].push_back({batch.seq, batch.epoch, rows.row_count});
        }
    }
    for (const auto& [one, named] : series) {
        auto compacted = compact_series(session, one, named);
        if (!compacted.ok() || !*compacted) {
            return compacted;
        }
    }
    const std::string list = encode_batch_list(segment.batches);
    const Seq last = segment.batches.back().seq;
    const auto back = decode_batches_untrusted(list, last, partition_.bucket);
    if (!back.ok() || *back != segment.batches) {
        return true;  // the list doesn't decode to the same batches: the single records stay
    }
    Changes changes;
    const auto key_of = [&](Seq seq) {
        return partition_batch_key(partition_, {session.target, session.session, seq});
    };
    changes.puts.push_back({key_of(last), list});
    for (std::size_t i = 0; i + 1 < segment.batches.size(); ++i) {
        changes.deletes.push_back(key_of(segment.batches[i].seq));
    }
    return steps_.write(changes, {partition_, 0, segment.batches.size(), segment.size_bytes},
                        &CompactionStep::size_bytes_out);
}

Result<bool> Compactor::compact_series(const SessionName& session, Series series, const std::vector<Named>& named) {
    Seq next = named.front().seq;
    while (next <= named.back().seq) {
        blocks_.clear();
        auto run = PERFLEET_TRY(read_run(session, series, named, next));
        if (blocks_.block_count() < 2) {
            continue;
        }
        const auto block = blocks_.finish();
        if (!block) {
            continue;
        }
        Changes changes;
        changes.puts.push_back({run.keys.front(), *block});
        changes.deletes.assign(run.keys.begin() + 1, run.keys.end());
        auto written =
            steps_.write(changes, {partition_, run.keys.size(), 0, run.size_bytes}, &CompactionStep::size_bytes_out);
        if (!written.ok() || !*written) {
            return written;
        }
    }
    return true;
}

// The blocks from `next` on that fit into one compacted block: consecutive batches of the series, without a missing,
// damaged or large block between them. Moves `next` past the last block that was examined.
Result<Compactor::Run> Compactor::read_run(const SessionName& session, Series series, const std::vector<Named>& named,
                                           Seq& next) {
    Run run;
    bool is_broken = false;
    KeyRange range = series_blocks_range(partition_, session.target, session.session, series, next);
    range.end = block_key({partition_, session.target, session.session, series, named.back().seq}) + '\0';
    auto expected =
        std::lower_bound(named.begin(), named.end(), next, [](const Named& one, Seq seq) { return one.seq < seq; });
    next = Seq{named.back().seq.value + 1};
    ReadableCursor at = undamaged(range);
    for (;;) {
        const auto step = PERFLEET_TRY(at.next());
        if (step == CursorStep::kEnd) {
            break;
        }
        if (step == CursorStep::kGap) {
            is_broken = true;
            continue;
        }
        const auto name = decode_block_key(at.key());
        is_broken = is_broken || !name.ok();
        for (; name.ok() && expected != named.end() && expected->seq < name->first_seq; ++expected) {
            is_broken = true;  // its block is missing
        }
        if (is_broken && !run.keys.empty()) {
            next = name.ok() ? name->first_seq : Seq{expected == named.end() ? next.value : expected->seq.value};
            break;
        }
        is_broken = true;
        if (!name.ok() || expected == named.end() || expected->seq != name->first_seq) {
            continue;  // no batch names it
        }
        const Named& batch = *expected++;
        const auto block = parse_block_untrusted(at.value());
        if (!block.ok() || block->header.series != series || block->header.epoch != batch.epoch ||
            block->header.first_seq != batch.seq || block->header.row_count != batch.row_count ||
            block->header.row_count > kSmallBlockRowsMax) {
            continue;
        }
        const BlockCompactor::Outcome outcome = blocks_.take(*block, at.value().size());
        if (outcome == BlockCompactor::Outcome::kNoRoom) {
            next = batch.seq;
            break;
        }
        if (outcome == BlockCompactor::Outcome::kTaken) {
            is_broken = false;
            run.keys.emplace_back(at.key());
            run.size_bytes += at.key().size() + at.value().size();
        }
    }
    return run;
}

}  // namespace perfleet
