#include "gateway/admission/admit_batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/admission/decode.h"
#include "gateway/admission/testing/sample_changes.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/block/block.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::admit_batch_test {
namespace {

constexpr TargetId kTarget{5};
constexpr SessionId kSession{11, 12};
constexpr UtcNs kNow{1'700'003'600'000'000'000};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

using Change = sample::Change<wire::Batch::Builder>;

SampleBatch good_batch(Seq seq = Seq{9}) {
    SampleBatch batch{kTarget, kSession, seq, EpochNumber{0}, bucket_of(kNow)};
    batch.add(kSamples, {{ColumnId::kTime, {40, 30, 50}}, {ColumnId::kStack, {1, 2, 0}}});
    batch.add({Kind::kTracepoint, EventNumber{1}}, {{ColumnId::kTime, {35, 36}}}, {{ColumnId::kRawBytes, {"raw", ""}}});
    batch.add_stacks({{1, 0, 0, 100}, {2, 1, 0, 200}});
    batch.add_strings({{1, "name"}, {2, "other"}});
    batch.add_images({{0, 0, "build-id", "/bin/true"}});
    batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {1}}, {ColumnId::kTaskOp, {1}}});
    batch.entry(kSamples, CountName::kProduced, 3).entry(kSamples, CountName::kLostKernelRing, 1);
    batch.dropped(Seq{2}, Seq{3}).clock_point({Ticks{1}, UtcNs{2}, 3});
    return batch;
}

Result<AdmittedBatch> admit(const sample::Frame& frame) {
    Decoder decoder;
    auto message = decoder.decode(frame);
    PERFLEET_ASSERT(message.ok());
    BatchAdmission admission;
    return admission.admit(std::get<BatchUntrusted>(*message), sample_session(kTarget, kSession));
}

// The good batch after a change, with a seal that fits.
Result<AdmittedBatch> admit_changed(const Change& change) {
    return admit(sample::batch_with(good_batch().build(), [&](wire::Batch::Builder batch) {
        change(batch);
        sample::reseal(batch);
    }));
}

// Replaces one integer column of the series at `index` by other values.
Change column_of(unsigned index, ColumnId id, const std::vector<std::uint64_t>& values) {
    return [=](wire::Batch::Builder batch) {
        auto columns = batch.getSeries()[index].getColumns();
        for (auto column : columns) {
            if (column.getId() == static_cast<std::uint16_t>(id)) {
                std::vector<std::byte> bytes(encoded_size_bytes_max(values.size()));
                const auto encoded = encode_integers(values, bytes);
                PERFLEET_ASSERT(encoded.ok());
                column.setCodec(static_cast<std::uint8_t>(encoded->codec));
                column.setBytes({reinterpret_cast<const unsigned char*>(bytes.data()), encoded->size_bytes});
            }
        }
    };
}

TEST(AdmitBatch, KeepsEverythingAsItWasSealed) {
    const AdmittedBatch sent = good_batch().build();
    const auto admitted = admit(sample::batch(sent));
    ASSERT_TRUE(admitted.ok()) << admitted.error().message;
    EXPECT_EQ(admitted->key, sent.key);
    EXPECT_EQ(admitted->record.seal, sent.record.seal);
    EXPECT_EQ(admitted->record.counts, sent.record.counts);
    EXPECT_EQ(admitted->record.dropped, sent.record.dropped);
    EXPECT_EQ(admitted->record.clock_points, sent.record.clock_points);
    EXPECT_EQ(admitted->record.rows.size(), sent.record.rows.size());
    ASSERT_EQ(admitted->series.size(), sent.series.size());
    for (std::size_t i = 0; i < sent.series.size(); ++i) {
        EXPECT_EQ(admitted->series[i].block, sent.series[i].block);
        EXPECT_EQ(admitted->series[i].first_ticks, sent.series[i].first_ticks);
        EXPECT_EQ(admitted->series[i].last_ticks, sent.series[i].last_ticks);
    }
}

TEST(AdmitBatch, TakesEveryKind) {
    for (unsigned raw = kKindFirst; raw <= kKindLast; ++raw) {
        const auto kind = static_cast<Kind>(raw);
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, bucket_of(kNow)};
        SampleIntegers integers;
        for (const ColumnRule& rule : columns_of(kind)) {
            if (rule.shape == ColumnShape::kInteger) {
                integers[rule.id] = {rule.id == ColumnId::kParent ? 0U : 1U};
            }
        }
        SampleBytes bytes;
        for (const ColumnRule& rule : columns_of(kind)) {
            if (rule.shape == ColumnShape::kBytes) {
                bytes[rule.id] = {"x"};
            }
        }
        batch.add({kind, is_definition(kind) || kind == Kind::kTask ? kNoEvent : EventNumber{0}}, integers, bytes);
        const auto admitted = admit(sample::batch(batch.build()));
        EXPECT_TRUE(admitted.ok()) << kind_name(kind) << ": " << admitted.error().message;
    }
}

