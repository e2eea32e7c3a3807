#include "storage/rollup/rollup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "schemas/text/hex.h"
#include "storage/rollup/rollup_sums.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::rollup_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr std::uint64_t kMinuteTicks = 60'000'000'000;

struct Row {
    std::uint64_t ticks = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t stack = 0;
    std::uint64_t weight = 0;
};

// Decoded rows of a batch, as a store would give them.
class Rows {
public:
    Rows(std::uint64_t seq, Series series, const SampleIntegers& integers)
        : batch_{SampleBatch{TargetId{1}, SessionId{1, 1}, Seq{seq}, EpochNumber{0}, BucketNumber{0}}
                     .add(series, integers)
                     .build()} {
        const auto block = parse_block_untrusted(batch_.series.front().block);
        EXPECT_TRUE(block.ok() && rows_.decode(*block).ok());
    }

    [[nodiscard]] const DecodedRows& operator*() const { return rows_; }

private:
    AdmittedBatch batch_;
    DecodedRows rows_;
};

SampleIntegers columns_of_rows(const std::vector<Row>& rows) {
    SampleIntegers integers;
    for (const Row& row : rows) {
        integers[ColumnId::kTime].push_back(row.ticks);
        integers[ColumnId::kPid].push_back(row.pid);
        integers[ColumnId::kTid].push_back(row.tid);
        integers[ColumnId::kStack].push_back(row.stack);
        integers[ColumnId::kWeight].push_back(row.weight);
    }
    return integers;
}

std::vector<Row> random_rows(std::mt19937_64& random, std::size_t count, std::uint64_t minutes) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < count; ++i) {
        const auto tid = static_cast<std::uint32_t>(10 + random() % 5);
        rows.push_back({random() % (minutes * kMinuteTicks), tid / 2, tid, static_cast<std::uint32_t>(random() % 9),
                        random() % 3 == 0 ? ~0ULL - random() % 10 : random() % 1'000});
    }
    return rows;
}

ClockMap nanoseconds() { return ClockMap{kNsPerSecond, {ClockPoint{Ticks{0}, UtcNs{0}, 0}}}; }

Rollup sample_rollup() {
    Rollup rollup;
    rollup.epoch = EpochNumber{3};
    rollup.row_count = 9;
    rollup.seqs = {{Seq{1}, Seq{5}}, {Seq{9}, Seq{9}}};
    rollup.cells = {{-1, Ticks{0}, Ticks{50}, 1}, {2, Ticks{60}, Ticks{~0ULL}, 3}};
    rollup.threads = {{7, 8, Ticks{3}, Ticks{49}, 2}, {7, 8, Ticks{60}, Ticks{61}, 3}, {7, 8, Ticks{70}, Ticks{70}, 4}};
    rollup.sums = {
        {StackNumber{0}, 1, 10}, {StackNumber{300}, 5, 50}, {StackNumber{2}, 2, 20}, {StackNumber{2}, 1, 10}};
    return rollup;
}

// By (minute or hour, pid, tid, stack): rows and weight.
using Counted = std::map<std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>,
                         std::pair<std::uint64_t, std::uint64_t>>;

Counted counted_of(const Rollup& rollup) {
    Counted counted;
    std::uint32_t thread = 0;
    std::uint32_t sum = 0;
    for (const Rollup::Cell& cell : rollup.cells) {
        for (; thread < cell.threads_end; ++thread) {
            const Rollup::Thread& one = rollup.threads[thread];
            EXPECT_TRUE(cell.from <= one.first_ticks && one.last_ticks < cell.until);
            for (; sum < one.sums_end; ++sum) {
                auto& [rows, weight] = counted[{cell.number, one.pid, one.tid, rollup.sums[sum].stack.value}];
                rows += rollup.sums[sum].row_count;
                weight += rollup.sums[sum].weight;
            }
        }
    }
    return counted;
}

Counted counted_of(const std::vector<Row>& rows, std::uint64_t cell_ticks) {
    Counted counted;
    for (const Row& row : rows) {
        auto& [count, weight] =
            counted[{static_cast<std::int64_t>(row.ticks / cell_ticks), row.pid, row.tid, row.stack}];
        ++count;
        weight += row.weight;
    }
    return counted;
}

TEST(Rollup, IsReadAsItWasWritten) {
    const Rollup rollup = sample_rollup();
    const auto back = decode_rollup_untrusted(encode_rollup(rollup));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, rollup);
    Rollup uneven = rollup;
    uneven.sums[1].weight = 49;
    const auto uneven_back = decode_rollup_untrusted(encode_rollup(uneven));
    ASSERT_TRUE(uneven_back.ok()) << uneven_back.error().message;
    EXPECT_EQ(*uneven_back, uneven);
    const auto cover = decode_rollup_cover_untrusted(encode_rollup(rollup));
    ASSERT_TRUE(cover.ok());
    EXPECT_EQ(cover->seqs, rollup.seqs);
    EXPECT_EQ(cover->epoch, rollup.epoch);
}

