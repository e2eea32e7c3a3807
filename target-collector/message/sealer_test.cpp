#include "target-collector/message/sealer.h"

#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "collector.capnp.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::sealer_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kStacks{Kind::kStack, kNoEvent};
constexpr SessionId kSession{1, 2};
constexpr std::int64_t kHourNs = 3'600 * kNsPerSecond;
constexpr UtcNs kUtc{1'000 * kHourNs};

// A record from the ring for the wire.
struct Taken {
    SealedRecord record;
    std::vector<std::uint64_t> words;  // the message
    std::vector<CountEntry> counts;    // of the batch, or final
    std::vector<SeqRange> dropped;
    std::size_t clock_point_count = 0;
    std::uint32_t bucket = 0;

    [[nodiscard]] std::uint64_t entry(Series series, CountName name) const {
        for (const CountEntry& entry : counts) {
            if (entry.series == series && entry.name == name) {
                return entry.value;
            }
        }
        return 0;
    }
};

class SealerTest : public testing::Test {
protected:
    explicit SealerTest(std::size_t ring_size_bytes = 1U << 20, std::uint32_t rows_max = 100,
                        SessionId session = kSession)
        : batch_memory_(ring_size_bytes / 8),
          loss_memory_(kLossReportRingSizeBytes / 8),
          values_(BatchBuilder::values_count(1'000, 14, 16)),
          bytes_(1 << 16),
          batches_(std::as_writable_bytes(std::span{batch_memory_})),
          losses_(std::as_writable_bytes(std::span{loss_memory_})),
          builder_(std::make_unique<BatchBuilder>(values_, bytes_, 1'000)),
          counts_(std::make_unique<SessionCounts>()),
          sealer_(std::make_unique<Sealer>(Sealer::Options{session, rows_max, 1'000}, *builder_, *counts_, batches_,
                                           losses_)) {
        sealer_->begin_epoch(Ticks{0}, kUtc);
    }

    void sample(std::uint64_t time) {
        const std::uint64_t row[] = {0, 1, 1, 1, 1};
        sealer_->append({kSamples, Ticks{time}, row});
    }

    void stack(std::uint64_t number) {
        const std::uint64_t row[] = {number, 0, 0, 0};
        sealer_->append({kStacks, Ticks{number}, row});
    }

    std::optional<Taken> take() {
        const auto bytes = batches_.acquire();
        if (bytes.empty()) {
            return {};
        }
        Taken taken;
        std::memcpy(&taken.record, bytes.data(), sizeof taken.record);
        const auto rest = bytes.subspan(sizeof taken.record);
        if (taken.record.type != SealedRecord::Type::kBatch) {
            EXPECT_EQ(taken.record.type, SealedRecord::Type::kFinal);
            taken.counts.resize(rest.size() / sizeof(CountEntry));
            std::memcpy(taken.counts.data(), rest.data(), rest.size());
        } else {
            taken.words.resize(rest.size() / 8);
            std::memcpy(taken.words.data(), rest.data(), rest.size());
            capnp::FlatArrayMessageReader reader(
                kj::arrayPtr(reinterpret_cast<const capnp::word*>(taken.words.data()), taken.words.size()));
            const auto batch = reader.getRoot<wire::Envelope>().getBatch();
            EXPECT_EQ(batch.getSeq(), taken.record.seq.value);
            EXPECT_EQ(batch.getEpoch(), taken.record.epoch.value);
            EXPECT_EQ(batch.getSession().getHigh(), kSession.high);
            EXPECT_EQ(batch.getSeries().size(), taken.record.series_count);
            for (const auto entry : batch.getCounts()) {
                taken.counts.push_back({{static_cast<Kind>(entry.getKind()), EventNumber{entry.getEvent()}},
                                        static_cast<CountName>(entry.getName()),
                                        entry.getValue()});
            }
            for (const auto range : batch.getDropped()) {
                taken.dropped.push_back({Seq{range.getFirst()}, Seq{range.getLast()}});
            }
            taken.clock_point_count = batch.getClockPoints().size();
            taken.bucket = batch.getBucket();
        }
        batches_.release();
        return taken;
    }

    void report_losses(const LossReport& report, std::vector<SeqRange> ranges, std::vector<CountEntry> counts) {
        LossReport header = report;
        header.range_count = static_cast<std::uint32_t>(ranges.size());
        header.entry_count = static_cast<std::uint32_t>(counts.size());
        const auto record =
            losses_.reserve(sizeof header + ranges.size() * sizeof(SeqRange) + counts.size() * sizeof(CountEntry));
        ASSERT_FALSE(record.empty());
        const auto header_bytes = std::as_bytes(std::span{&header, 1});
        const auto range_bytes = std::as_bytes(std::span{ranges});
        const auto entry_bytes = std::as_bytes(std::span{counts});
        auto at = std::copy(header_bytes.begin(), header_bytes.end(), record.begin());
        at = std::copy(range_bytes.begin(), range_bytes.end(), at);
        std::copy(entry_bytes.begin(), entry_bytes.end(), at);
        losses_.commit(record.size());
    }

    std::vector<std::uint64_t> batch_memory_;
    std::vector<std::uint64_t> loss_memory_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    SpscRing batches_;
    SpscRing losses_;
    std::unique_ptr<BatchBuilder> builder_;
    std::unique_ptr<SessionCounts> counts_;
    std::unique_ptr<Sealer> sealer_;
};

class SealerWithSmallRing : public SealerTest {
protected:
    SealerWithSmallRing() : SealerTest(kBatchRingSizeBytesMin, 1'000) {}
};

TEST_F(SealerTest, SealsAFullBatchAndCountsItsRowsInIt) {
    for (std::uint64_t i = 0; i < 250; ++i) {
        sample(i);
    }
    const auto first = take();
    ASSERT_TRUE(first);
    EXPECT_EQ(first->record.seq, Seq{1});
    EXPECT_EQ(first->record.rows[0].series, kSamples);
    EXPECT_EQ(first->record.rows[0].row_count, 100U);
    EXPECT_EQ(first->entry(kSamples, CountName::kProduced), 100U);
    EXPECT_EQ(first->bucket, 1'000U);
    const auto second = take();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->record.seq, Seq{2});
    EXPECT_EQ(second->entry(kSamples, CountName::kProduced), 200U);
    EXPECT_FALSE(take());
    sealer_->flush(Ticks{250});
    EXPECT_EQ(take()->entry(kSamples, CountName::kProduced), 250U);
    EXPECT_EQ(sealer_->last_sealed(), Seq{3});
}

TEST_F(SealerTest, SealsAnOldBatch) {
    sealer_->tick(Ticks{5'000}, kUtc);
    sample(10);  // an old row doesn't make its batch old
    sealer_->tick(Ticks{5'999}, kUtc);
    EXPECT_FALSE(take());
    sealer_->tick(Ticks{6'000}, kUtc);
    EXPECT_TRUE(take());
    sealer_->tick(Ticks{9'000}, kUtc);
    EXPECT_FALSE(take());
}

TEST_F(SealerTest, CountsLossesAsProducedToo) {
    sealer_->count_lost(kSamples, CountName::kLostKernelRing, 7);
    sealer_->count(kSamples, CountName::kFramesUnmapped, 3);
    sample(1);
    sealer_->flush(Ticks{1});
    const auto taken = take();
    EXPECT_EQ(taken->entry(kSamples, CountName::kProduced), 8U);
    EXPECT_EQ(taken->entry(kSamples, CountName::kLostKernelRing), 7U);
    EXPECT_EQ(taken->entry(kSamples, CountName::kFramesUnmapped), 3U);
}

// What another process reads of them while this one runs, or after it was killed.
TEST_F(SealerTest, CountsLiveWhatItCountsAndWhatItDrops) {
    std::vector<std::uint64_t> memory(kLiveCountsSizeBytes / 8);
    LiveCounts live;
    live.attach(std::as_writable_bytes(std::span{memory}));
    sealer_ =
        std::make_unique<Sealer>(Sealer::Options{kSession, 100, 1'000, &live}, *builder_, *counts_, batches_, losses_);
    sealer_->begin_epoch(Ticks{0}, kUtc);
    sealer_->count_lost(kSamples, CountName::kLostKernelRing, 7);
    sealer_->count(kSamples, CountName::kFramesUnmapped, 3);
    sample(1);
    sample(2);
    auto read = std::make_unique<LiveCountsRead>();
    ASSERT_TRUE(read_live_counts(std::as_writable_bytes(std::span{memory}), *read).ok());
    EXPECT_EQ(read->counts.get(kSamples, CountName::kProduced), 9U);
    EXPECT_EQ(read->counts.get(kSamples, CountName::kLostKernelRing), 7U);
    EXPECT_EQ(read->counts.get(kSamples, CountName::kFramesUnmapped), 3U);
}

TEST_F(SealerTest, AnEpochEndsWithItsBucket) {
    sealer_->tick(Ticks{1}, UtcNs{kUtc.value + kHourNs - 1});
    EXPECT_FALSE(sealer_->epoch_is_over());
    sample(1);
    sealer_->tick(Ticks{2}, UtcNs{kUtc.value + kHourNs});
    EXPECT_TRUE(sealer_->epoch_is_over());
    sample(2);
    sealer_->begin_epoch(Ticks{3}, UtcNs{kUtc.value + kHourNs});
    EXPECT_FALSE(sealer_->epoch_is_over());
    EXPECT_EQ(sealer_->epoch(), EpochNumber{1});
    sample(3);
    sealer_->flush(Ticks{3});
    const auto before = take();
    EXPECT_EQ(before->record.epoch, EpochNumber{0});
    EXPECT_EQ(before->record.rows[0].row_count, 2U);
    EXPECT_EQ(before->bucket, 1'000U);
    const auto after = take();
    EXPECT_EQ(after->record.epoch, EpochNumber{1});
    EXPECT_EQ(after->bucket, 1'001U);
}

TEST_F(SealerTest, ClockPointsTravelOnce) {
    sealer_->add_clock_point({Ticks{1}, UtcNs{2}, 3});
    sample(1);
    sealer_->flush(Ticks{1});
    sample(2);
    sealer_->flush(Ticks{2});
    EXPECT_EQ(take()->clock_point_count, 1U);
    EXPECT_EQ(take()->clock_point_count, 0U);
}

TEST_F(SealerTest, ClockPointsAreThinnedOutWhenNoBatchTakesThem) {
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        sealer_->add_clock_point({Ticks{i}, UtcNs{2}, 3});
    }
    sample(1);
    sealer_->flush(Ticks{1});
    const auto taken = take();
    EXPECT_GT(taken->clock_point_count, 16U);
    EXPECT_LE(taken->clock_point_count, limits::kClockPointsMax);
}

TEST_F(SealerTest, NamesDroppedRangesUntilTheyAreGone) {
    LossReport report;
    report.number = 1;
    const CountEntry lost{kSamples, CountName::kLostSpoolFull, 40};
    report_losses(report, {{Seq{1}, Seq{3}}}, {lost});
    sealer_->tick(Ticks{1}, kUtc);
    for (int i = 0; i < 2; ++i) {
        sample(1);
        sealer_->flush(Ticks{1});
        const auto taken = take();
        EXPECT_EQ(taken->dropped, (std::vector<SeqRange>{{Seq{1}, Seq{3}}}));
        EXPECT_EQ(taken->entry(kSamples, CountName::kLostSpoolFull), 40U);
        EXPECT_EQ(taken->record.report_number, 1U);
    }
    report.number = 2;
    report_losses(report, {}, {{kSamples, CountName::kLostSpoolFull, 50}, {kSamples, CountName::kLostRefused, 2}});
    report.number = 3;
    report_losses(report, {}, {{kSamples, CountName::kLostSpoolFull, 60}, {kSamples, CountName::kLostRefused, 2}});
    sealer_->tick(Ticks{2}, kUtc);
    sample(2);
    sealer_->flush(Ticks{2});
    const auto taken = take();
    EXPECT_TRUE(taken->dropped.empty());
    EXPECT_EQ(taken->entry(kSamples, CountName::kLostSpoolFull), 60U);
    EXPECT_EQ(taken->entry(kSamples, CountName::kLostRefused), 2U);
    EXPECT_EQ(taken->entry(kSamples, CountName::kProduced), 3U);
    EXPECT_EQ(taken->record.report_number, 3U);
}

TEST_F(SealerTest, ADroppedDefinitionEndsItsEpochOnly) {
    sealer_->begin_epoch(Ticks{1}, kUtc);
    LossReport report;
    report.number = 1;
    report.has_lost_definitions = true;
    report.lost_definitions_epoch = EpochNumber{0};
    report_losses(report, {{Seq{1}, Seq{1}}}, {});
    sealer_->tick(Ticks{2}, kUtc);
    EXPECT_FALSE(sealer_->epoch_is_over());
    report.lost_definitions_epoch = EpochNumber{1};
    report_losses(report, {{Seq{1}, Seq{1}}}, {});
    sealer_->tick(Ticks{3}, kUtc);
    EXPECT_TRUE(sealer_->epoch_is_over());
    sealer_->begin_epoch(Ticks{4}, kUtc);
    sealer_->tick(Ticks{5}, kUtc);
    EXPECT_FALSE(sealer_->epoch_is_over());
}

TEST_F(SealerWithSmallRing, AFullRingLosesRowsByCountAndNoSeq) {
    std::uint64_t appended = 0;
    std::mt19937_64 random(1);
    const auto random_sample = [&] {
        std::uint64_t row[5];
        for (auto& value : row) {
            value = random();
        }
        sealer_->append({kSamples, Ticks{random()}, row});
        ++appended;
    };
    while (counts_->get(kSamples, CountName::kLostRingFull) == 0) {
        random_sample();
    }
    EXPECT_FALSE(sealer_->epoch_is_over());  // no definition was lost
    std::uint64_t passed_on = 0;
    Seq expected{1};
    while (const auto taken = take()) {
        EXPECT_EQ(taken->record.seq, expected);
        ++expected.value;
        passed_on += taken->record.rows[0].row_count;
    }
    random_sample();
    sealer_->flush(Ticks{appended});
    const auto last = take();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->record.seq, expected);
    passed_on += last->record.rows[0].row_count;
    EXPECT_EQ(last->entry(kSamples, CountName::kProduced), appended);
    EXPECT_EQ(last->entry(kSamples, CountName::kLostRingFull) + passed_on, appended);
}

TEST_F(SealerWithSmallRing, ALostDefinitionEndsTheEpoch) {
    for (std::uint64_t i = 1; !sealer_->epoch_is_over(); ++i) {
        ASSERT_LT(i, 1'000'000U);
        stack(i);
    }
    EXPECT_GT(counts_->get(kStacks, CountName::kLostRingFull), 0U);
    sealer_->begin_epoch(Ticks{1}, kUtc);
    EXPECT_FALSE(sealer_->epoch_is_over());
}

TEST_F(SealerWithSmallRing, FinishWaitsForRoomAndLosesNothing) {
    std::uint64_t appended = 0;
    const ClockPoint end{Ticks{77}, UtcNs{78}, 79};
    while (true) {
        sample(appended++);
        if (appended % 10 == 0) {
            sealer_->flush(Ticks{appended});
        }
        if (counts_->get(kSamples, CountName::kLostRingFull) > 0) {
            break;
        }
    }
    sample(appended++);
    const std::uint64_t lost = counts_->get(kSamples, CountName::kLostRingFull);
    std::uint64_t passed_on = 0;
    std::optional<Taken> final_record;
    bool waited = false;
    while (!final_record) {
        waited = !sealer_->finish(end) || waited;
        auto taken = take();
        ASSERT_TRUE(taken);
        if (taken->record.type == SealedRecord::Type::kFinal) {
            final_record = std::move(taken);
        } else {
            passed_on += taken->record.rows[0].row_count;
        }
    }
    EXPECT_TRUE(waited);
    EXPECT_TRUE(sealer_->finish(end));
    EXPECT_FALSE(take());
    EXPECT_EQ(final_record->record.seq, sealer_->last_sealed());
    EXPECT_EQ(final_record->record.end_point, end);
    EXPECT_EQ(final_record->entry(kSamples, CountName::kProduced), appended);
    EXPECT_EQ(final_record->entry(kSamples, CountName::kLostRingFull), lost);
    EXPECT_EQ(passed_on + lost, appended);
}

class SealerWithoutSessionTest : public SealerTest {
protected:
    SealerWithoutSessionTest() : SealerTest(1U << 20, 100, SessionId{}) {}
};

TEST_F(SealerWithoutSessionTest, SealsNothingBeforeTheGrantAndThenAllThatIsThere) {
    stack(1);
    sample(1);
    sealer_->tick(Ticks{5'000}, UtcNs{kUtc.value + 2 * kHourNs});  // old enough, and in another bucket
    EXPECT_FALSE(sealer_->epoch_is_over());
    EXPECT_FALSE(sealer_->finish({Ticks{5'000}, kUtc, 0})) << "its end waits, too";
    EXPECT_FALSE(take().has_value());
    sealer_->grant_session(kSession, UtcNs{kUtc.value + 3 * kHourNs});
    EXPECT_FALSE(sealer_->epoch_is_over()) << "what is there lies in the bucket that the gateway tells";
    sealer_->tick(Ticks{5'001}, UtcNs{kUtc.value + 3 * kHourNs});
    const auto batch = take();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->record.seq, Seq{1});
    EXPECT_EQ(batch->bucket, 1'003U);
    EXPECT_EQ(batch->entry(kSamples, CountName::kProduced), 1U);
    EXPECT_EQ(batch->entry(kSamples, CountName::kLostRingFull), 0U);
}

TEST_F(SealerWithoutSessionTest, KeepsNoMoreThanABatchAndCountsTheRest) {
    stack(1);
    for (std::uint64_t i = 0; i < 150; ++i) {
        sample(i);
    }
    EXPECT_TRUE(sealer_->epoch_is_over()) << "with the first batch a definition was lost";
    sealer_->begin_epoch(Ticks{200}, kUtc);
    sample(201);
    sealer_->grant_session(kSession, kUtc);
    sealer_->flush(Ticks{202});
    const auto batch = take();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->record.seq, Seq{1});
    EXPECT_EQ(batch->entry(kSamples, CountName::kProduced), 151U);
    EXPECT_EQ(batch->entry(kSamples, CountName::kLostRingFull), 150U);
}

}  // namespace
}  // namespace perfleet::sealer_test
