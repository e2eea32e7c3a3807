#include "storage/rollup/value_rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "schemas/text/hex.h"
#include "storage/number/rank_sketch.h"
#include "storage/rollup/value_sums.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::value_rollup_test {
namespace {

constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
constexpr std::uint64_t kMinuteTicks = 60'000'000'000;

struct Row {
    std::uint64_t ticks = 0;
    std::uint64_t value = 0;
};

Moments moments_of(const std::vector<std::uint64_t>& values) {
    Moments moments;
    moments.add(values);
    return moments;
}

ValueRollup sample_rollup() {
    ValueRollup rollup;
    rollup.epoch = EpochNumber{3};
    rollup.row_count = 5;
    rollup.seqs = {{Seq{1}, Seq{5}}, {Seq{9}, Seq{9}}};
    rollup.cells = {{{-1, Ticks{0}, Ticks{50}}, Ticks{3}, Ticks{49}, moments_of({7, 1'000, 1'001, 7}), 2},
                    {{2, Ticks{60}, Ticks{~0ULL}}, Ticks{60}, Ticks{60}, moments_of({~0ULL}), 3}};
    rollup.buckets = {{7, 2}, {RankSketch::bucket_of(1'000), 2}, {RankSketch::bucket_of(~0ULL), 1}};
    return rollup;
}

std::vector<Row> random_rows(std::mt19937_64& random, std::size_t count, std::uint64_t minutes) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < count; ++i) {
        rows.push_back({random() % (minutes * kMinuteTicks), random() >> random() % 64});
    }
    return rows;
}

ClockMap nanoseconds() { return ClockMap{kNsPerSecond, {ClockPoint{Ticks{0}, UtcNs{0}, 0}}}; }

void add(ValueSums& sums, std::uint64_t seq, const std::vector<Row>& rows) {
    SampleIntegers integers;
    for (const Row& row : rows) {
        integers[ColumnId::kTime].push_back(row.ticks);
        integers[ColumnId::kValue].push_back(row.value);
    }
    const AdmittedBatch batch = SampleBatch{TargetId{1}, SessionId{1, 1}, Seq{seq}, EpochNumber{0}, BucketNumber{0}}
                                    .add(kPoints, integers)
                                    .build();
    DecodedRows decoded;
    const auto block = parse_block_untrusted(batch.series.front().block);
    ASSERT_TRUE(block.ok() && decoded.decode(*block).ok());
    sums.add_rows(decoded, 0, rows.size());
    sums.add_seq(Seq{seq}, true);
}

// Each cell, from its rows alone.
ValueRollup expected_of(const std::vector<Row>& rows, std::uint64_t cell_ticks, std::uint64_t last_seq) {
    std::map<std::uint64_t, std::vector<Row>> cells;
    for (const Row& row : rows) {
        cells[row.ticks / cell_ticks].push_back(row);
    }
    ValueRollup rollup;
    rollup.row_count = rows.size();
    rollup.seqs = {{Seq{1}, Seq{last_seq}}};
    for (const auto& [number, of_cell] : cells) {
        std::map<std::uint32_t, std::uint64_t> buckets;
        ValueRollup::Cell cell{
            {static_cast<std::int64_t>(number), Ticks{number * cell_ticks}, Ticks{(number + 1) * cell_ticks}},
            Ticks{~0ULL},
            Ticks{0},
            {},
            0};
        for (const Row& row : of_cell) {
            cell.first_ticks = std::min(cell.first_ticks, Ticks{row.ticks});
            cell.last_ticks = std::max(cell.last_ticks, Ticks{row.ticks});
            cell.moments.add(row.value);
            ++buckets[RankSketch::bucket_of(row.value)];
        }
        for (const auto& [bucket, row_count] : buckets) {
            rollup.buckets.push_back({bucket, row_count});
        }
        cell.buckets_end = static_cast<std::uint32_t>(rollup.buckets.size());
        rollup.cells.push_back(cell);
    }
    return rollup;
}

TEST(ValueRollup, IsReadAsItWasWritten) {
    const auto back = decode_value_rollup_untrusted(encode_rollup(sample_rollup()));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, sample_rollup());
    const auto cover = decode_rollup_cover_untrusted(encode_rollup(sample_rollup()));
    ASSERT_TRUE(cover.ok());
    EXPECT_EQ(cover->seqs, sample_rollup().seqs);
    EXPECT_EQ(cover->row_count, 5U);
}

TEST(ValueRollup, HasTheBytesOfTheFormat) {
    EXPECT_EQ(hex_of(encode_rollup(sample_rollup())),
              "0103050201040300"      // version, epoch, rows, two ranges of seqs
              "02"                    // cells
              "050403000205"          // their numbers
              "0203000078"            // first ticks
              "02043200dd01"          // ticks to their ends
              "0203030072"            // ticks of their first rows
              "02032e005b"            // from there to their last rows
              "0103010202"            // where their buckets end
              "020307000f"            // least values
              "01050a00e20300"        // greatest less least
              "0205df0f00bf1f"        // sums, low 64 bits
              "03020200"              // high 64 bits
              "01081501b28c1e000000"  // sums of squares, lowest 64 bits
              "0203000003"
              "03020200"
              "03020200"              // highest
              "03"                    // buckets
              "01080e0700c0bc808f03"  // their numbers
              "0103010103"            // rows
              "c88542b1");            // CRC-32C
}

TEST(ValueRollup, OfDamagedBytesGivesAnError) {
    const std::string bytes = encode_rollup(sample_rollup());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        EXPECT_FALSE(decode_value_rollup_untrusted(damaged).ok()) << at;
        EXPECT_FALSE(decode_value_rollup_untrusted(bytes.substr(0, at)).ok()) << at;
    }
}