TEST(Rollup, HasTheBytesOfTheFormat) {
    EXPECT_EQ(hex_of(encode_rollup(sample_rollup())),
              "0103090201040300"    // version, epoch, rows, two ranges of seqs
              "02"                  // cells
              "050403000205"        // their numbers
              "0203000078"          // first ticks
              "02043200dd01"        // ticks to their ends
              "0103020108"          // where their threads end
              "03"                  // threads
              "03020307"            // pids
              "03020308"            // tids
              "0105070380dc10"      // ticks of their first rows
              "010506006e0000"      // from there to their last rows
              "0103020224"          // where their sums end
              "0a"                  // each row's weight
              "04"                  // sums
              "0107090000580a1000"  // stacks
              "010403016000"        // rows
              "57fe7863");          // CRC-32C
}

TEST(Rollup, OfDamagedBytesGivesAnErrorOrWhatHolds) {
    const std::string bytes = encode_rollup(sample_rollup());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        EXPECT_FALSE(decode_rollup_untrusted(damaged).ok()) << at;
        EXPECT_FALSE(decode_rollup_untrusted(bytes.substr(0, at)).ok()) << at;
    }
    std::string newer = bytes;
    newer[0] = 2;
    EXPECT_FALSE(decode_rollup_untrusted(newer).ok());
}

TEST(Rollup, WhoseSumsContradictItIsRefused) {
    const auto refuses = [](auto change) {
        Rollup rollup = sample_rollup();
        change(rollup);
        return !decode_rollup_untrusted(encode_rollup(rollup)).ok();
    };
    EXPECT_FALSE(refuses([](Rollup&) {}));
    EXPECT_TRUE(refuses([](Rollup& rollup) { rollup.row_count = 10; }));
    EXPECT_TRUE(refuses([](Rollup& rollup) { rollup.cells[1].number = -1; }));
    EXPECT_TRUE(refuses([](Rollup& rollup) { rollup.threads[0].last_ticks = Ticks{50}; }));
    EXPECT_TRUE(
        refuses([](Rollup& rollup) { std::swap(rollup.threads[1].first_ticks, rollup.threads[2].first_ticks); }));
    EXPECT_TRUE(refuses([](Rollup& rollup) { rollup.cells[0].threads_end = 0; }));
}

