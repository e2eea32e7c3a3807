#include "storage/compact/day_maker.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/day_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/engine/damaged_reads.h"
#include "storage/model/rollup_cover.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

constexpr std::array kMeanings{Kind::kString, Kind::kImage, Kind::kStack, Kind::kTask};

}  // namespace

Result<PartitionMaker::Outcome> DayMaker::make_days() {
    return for_each_session([this](const SessionName& session) {
        days_.clear();
        return make_day(session);
    });
}

Result<bool> DayMaker::make_day(const SessionName& session) {
    const std::uint32_t first = day_of(partition_.bucket) * static_cast<std::uint32_t>(kHoursPerDay);
    const auto hours =
        PERFLEET_TRY(reads_->session_partitions(session.target, session.session, BucketNumber{first},
                                                BucketNumber{first + static_cast<std::uint32_t>(kHoursPerDay) - 1}));
    if (hours.empty() || hours.back() != partition_ || hours.size() < policy_.day_hours_min) {
        return true;
    }
    for (const Partition& hour : hours) {
        auto added = add_hour(session, hour);
        if (!added.ok() || !*added) {
            return added;
        }
    }
    return finish_all(session);
}

Result<bool> DayMaker::add_hour(const SessionName& session, const Partition& partition) {
    SessionBatches hour = PERFLEET_TRY(read_session_batches(*reads_, partition, session));
    for (auto& [epoch, batches] : hour.epochs) {
        std::optional<Meaning> meaning;
        if (!hour.is_whole || batches.meaning.seqs.size() > limits::kRollupSeqRangesMax) {
            continue;
        }
        for (const auto& [series, named] : batches.series) {
            if (!traits_of(series.kind).has_call_chain) {
                continue;
            }
            auto added = add_series({session, partition, epoch}, series, batches, meaning);
            if (!added.ok() || !*added) {
                return added;
            }
        }
    }
    return steps_.report({.partition = partition_});
}

Result<bool> DayMaker::add_series(const EpochPlace& place, Series series, EpochBatches& batches,
                                  std::optional<Meaning>& meaning) {
    const auto [day, is_new] = days_.try_emplace(series);
    if (is_new) {
        day->second.is_made = PERFLEET_TRY(is_made(place.session, series));
    }
    if (day->second.is_made) {
        return true;
    }
    day->second.has_begun = false;
    ReadableCursor rollups =
        undamaged(series_rollups_range(place.partition, place.session.target, place.session.session, series,
                                       {RollupContent::kStacks, RollupLevel::kHour}));
    while (PERFLEET_TRY(rollups.next_item())) {
        const std::optional<Rollup> rollup = uncovered_rollup(rollups.value(), place.epoch, batches.series.at(series));
        if (!rollup) {
            continue;
        }
        auto room = PERFLEET_TRY(make_room(place, series, rollup->seqs.size(), batches, meaning));
        if (room != Room::kReady) {
            return room != Room::kEnded;
        }
        static_cast<void>(day->second.sums.add(*rollup));
    }
    return add_rows(place, series, batches, meaning);
}

// What of an hour is too little, or too varied, for a rollup of its own.
Result<bool> DayMaker::add_rows(const EpochPlace& place, Series series, EpochBatches& batches,
                                std::optional<Meaning>& meaning) {
    std::vector<BatchRows>& named = batches.series.at(series);
    const std::uint64_t row_count = count_uncovered(named);
    if (row_count == 0 || row_count > limits::kRollupDayRowsMax) {
        return true;
    }
    auto room = make_room(place, series, std::min(named.size(), std::size_t{limits::kRollupSeqRangesMax} / 2), batches,
                          meaning);
    if (!room.ok() || *room != Room::kReady) {
        return room.ok() ? Result<bool>{*room != Room::kEnded} : room.error();
    }
    DaySums& sums = days_.at(series).sums;
    DecodedRows rows;
    std::size_t last_added = named.size();  // its index; none
    EpochBlockCursor blocks = epoch_blocks(place, series);
    while (const BlockView* const block = PERFLEET_TRY(blocks.next())) {
        const std::vector<UncoveredPart> parts = uncovered_parts(*block, named, 0);
        if (parts.empty() || !rows.decode(*block, DaySums::kColumns).ok()) {
            continue;
        }
        for (const auto& [index, first, last] : parts) {
            if (sums.range_count() >= limits::kRollupSeqRangesMax ||
                !sums.add_rows(rows, first, last, named[index].seq, index != 0 && index - 1 == last_added)) {
                return true;
            }
            named[index].is_covered = true;
            last_added = index;
        }
    }
    return true;
}