TEST(ValueRollup, WhoseSumsContradictItIsRefused) {
    const auto refuses = [](auto change) {
        ValueRollup rollup = sample_rollup();
        change(rollup);
        return !decode_value_rollup_untrusted(encode_rollup(rollup)).ok();
    };
    EXPECT_FALSE(refuses([](ValueRollup&) {}));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.row_count = 6; }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.cells[1].number = -1; }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.cells[0].last_ticks = Ticks{50}; }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.cells[0].buckets_end = 0; }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.cells[0].moments = moments_of({7, 1'000, 1'100, 7}); }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) {
        rollup.cells[0].moments = moments_of({7, 1'001, 1'001, 1'001, 1'001});
    }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.buckets[1].row_count = 0; }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.buckets[2].number += 1; }));
    EXPECT_TRUE(refuses([](ValueRollup& rollup) { rollup.buckets[1].number = 256; }));  // no value's
}

TEST(ValueSums, AreThoseOfTheirRowsByMinuteAndHourInAnyOrder) {
    std::mt19937_64 random{3};
    const ClockMap clock = nanoseconds();
    for (int round = 0; round < 20; ++round) {
        std::vector<Row> rows = random_rows(random, 1 + random() % 900, 1 + random() % 150);
        ValueSums minutes{RollupLevel::kMinute, clock};
        add(minutes, 1, rows);
        EXPECT_EQ(minutes.rollup(EpochNumber{0}), expected_of(rows, kMinuteTicks, 1));
        EXPECT_EQ(minutes.sum_count(), minutes.rollup(EpochNumber{0}).buckets.size());

        ValueSums hours{RollupLevel::kHour, clock};
        hours.add_sums(minutes);
        EXPECT_EQ(hours.rollup(EpochNumber{0}), expected_of(rows, 60 * kMinuteTicks, 1));

        const std::string bytes = encode_rollup(minutes.rollup(EpochNumber{0}));
        EXPECT_TRUE(decode_value_rollup_untrusted(bytes).ok());
        std::shuffle(rows.begin(), rows.end(), random);
        ValueSums shuffled{RollupLevel::kMinute, clock};
        add(shuffled, 1, rows);
        EXPECT_EQ(encode_rollup(shuffled.rollup(EpochNumber{0})), bytes);
    }
}

TEST(ValueSums, MergeToTheSameBytesInAnyOrder) {
    std::mt19937_64 random{4};
    const ClockMap clock = nanoseconds();
    std::vector<ValueSums> parts;
    for (std::uint64_t seq = 1; seq <= 6; ++seq) {
        parts.emplace_back(RollupLevel::kMinute, clock);
        add(parts.back(), 1, random_rows(random, 200, 90));
    }
    const auto merged = [&] {
        ValueSums hours{RollupLevel::kHour, clock};
        for (const ValueSums& part : parts) {
            hours.add_sums(part);
        }
        ValueRollup rollup = hours.rollup(EpochNumber{0});
        rollup.seqs = {{Seq{1}, Seq{1}}};
        return encode_rollup(rollup);
    };
    const std::string bytes = merged();
    std::reverse(parts.begin(), parts.end());
    EXPECT_EQ(merged(), bytes);
    std::rotate(parts.begin(), parts.begin() + 2, parts.end());
    EXPECT_EQ(merged(), bytes);
}

}  // namespace
}  // namespace perfleet::value_rollup_test
