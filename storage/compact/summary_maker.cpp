#include "storage/compact/summary_maker.h"

#include <array>
#include <string>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/engine/damaged_reads.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kBlocksAStep = 16;  // blocks read before other work gets a turn
constexpr std::array kMeanings{Kind::kString, Kind::kImage, Kind::kStack, Kind::kTask};

}  // namespace

Result<PartitionMaker::Outcome> SummaryMaker::make_summaries() {
    return for_each_session([this](const SessionName& session) {
        days_.clear();
        return make_day(session);
    });
}

Result<bool> SummaryMaker::make_day(const SessionName& session) {
    const std::uint32_t first = day_of(partition_.bucket) * static_cast<std::uint32_t>(kHoursPerDay);
    const auto hours =
        PERFLEET_TRY(reads_->session_partitions(session.target, session.session, BucketNumber{first},
                                                BucketNumber{first + static_cast<std::uint32_t>(kHoursPerDay) - 1}));
    if (hours.empty() || hours.back() != partition_ || hours.size() < policy_.hours_min) {
        return true;
    }
    for (const Partition& hour : hours) {
        auto added = add_partition(session, hour);
        if (!added.ok() || !*added) {
            return added;
        }
    }
    return finish_all(session);
}

Result<bool> SummaryMaker::add_partition(const SessionName& session, const Partition& partition) {
    const SessionBatches hour = PERFLEET_TRY(read_session_batches(*reads_, partition, session));
    for (const auto& [epoch, batches] : hour.epochs) {
        if (!hour.is_whole || batches.meaning.seqs.size() > limits::kCoverRangesMax) {
            continue;
        }
        auto added = add_epoch({session, partition, epoch}, batches);
        if (!added.ok() || !*added) {
            return added;
        }
    }
    return steps_.report({.partition = partition_});
}

Result<bool> SummaryMaker::add_epoch(const EpochPlace& place, const EpochBatches& batches) {
    std::optional<Meaning> meaning;  // read at first use
    for (const auto& [series, rows] : batches.series) {
        if (!traits_of(series.kind).has_call_chain) {
            continue;
        }
        const auto [day, is_new] = days_.try_emplace(series);
        if (is_new) {
            day->second.is_made = PERFLEET_TRY(is_made(place.session, series));
        }
        if (day->second.is_made) {
            continue;
        }
        if (!meaning) {
            meaning = PERFLEET_TRY(read_meaning(place, batches.meaning.row_count));
        }
        if (!meaning) {
            return true;  // without its definitions no row of the epoch can be resolved
        }
        day->second.has_begun = false;
        auto added = add_series({place, batches, *meaning}, series, day->second);
        if (!added.ok() || !*added) {
            return added;
        }
    }
    return true;
}

Result<bool> SummaryMaker::add_series(const Hour& hour, Series series, SeriesDay& day) {
    const std::vector<BatchRows>& batches = hour.batches.series.at(series);
    DecodedRows rows;
    std::size_t next = 0;  // earlier batches are added, or can't be
    std::uint32_t block_count = 0;
    EpochBlockCursor blocks = epoch_blocks(hour.place, series);
    while (const BlockView* const block = PERFLEET_TRY(blocks.next())) {
        auto room = make_room(hour, series, day);
        if (!room.ok() || !*room) {
            return room;
        }
        const std::vector<BatchPart> parts = parts_of(*block, batches, next);
        if (!parts.empty() && rows.decode(*block, DaySums::kColumns).ok()) {
            for (const auto& [index, first, last] : parts) {
                if (!day.sums.add_rows(rows, first, last, batches[index].seq, index != 0 && index == next)) {
                    return true;
                }
                next = index + 1;
            }
        }
        if (++block_count % kBlocksAStep == 0) {
            blocks.reopen();
            if (!steps_.report({.partition = partition_})) {
                return false;
            }
        }
    }
    return true;
}