// A rollup of a day is as large as one of an hour may be; all that are under way take no more than a few.
Result<DayMaker::Room> DayMaker::make_room(const EpochPlace& place, Series series, std::size_t more_ranges,
                                           const EpochBatches& batches, std::optional<Meaning>& meaning) {
    if (!meaning) {
        auto read = PERFLEET_TRY(read_meaning(place, batches.meaning.row_count));
        if (!read.has_value()) {
            return Room::kUnreadable;
        }
        meaning = std::move(read);
    }
    SeriesDay& day = days_.at(series);
    const DaySums& sums = day.sums;
    const bool has_room = sums.sum_count() <= policy_.sums_max &&
                          sums.node_count() + meaning->dictionary.stack_count() <= limits::kStackNodesMax &&
                          sums.image_count() + meaning->dictionary.image_count() < limits::kImagesMax &&
                          sums.hour_count() < limits::kRollupDayHoursMax &&
                          sums.range_count() + more_ranges <= limits::kRollupSeqRangesMax &&
                          sums.size_bytes_max() <= limits::kRollupSizeBytesMax;
    std::size_t size_bytes = 0;
    for (const auto& [other, one] : days_) {
        size_bytes += one.sums.size_bytes_max();
    }
    auto finished = size_bytes > 4 * limits::kRollupSizeBytesMax ? finish_all(place.session)
                    : has_room                                   ? Result<bool>{true}
                                                                 : finish(place.session, series);
    if (!finished.ok() || !*finished) {
        return finished.ok() ? Result<Room>{Room::kEnded} : finished.error();
    }
    if (!std::exchange(day.has_begun, true)) {
        day.sums.begin({place.partition, batches.meaning, meaning->dictionary, meaning->names});
    }
    return Room::kReady;
}

Result<bool> DayMaker::finish_all(const SessionName& session) {
    for (auto& [series, day] : days_) {
        if (auto finished = finish(session, series); !finished.ok() || !*finished) {
            return finished;
        }
    }
    return true;
}

Result<bool> DayMaker::finish(const SessionName& session, Series series) {
    SeriesDay& made = days_.at(series);
    DaySums& sums = made.sums;
    const bool is_worth_it = sums.hour_count() >= policy_.day_hours_min &&
                             std::uint64_t{policy_.day_saving} * sums.sum_count() <= sums.hour_sum_count() &&
                             sums.sum_count() <= limits::kRollupTableRowsMax;
    std::string key;
    std::string value;
    if (is_worth_it) {
        const DayRollup day = sums.rollup();
        key = rollup_key({partition_,
                          session.target,
                          session.session,
                          series,
                          {RollupContent::kNamedStacks, RollupLevel::kDay},
                          day.hours.front().rows.seqs.front().first});
        value = encode_rollup(day);
    }
    sums.clear();
    made.has_begun = false;
    if (!is_worth_it || value.size() > 2 * limits::kRollupSizeBytesMax) {
        return true;
    }
    Changes changes;
    changes.puts.push_back({key, value});
    return steps_.write(changes, {.partition = partition_, .rollups = 1}, &CompactionStep::rollup_bytes);
}

std::optional<Rollup> DayMaker::uncovered_rollup(std::string_view bytes_untrusted, EpochNumber epoch,
                                                 std::vector<BatchRows>& named) {
    const Result<RollupCover> cover = decode_rollup_cover_untrusted(bytes_untrusted);
    if (!cover.ok() || cover->epoch != epoch) {
        return std::nullopt;
    }
    const std::vector<BatchRows*> covered = covered_by(*cover, named);
    std::uint64_t row_count = 0;
    bool is_new = true;
    for (const BatchRows* one : covered) {
        row_count += one->row_count;
        is_new = is_new && !one->is_covered;
    }
    if (row_count != cover->row_count || !is_new) {
        return std::nullopt;
    }
    auto rollup = decode_rollup_untrusted(bytes_untrusted);
    if (!rollup.ok()) {
        return std::nullopt;
    }
    std::for_each(covered.begin(), covered.end(), [](BatchRows* one) { one->is_covered = true; });
    return std::move(*rollup);
}

Result<std::optional<DayMaker::Meaning>> DayMaker::read_meaning(const EpochPlace& place,
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

Result<bool> DayMaker::is_made(const SessionName& session, Series series) const {
    return undamaged(series_rollups_range(partition_, session.target, session.session, series,
                                          {RollupContent::kNamedStacks, RollupLevel::kDay}))
        .next_item();
}

}  // namespace perfleet