TEST(RollupSums, AreThoseOfTheRowsInAnyOrder) {
    std::mt19937_64 random{7};
    const ClockMap clock = nanoseconds();
    Renames renames;
    renames.finish();
    const std::vector<Row> all = random_rows(random, 3'000, 130);
    std::string first_bytes;
    for (int round = 0; round < 3; ++round) {
        std::vector<Row> rows = all;
        std::shuffle(rows.begin(), rows.end(), random);
        RollupSums minutes{RollupLevel::kMinute, clock, renames};
        RollupSums some{RollupLevel::kMinute, clock, renames};
        RollupSums hours{RollupLevel::kHour, clock, renames};
        const Rows decoded{1, kSamples, columns_of_rows(rows)};
        minutes.add_rows(*decoded, 0, rows.size());
        some.add_rows(*decoded, 0, 1'000);
        hours.add_sums(some);
        some.clear();
        some.add_rows(*decoded, 1'000, rows.size());
        hours.add_sums(some);
        EXPECT_EQ(counted_of(minutes.rollup(EpochNumber{0})), counted_of(all, kMinuteTicks));
        EXPECT_EQ(counted_of(hours.rollup(EpochNumber{0})), counted_of(all, 60 * kMinuteTicks));
        const std::string bytes =
            encode_rollup(minutes.rollup(EpochNumber{0})) + encode_rollup(hours.rollup(EpochNumber{0}));
        first_bytes = round == 0 ? bytes : first_bytes;
        EXPECT_EQ(bytes, first_bytes);
        EXPECT_TRUE(decode_rollup_untrusted(encode_rollup(hours.rollup(EpochNumber{0}))).ok());
    }
}

TEST(RollupSums, EndWhereAThreadMayHaveGotAnotherName) {
    const ClockMap clock = nanoseconds();
    Renames renames;
    const auto op = static_cast<std::uint64_t>(TaskOp::kComm);
    const auto present = static_cast<std::uint64_t>(TaskOp::kPresent);
    const Rows tasks{
        1,
        {Kind::kTask, kNoEvent},
        {{ColumnId::kTime, {100, 50, 100}}, {ColumnId::kTaskOp, {op, present, op}}, {ColumnId::kTid, {8, 8, 9}}}};
    ASSERT_TRUE(renames.add(*tasks));
    renames.finish();
    RollupSums sums{RollupLevel::kMinute, clock, renames};
    const Rows rows{2, kSamples,
                    columns_of_rows({{40, 7, 8, 1, 1}, {60, 7, 8, 1, 1}, {99, 7, 8, 1, 1}, {100, 7, 8, 1, 1}})};
    sums.add_rows(*rows, 0, 4);
    const Rollup rollup = sums.rollup(EpochNumber{0});
    ASSERT_EQ(rollup.threads.size(), 2U);
    EXPECT_EQ(rollup.threads[0].first_ticks, Ticks{40});
    EXPECT_EQ(rollup.threads[0].last_ticks, Ticks{99});
    EXPECT_EQ(rollup.threads[1].first_ticks, Ticks{100});
    EXPECT_EQ(rollup.sums[0].row_count, 3U);
}

// Cells are cut where the clock says that a minute begins, whatever it does; rows of one cell are those of its ticks.
TEST(RollupSums, CutCellsByTheClockAtAnyTime) {
    std::mt19937_64 random{11};
    for (int round = 0; round < 20; ++round) {
        std::vector<ClockPoint> points;
        for (std::uint64_t i = 0; i < 1 + random() % 6; ++i) {
            const auto utc_ns = static_cast<std::int64_t>(random() % (10 * kMinuteTicks)) -
                                static_cast<std::int64_t>(round % 4 == 0 ? 20 * kMinuteTicks : 0);
            points.push_back({Ticks{random() % (8 * kMinuteTicks)}, UtcNs{utc_ns}, 0});
        }
        if (round % 5 == 0) {
            points.push_back({Ticks{~0ULL - 5}, UtcNs{std::numeric_limits<std::int64_t>::max()}, 0});
        }
        const ClockMap clock{kNsPerSecond, points};
        Renames renames;
        renames.finish();
        std::vector<Row> rows = random_rows(random, 500, 9);
        rows.push_back({~0ULL - 1, 1, 2, 3, 4});
        RollupSums sums{RollupLevel::kMinute, clock, renames};
        const Rows decoded{1, kSamples, columns_of_rows(rows)};
        sums.add_rows(*decoded, 0, rows.size());
        const auto back = decode_rollup_untrusted(encode_rollup(sums.rollup(EpochNumber{0})));
        ASSERT_TRUE(back.ok()) << back.error().message;
        std::map<std::int64_t, std::uint64_t> expected;
        for (const Row& row : rows) {
            const std::int64_t utc_ns = clock.utc_of(Ticks{row.ticks}).value;
            const auto minute = static_cast<std::int64_t>(kMinuteTicks);
            ++expected[utc_ns / minute - (utc_ns % minute < 0 ? 1 : 0)];
        }
        std::map<std::int64_t, std::uint64_t> found;
        for (const auto& [key, counts] : counted_of(*back)) {
            found[std::get<0>(key)] += counts.first;
        }
        EXPECT_EQ(found, expected);
    }
}

}  // namespace
}  // namespace perfleet::rollup_test