// Bounds the memory of all unfinished summaries together.
Result<bool> SummaryMaker::make_room(const Hour& hour, Series series, SeriesDay& day) {
    const DaySums& sums = day.sums;
    const std::size_t more_stacks = day.has_begun ? 0 : hour.meaning.dictionary.stack_count();
    const std::size_t more_images = day.has_begun ? 0 : hour.meaning.dictionary.image_count();
    const bool has_room =
        sums.sum_count() <= policy_.sums_max && sums.node_count() + more_stacks <= limits::kStackNodesMax &&
        sums.image_count() + more_images < limits::kImagesMax && sums.hour_count() < limits::kSummaryHoursMax &&
        sums.range_count() + limits::kCompactedPartsMax <= limits::kCoverRangesMax &&
        sums.size_bytes_max() <= limits::kSummarySizeBytesMax;
    std::size_t size_bytes = 0;
    for (const auto& [other, one] : days_) {
        size_bytes += one.sums.size_bytes_max();
    }
    auto finished = size_bytes > 4 * limits::kSummarySizeBytesMax ? finish_all(hour.place.session)
                    : has_room                                    ? Result<bool>{true}
                                                                  : finish(hour.place.session, series, day);
    if (finished.ok() && *finished && !std::exchange(day.has_begun, true)) {
        day.sums.begin({hour.place.partition, hour.batches.meaning, hour.meaning.dictionary, hour.meaning.names});
    }
    return finished;
}

Result<bool> SummaryMaker::finish_all(const SessionName& session) {
    for (auto& [series, day] : days_) {
        if (auto finished = finish(session, series, day); !finished.ok() || !*finished) {
            return finished;
        }
    }
    return true;
}

Result<bool> SummaryMaker::finish(const SessionName& session, Series series, SeriesDay& day) {
    DaySums& sums = day.sums;
    const bool is_worth_it = sums.hour_count() >= policy_.hours_min &&
                             std::uint64_t{policy_.saving} * sums.sum_count() <= sums.hour_sum_count() &&
                             sums.sum_count() <= limits::kSummaryTableRowsMax;
    std::string key;
    std::string value;
    std::uint64_t row_count = 0;
    if (is_worth_it) {
        const DaySummary summary = sums.summary();
        key = summary_key(
            {partition_, session.target, session.session, series, summary.hours.front().rows.seqs.front().first});
        value = encode_summary(summary);
        row_count = summary.row_count;
    }
    sums.clear();
    day.has_begun = false;
    if (!is_worth_it || value.size() > 2 * limits::kSummarySizeBytesMax) {
        return true;
    }
    Changes changes;
    changes.puts.push_back({key, value});
    return steps_.write(changes, {.partition = partition_, .summaries = 1, .summary_rows = row_count},
                        &CompactionStep::summary_bytes);
}

Result<std::optional<SummaryMaker::Meaning>> SummaryMaker::read_meaning(const EpochPlace& place,
                                                                        std::uint64_t row_count) const {
    Meaning meaning;
    DecodedRows rows;
    const auto add = [&](const BlockView& block) {
        if (block.header.series.kind != Kind::kTask) {
            return meaning.dictionary.add(block).ok();
        }
        const bool is_decoded = rows.decode(block, ThreadNames::kColumns).ok();
        if (is_decoded) {
            meaning.names.add(rows);
        }
        return is_decoded;
    };
    auto is_whole = PERFLEET_TRY(read_whole(place, kMeanings, row_count, add));
    if (!is_whole || !meaning.dictionary.finish().ok()) {
        return std::optional<Meaning>{};
    }
    meaning.names.finish(meaning.dictionary);
    return std::optional{std::move(meaning)};
}

Result<bool> SummaryMaker::is_made(const SessionName& session, Series series) const {
    return undamaged(series_summaries_range(partition_, session.target, session.session, series)).next_item();
}

}  // namespace perfleet