TEST(AdmitBatch, TakesABatchWithoutRows) {
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, bucket_of(kNow)};
    batch.entry(kSamples, CountName::kProduced, 3);
    EXPECT_TRUE(admit(sample::batch(batch.build())).ok());
}

TEST(AdmitBatch, KeepsColumnsThatItDoesNotKnow) {
    const auto admitted = admit_changed([](wire::Batch::Builder batch) {
        auto series = batch.getSeries()[0];
        const auto old = series.disownColumns();
        const auto from = old.getReader();
        auto columns = series.initColumns(from.size() + 1);
        for (unsigned i = 0; i < from.size(); ++i) {
            columns.setWithCaveats(i, from[i]);
        }
        columns[from.size()].setId(9'999);
        columns[from.size()].setCodec(static_cast<std::uint8_t>(Codec::kRuns));
        columns[from.size()].setBytes({reinterpret_cast<const unsigned char*>("???"), 3});
    });
    ASSERT_TRUE(admitted.ok()) << admitted.error().message;
    const auto block = parse_block_untrusted(admitted->series[0].block);
    ASSERT_TRUE(block.ok());
    const ColumnView* kept = block->find(static_cast<ColumnId>(9'999));
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->bytes.size(), 3U);
}

TEST(AdmitBatch, RowsOfAnEventNameIt) {
    for (const Kind kind : {Kind::kSample, Kind::kTracepoint, Kind::kCounter}) {
        SampleBatch batch{kTarget, kSession, Seq{9}, EpochNumber{0}, bucket_of(kNow)};
        batch.add({kind, kNoEvent}, {{ColumnId::kTime, {1}}});
        const auto admitted = admit(sample::batch(batch.build()));
        ASSERT_FALSE(admitted.ok()) << kind_name(kind);
        EXPECT_NE(admitted.error().message.find("without an event"), std::string::npos) << admitted.error().message;
    }
}

TEST(AdmitBatch, ARowHasRawBytesUpToTheLimit) {
    const auto with_raw = [](std::size_t size_bytes) {
        SampleBatch batch{kTarget, kSession, Seq{9}, EpochNumber{0}, bucket_of(kNow)};
        batch.add({Kind::kTracepoint, EventNumber{1}}, {{ColumnId::kTime, {35, 36}}},
                  {{ColumnId::kRawBytes, {std::string(size_bytes, 'x'), "raw"}}});
        return admit(sample::batch(batch.build()));
    };
    const auto largest = with_raw(limits::kRawBytesMax);
    ASSERT_TRUE(largest.ok()) << largest.error().message;
    EXPECT_EQ(largest->series.at(0).row_count, 2U);
    EXPECT_FALSE(with_raw(limits::kRawBytesMax + 1).ok());
}

struct Refusal {
    const char* name;
    Change change;
    std::string words;  // of the message
    ErrorCode code = ErrorCode::kInvalid;
};

class RefusedBatch : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedBatch, IsNamed) {
    const auto admitted = admit_changed(GetParam().change);
    ASSERT_FALSE(admitted.ok());
    EXPECT_NE(admitted.error().message.find(GetParam().words), std::string::npos) << admitted.error().message;
    EXPECT_EQ(admitted.error().code, GetParam().code) << admitted.error().message;
}

std::vector<Refusal> refusals() {
    using Batch = wire::Batch::Builder;
    const auto many_values = [](std::size_t count, std::uint64_t value) {
        return std::vector<std::uint64_t>(count, value);
    };
    return {
        {"SeqZero", [](Batch batch) { batch.setSeq(0); }, "seq 0"},
        {"OtherSession", [](Batch batch) { batch.getSession().setLow(13); }, "another session"},
        {"OldestAfterItself", [](Batch batch) { batch.setOldestRetainedSeq(10); }, "oldest retained"},
        {"BucketAfterAllTime", [](Batch batch) { batch.setBucket(2'562'048); }, "bucket 2562048 is after"},
        {"UnknownKind", [](Batch batch) { batch.getSeries()[0].setKind(kKindLast + 1); },
         "unknown kind " + std::to_string(kKindLast + 1), ErrorCode::kUnsupported},
        {"KindZero", [](Batch batch) { batch.getSeries()[0].setKind(0); }, "unknown kind 0", ErrorCode::kUnsupported},
        {"UnknownEvent", [](Batch batch) { batch.getSeries()[0].setEvent(2); }, "event 2"},
        {"SampleWithoutEvent", [](Batch batch) { batch.getSeries()[0].setEvent(kNoEvent.value); }, "without an event"},
        {"DefinitionWithEvent", [](Batch batch) { batch.getSeries()[2].setEvent(0); }, "with an event"},
        {"NoRows", [](Batch batch) { batch.getSeries()[0].setRowCount(0); }, "without rows"},
        {"FewerRows", [](Batch batch) { batch.getSeries()[0].setRowCount(2); }, "column", ErrorCode::kInvalid},
        {"MoreRows", [](Batch batch) { batch.getSeries()[0].setRowCount(300); }, "column", ErrorCode::kTruncated},
        {"TooManyRows", [](Batch batch) { batch.getSeries()[0].setRowCount(limits::kBatchRowsMax + 1); }, "rows of a",
         ErrorCode::kTooLarge},
        {"SeriesTwice", [](Batch batch) { batch.getSeries().setWithCaveats(1, batch.getSeries()[0].asReader()); },
         "twice"},
        {"ColumnTwice", [](Batch batch) { batch.getSeries()[0].getColumns()[1].setId(1); }, "twice"},
        {"ColumnMissing", [](Batch batch) { batch.getSeries()[0].getColumns()[1].setId(777); }, "cpu (2) is missing"},
        {"UnknownCodec", [](Batch batch) { batch.getSeries()[0].getColumns()[1].setCodec(9); }, "codec 9",
         ErrorCode::kUnsupported},
        {"BytesAsIntegers",
         [](Batch batch) { batch.getSeries()[0].getColumns()[1].setCodec(static_cast<std::uint8_t>(Codec::kBytes)); },
         "column cpu", ErrorCode::kUnsupported},
        {"IntegersAsBytes",
         [](Batch batch) { batch.getSeries()[1].getColumns()[8].setCodec(static_cast<std::uint8_t>(Codec::kRuns)); },
         "raw_bytes"},
        {"FirstTicks", [](Batch batch) { batch.getSeries()[0].setFirstTicks(29); }, "first and last"},
        {"LastTicks", [](Batch batch) { batch.getSeries()[0].setLastTicks(51); }, "first and last"},
        {"TicksOfDefinitions", [](Batch batch) { batch.getSeries()[2].setLastTicks(7); }, "no time"},
        {"PidTooLarge", column_of(0, ColumnId::kPid, {1, 1ULL << 32, 2}), "4294967296"},
        {"StackTooLarge", column_of(0, ColumnId::kStack, {1, limits::kStackNodesMax + 1ULL, 2}), "stack (5)"},
        {"TaskOpZero", column_of(5, ColumnId::kTaskOp, {0}), "task_op"},
        {"TaskOpTooLarge", column_of(5, ColumnId::kTaskOp, {kTaskOpLast + 1}), "task_op"},
        {"StackNumberZero", column_of(2, ColumnId::kNumber, {0, 2}), "number"},
        {"ParentAfterChild", column_of(2, ColumnId::kParent, {0, 2}), "parent"},
        {"StringNumberZero", column_of(3, ColumnId::kNumber, {0, 2}), "number"},
        {"ImageNumberTooLarge", column_of(4, ColumnId::kNumber, {limits::kImagesMax}), "number"},
        {"ImageFlagsTooLarge", column_of(4, ColumnId::kImageFlags, {image_flags::kAll + 1}), "image_flags"},
        {"BuildIdTooLong", column_of(4, ColumnId::kBuildIdSize, {limits::kBuildIdSizeBytesMax + 1}), "build_id_size"},
        {"SizesTooSmall", column_of(1, ColumnId::kRawSize, {1, 1}), "adds up to 2, but there are 3"},
        {"SizesTooLarge", column_of(1, ColumnId::kRawSize, {3, 1}), "adds up to 4, but there are 3"},
        {"SizePastItsBytes", column_of(1, ColumnId::kRawSize, {60'000, 0}), "past its bytes"},
        {"NameWithNul",
         [](Batch batch) {
             for (auto column : batch.getSeries()[3].getColumns()) {
                 if (column.getId() == static_cast<std::uint16_t>(ColumnId::kNameBytes)) {
                     column.getBytes()[2] = 0;
                 }
             }
         },
         "NUL"},
        {"CountOfUnknownKind", [](Batch batch) { batch.getCounts()[0].setKind(200); }, "unknown kind 200",
         ErrorCode::kUnsupported},
        {"CountOfUnknownEvent", [](Batch batch) { batch.getCounts()[0].setEvent(5); }, "event 5"},
        {"CountWithoutName", [](Batch batch) { batch.getCounts()[0].setName(0); }, "without a name"},
        {"CountTwice", [](Batch batch) { batch.getCounts()[1].setName(1); }, "twice"},
        {"DroppedBackwards", [](Batch batch) { batch.getDropped()[0].setFirst(4); }, "dropped range"},
        {"DroppedZero", [](Batch batch) { batch.getDropped()[0].setFirst(0); }, "dropped range"},
        {"DroppedItself", [](Batch batch) { batch.getDropped()[0].setLast(9); }, "dropped range"},
        {"TooManyCounts", [](Batch batch) { batch.initCounts(limits::kCountsMax + 1); }, "counts",
         ErrorCode::kTooLarge},
        {"TooManyRanges", [](Batch batch) { batch.initDropped(limits::kDroppedRangesMax + 1); }, "ranges",
         ErrorCode::kTooLarge},
        {"TooManyClockPoints", [](Batch batch) { batch.initClockPoints(limits::kClockPointsMax + 1); }, "clock points",
         ErrorCode::kTooLarge},
        {"TooManySeries", [](Batch batch) { batch.initSeries(limits::kBatchSeriesMax + 1); }, "series",
         ErrorCode::kTooLarge},
        {"TooManyColumns", [](Batch batch) { batch.getSeries()[0].initColumns(limits::kColumnsMax + 1); }, "columns",
         ErrorCode::kTooLarge},
        {"TooManyBytes",
         [=](Batch batch) {
             const std::size_t rows = 64;
             const std::size_t size = limits::kSeriesBytesMax / rows + 1;
             batch.getSeries()[1].setRowCount(rows);
             for (auto column : batch.getSeries()[1].getColumns()) {
                 const auto id = static_cast<ColumnId>(column.getId());
                 if (id == ColumnId::kRawBytes) {
                     column.initBytes(static_cast<unsigned>(rows * size));
                 } else {
                     column_of(1, id, many_values(rows, id == ColumnId::kRawSize ? size : 0))(batch);
                 }
             }
             batch.getSeries()[1].setFirstTicks(0);
             batch.getSeries()[1].setLastTicks(0);
         },
         "raw_bytes (9) holds", ErrorCode::kTooLarge},
    };
}

INSTANTIATE_TEST_SUITE_P(AdmitBatch, RefusedBatch, testing::ValuesIn(refusals()),
                         [](const auto& refusal) { return refusal.param.name; });

TEST(AdmitBatch, RefusesEverySingleBitThatTheSealCovers) {
    // One bit of the frame at a time: it must be refused, or mean the same as before (fields outside the seal).
    const AdmittedBatch sent = good_batch().build();
    const sample::Frame frame = sample::batch(sent);
    Decoder decoder;
    BatchAdmission admission;
    std::size_t refused_count = 0;
    for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
        sample::Frame changed = frame;
        changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto message = decoder.decode(changed);
        if (!message.ok() || !std::holds_alternative<BatchUntrusted>(*message)) {
            ++refused_count;
            continue;
        }
        const auto admitted = admission.admit(std::get<BatchUntrusted>(*message), sample_session(kTarget, kSession));
        if (!admitted.ok()) {
            ++refused_count;
            continue;
        }
        ASSERT_EQ(admitted->key, sent.key) << "bit " << bit;
        ASSERT_EQ(admitted->record.seal, sent.record.seal) << "bit " << bit;
        ASSERT_EQ(admitted->record.counts, sent.record.counts) << "bit " << bit;
        ASSERT_EQ(admitted->series.size(), sent.series.size()) << "bit " << bit;
        for (std::size_t i = 0; i < sent.series.size(); ++i) {
            ASSERT_EQ(admitted->series[i].block, sent.series[i].block) << "bit " << bit;
        }
    }
    EXPECT_GT(refused_count, frame.size() * 4);  // the rest is padding, and fields outside the seal
}

TEST(AdmitBatch, RefusesAWrongSeal) {
    const auto admitted = admit(sample::batch_with(
        good_batch().build(), [](wire::Batch::Builder batch) { batch.setSeal(batch.getSeal() ^ 1); }));
    ASSERT_FALSE(admitted.ok());
    EXPECT_EQ(admitted.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace perfleet::admit_batch_test
