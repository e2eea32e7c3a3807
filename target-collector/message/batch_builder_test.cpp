#include "target-collector/message/batch_builder.h"

#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collector.capnp.h"
#include "schemas/columns/seal.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/patch.h"

namespace perfleet::batch_builder_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kTracepoints{Kind::kTracepoint, EventNumber{1}};
constexpr Series kTasks{Kind::kTask, kNoEvent};
constexpr Series kStacks{Kind::kStack, kNoEvent};
constexpr Series kImages{Kind::kImage, kNoEvent};
constexpr Series kStrings{Kind::kString, kNoEvent};
constexpr BatchHeader kHeader{SessionId{0x1111, 0x2222}, Seq{7}, EpochNumber{3}, BucketNumber{480'000}};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

// A builder with its memory.
class Room {
public:
    explicit Room(std::uint32_t rows = limits::kBatchRowsMax, std::size_t values = 0, std::size_t bytes = 1 << 20)
        : values_(values == 0 ? BatchBuilder::values_count(rows, 14, 64) : values),
          bytes_(bytes),
          builder_(std::make_unique<BatchBuilder>(values_, bytes_, rows)) {}
    BatchBuilder* operator->() { return builder_.get(); }
    BatchBuilder& operator*() { return *builder_; }

    std::vector<std::byte> seal(std::span<const CountEntry> counts = {}, std::span<const SeqRange> dropped = {},
                                std::span<const ClockPoint> points = {}) {
        std::vector<std::byte> message(builder_->sealed_size_bytes_max(counts.size(), dropped.size(), points.size()));
        const auto size = builder_->seal(kHeader, Ticks{999}, counts, dropped, points, message);
        EXPECT_TRUE(size.ok());
        message.resize(size.ok() ? *size : 0);
        return message;
    }

private:
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::unique_ptr<BatchBuilder> builder_;
};

// Of all its columns of integers, time included.
RowView row_of(Series series, std::span<const std::uint64_t> integers,
               std::span<const std::span<const std::byte>> bytes = {}) {
    return has_time(series.kind) ? RowView{series, Ticks{integers[0]}, integers.subspan(1), bytes}
                                 : RowView{series, Ticks{}, integers, bytes};
}

// A message as libcapnp reads it.
class Read {
public:
    explicit Read(const std::vector<std::byte>& message)
        : words_(message.size() / 8),
          reader_((std::memcpy(words_.data(), message.data(), message.size()),
                   kj::arrayPtr(reinterpret_cast<const capnp::word*>(words_.data()), words_.size()))) {}
    wire::Envelope::Reader envelope() { return reader_.getRoot<wire::Envelope>(); }
    wire::Batch::Reader batch() { return envelope().getBatch(); }

    // Values of an integer column.
    static std::vector<std::uint64_t> values(wire::SeriesRows::Reader rows, ColumnId id) {
        for (const auto column : rows.getColumns()) {
            if (column.getId() == static_cast<std::uint16_t>(id)) {
                std::vector<std::uint64_t> out(rows.getRowCount());
                const auto bytes = column.getBytes();
                EXPECT_TRUE(decode_integers(static_cast<Codec>(column.getCodec()),
                                            std::as_bytes(std::span{bytes.begin(), bytes.size()}), out)
                                .ok());
                return out;
            }
        }
        ADD_FAILURE() << "no such column";
        return {};
    }
    static std::string text(wire::SeriesRows::Reader rows, ColumnId id) {
        for (const auto column : rows.getColumns()) {
            if (column.getId() == static_cast<std::uint16_t>(id)) {
                EXPECT_EQ(column.getCodec(), static_cast<std::uint8_t>(Codec::kBytes));
                return {reinterpret_cast<const char*>(column.getBytes().begin()), column.getBytes().size()};
            }
        }
        ADD_FAILURE() << "no such column";
        return {};
    }

private:
    std::vector<std::uint64_t> words_;
    capnp::FlatArrayMessageReader reader_;
};

std::uint32_t seal_as_read(wire::Batch::Reader batch) {
    std::vector<std::vector<ColumnView>> columns;
    std::vector<SeriesView> series;
    for (const auto rows : batch.getSeries()) {
        auto& list = columns.emplace_back();
        for (const auto column : rows.getColumns()) {
            const auto bytes = column.getBytes();
            list.push_back({static_cast<ColumnId>(column.getId()), static_cast<Codec>(column.getCodec()),
                            std::as_bytes(std::span{bytes.begin(), bytes.size()})});
        }
    }
    std::size_t index = 0;
    for (const auto rows : batch.getSeries()) {
        series.push_back({{static_cast<Kind>(rows.getKind()), EventNumber{rows.getEvent()}},
                          rows.getRowCount(),
                          Ticks{rows.getFirstTicks()},
                          Ticks{rows.getLastTicks()},
                          columns[index++]});
    }
    std::vector<CountEntry> counts;
    for (const auto entry : batch.getCounts()) {
        counts.push_back({{static_cast<Kind>(entry.getKind()), EventNumber{entry.getEvent()}},
                          static_cast<CountName>(entry.getName()),
                          entry.getValue()});
    }
    std::vector<SeqRange> dropped;
    for (const auto range : batch.getDropped()) {
        dropped.push_back({Seq{range.getFirst()}, Seq{range.getLast()}});
    }
    std::vector<ClockPoint> points;
    for (const auto point : batch.getClockPoints()) {
        points.push_back({Ticks{point.getTicks()}, UtcNs{point.getUtcNs()}, point.getUncertaintyNs()});
    }
    const BatchHeader header{SessionId{batch.getSession().getHigh(), batch.getSession().getLow()}, Seq{batch.getSeq()},
                             EpochNumber{batch.getEpoch()}, BucketNumber{batch.getBucket()}};
    return seal_of(header, series, counts, dropped, points);
}

// Rows of many cpus, interleaved; the stack shows their order.
constexpr std::array<std::uint64_t, 5> kCpus{3, 0, 70'000, 255, 256};

TEST(BatchBuilder, SealsSamplesByCpu) {
    for (const std::uint32_t row_count : {1U, 2U, 63U, 64U, 65U, 1'000U}) {
        Room room;
        std::vector<std::vector<std::uint64_t>> rows;
        std::mt19937_64 random{row_count};
        for (std::uint64_t i = 0; i < row_count; ++i) {
            rows.push_back({1'000 + i, kCpus[random() % kCpus.size()], i % 7, i % 9, i, 1'001'001});
        }
        for (int turn = 0; turn < 2; ++turn) {
            room->clear();
            for (const auto& row : rows) {
                ASSERT_TRUE(room->append(row_of(kSamples, row)));
                ASSERT_TRUE(room->append(row_of(
                    kTasks, std::vector<std::uint64_t>{row[0], row[1], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, row[4]})));
            }
            auto expected = rows;
            std::stable_sort(expected.begin(), expected.end(),
                             [](const auto& a, const auto& b) { return a[1] < b[1]; });
            const auto message = room.seal();
            Read read{message};
            const auto batch = read.batch();
            constexpr std::array kColumns{ColumnId::kTime, ColumnId::kCpu,   ColumnId::kPid,
                                          ColumnId::kTid,  ColumnId::kStack, ColumnId::kWeight};
            for (std::size_t column = 0; column < kColumns.size(); ++column) {
                std::vector<std::uint64_t> wanted;
                for (const auto& row : expected) {
                    wanted.push_back(row[column]);
                }
                EXPECT_EQ(Read::values(batch.getSeries()[0], kColumns[column]), wanted);
            }
            EXPECT_EQ(batch.getSeries()[0].getFirstTicks(), 1'000U);
            EXPECT_EQ(batch.getSeries()[0].getLastTicks(), 999U + row_count);
            // The order of task rows has a meaning.
            std::vector<std::uint64_t> came;
            for (const auto& row : rows) {
                came.push_back(row[4]);
            }
            EXPECT_EQ(Read::values(batch.getSeries()[1], ColumnId::kValue), came);
            EXPECT_EQ(batch.getSeal(), seal_as_read(batch));
        }
    }
}

TEST(BatchBuilder, SealsAMessageThatTheLibraryReads) {
    Room room;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        const std::uint64_t row[] = {1'000'000 + i * 37, i % 4, 100, 100 + i % 3, i % 50, 10'101'010};
        ASSERT_TRUE(room->append(row_of(kSamples, row)));
    }
    const CountEntry counts[] = {{kSamples, CountName::kProduced, 1'000}, {kTasks, CountName::kLostKernelRing, 5}};
    const SeqRange dropped[] = {{Seq{2}, Seq{4}}};
    const ClockPoint points[] = {{Ticks{11}, UtcNs{-12}, 13}, {Ticks{21}, UtcNs{22}, 23}};
    const auto message = room.seal(counts, dropped, points);

    Read read(message);
    EXPECT_EQ(read.envelope().getProtocolVersion(), protocol::kVersion);
    ASSERT_EQ(read.envelope().which(), wire::Envelope::BATCH);
    const auto batch = read.batch();
    EXPECT_EQ(batch.getSession().getHigh(), 0x1111U);
    EXPECT_EQ(batch.getSession().getLow(), 0x2222U);
    EXPECT_EQ(batch.getSeq(), 7U);
    EXPECT_EQ(batch.getOldestRetainedSeq(), 0U);
    EXPECT_EQ(batch.getEpoch(), 3U);
    EXPECT_EQ(batch.getBucket(), 480'000U);
    ASSERT_EQ(batch.getSeries().size(), 1U);
    const auto rows = batch.getSeries()[0];
    EXPECT_EQ(rows.getKind(), 1);
    EXPECT_EQ(rows.getEvent(), 0);
    EXPECT_EQ(rows.getRowCount(), 1'000U);
    EXPECT_EQ(rows.getFirstTicks(), 1'000'000U);
    EXPECT_EQ(rows.getLastTicks(), 1'000'000U + 999 * 37);
    ASSERT_EQ(rows.getColumns().size(), 6U);
    const auto stacks = Read::values(rows, ColumnId::kStack);
    const auto times = Read::values(rows, ColumnId::kTime);
    for (std::uint64_t row = 0; row < 1'000; ++row) {
        const std::uint64_t i = row % 250 * 4 + row / 250;  // by cpu
        ASSERT_EQ(times[row], 1'000'000 + i * 37);
        ASSERT_EQ(stacks[row], i % 50);
    }
    ASSERT_EQ(batch.getCounts().size(), 2U);
    EXPECT_EQ(batch.getCounts()[1].getKind(), static_cast<int>(Kind::kTask));
    EXPECT_EQ(batch.getCounts()[1].getEvent(), 0xffff);
    EXPECT_EQ(batch.getCounts()[1].getName(), 2);
    EXPECT_EQ(batch.getCounts()[1].getValue(), 5U);
    ASSERT_EQ(batch.getDropped().size(), 1U);
    EXPECT_EQ(batch.getDropped()[0].getFirst(), 2U);
    EXPECT_EQ(batch.getDropped()[0].getLast(), 4U);
    ASSERT_EQ(batch.getClockPoints().size(), 2U);
    EXPECT_EQ(batch.getClockPoints()[0].getTicks(), 11U);
    EXPECT_EQ(batch.getClockPoints()[0].getUtcNs(), -12);
    EXPECT_EQ(batch.getClockPoints()[0].getUncertaintyNs(), 13U);
    EXPECT_EQ(batch.getSeal(), seal_as_read(batch));
}

TEST(BatchBuilder, PutsDefinitionsBeforeTheRowsThatUseThem) {
    Room room;
    const std::uint64_t sample[] = {5, 0, 1, 1, 1, 1};
    const std::uint64_t stack[] = {1, 0, 0, 0x40};
    const std::uint64_t image[] = {0, image_flags::kFileOffset, 0, 4'096, 2, 4};
    const std::span<const std::byte> image_bytes[] = {bytes_of("id"), bytes_of("/bin")};
    const std::uint64_t string[] = {1, 2};
    const std::span<const std::byte> string_bytes[] = {bytes_of("sh")};
    ASSERT_TRUE(room->append(row_of(kSamples, sample)));
    ASSERT_TRUE(room->append(row_of(kStacks, stack)));
    ASSERT_TRUE(room->append(row_of(kImages, image, image_bytes)));
    ASSERT_TRUE(room->append(row_of(kStrings, string, string_bytes)));
    Read read(room.seal());
    std::vector<int> kinds;
    for (const auto rows : read.batch().getSeries()) {
        kinds.push_back(rows.getKind());
    }
    EXPECT_EQ(kinds, (std::vector<int>{10, 9, 8, 1}));
    EXPECT_EQ(read.batch().getSeries()[1].getFirstTicks(), 999U);
    EXPECT_EQ(read.batch().getSeries()[1].getLastTicks(), 999U);
    EXPECT_EQ(Read::text(read.batch().getSeries()[1], ColumnId::kBuildIdBytes), "id");
    EXPECT_EQ(Read::text(read.batch().getSeries()[1], ColumnId::kNameBytes), "/bin");

    std::vector<Series> order;
    room->each_series([&](Series series, std::uint32_t row_count) {
        order.push_back(series);
        EXPECT_EQ(row_count, 1U);
    });
    EXPECT_EQ(order, (std::vector<Series>{kSamples, kStacks, kImages, kStrings}));
}

TEST(BatchBuilder, KeepsRowsOfInterleavedSeriesApart) {
    std::mt19937 random(11);
    Room room;
    struct Rows {
        std::vector<std::vector<std::uint64_t>> integers;
        std::vector<std::string> bytes;
    };
    std::map<Series, Rows> model;
    std::vector<Series> all;
    for (std::uint16_t event = 0; event < 20; ++event) {
        all.push_back({event % 2 == 0 ? Kind::kSample : Kind::kTracepoint, EventNumber{event}});
    }
    all.push_back(kTasks);
    all.push_back(kImages);
    all.push_back(kStrings);
    for (std::size_t i = 0; i < limits::kBatchRowsMax; ++i) {
        const Series series = all[random() % all.size()];
        std::vector<std::uint64_t> integers;
        std::vector<std::string> texts;
        std::vector<std::span<const std::byte>> bytes;
        for (const ColumnRule& rule : columns_of(series.kind)) {
            if (rule.shape == ColumnShape::kBytes) {
                texts.emplace_back(random() % 20, static_cast<char>('a' + random() % 26));
            }
        }
        std::size_t text = 0;
        for (const ColumnRule& rule : columns_of(series.kind)) {
            const bool is_size =
                rule.id == ColumnId::kRawSize || rule.id == ColumnId::kBuildIdSize || rule.id == ColumnId::kNameSize;
            if (is_size) {
                integers.push_back(texts[text++].size());
            } else if (rule.id == ColumnId::kCpu) {
                integers.push_back(kCpus[random() % kCpus.size()]);
            } else if (rule.shape == ColumnShape::kInteger) {
                integers.push_back((std::uint64_t{random()} << 32 | random()) >> (random() % 64));
            }
        }
        for (const auto& part : texts) {
            bytes.push_back(bytes_of(part));
        }
        ASSERT_TRUE(room->append(row_of(series, integers, bytes)));
        auto& rows = model[series];
        rows.integers.push_back(integers);
        rows.bytes.resize(texts.size());
        for (std::size_t part = 0; part < texts.size(); ++part) {
            rows.bytes[part] += texts[part];
        }
    }
    const std::uint64_t one_more[] = {1, 1, 1, 1, 1, 1};
    EXPECT_FALSE(room->append(row_of(kSamples, one_more)));
    EXPECT_EQ(room->row_count(), limits::kBatchRowsMax);

    Read read(room.seal());
    ASSERT_EQ(read.batch().getSeries().size(), model.size());
    for (const auto rows : read.batch().getSeries()) {
        const Series series{static_cast<Kind>(rows.getKind()), EventNumber{rows.getEvent()}};
        Rows& expected = model[series];
        if (series.kind == Kind::kSample) {
            std::stable_sort(expected.integers.begin(), expected.integers.end(),
                             [](const auto& a, const auto& b) { return a[1] < b[1]; });  // by cpu
        }
        ASSERT_EQ(rows.getRowCount(), expected.integers.size());
        EXPECT_EQ(room->row_count(series), expected.integers.size());
        std::size_t integer = 0;
        std::size_t text = 0;
        for (const ColumnRule& rule : columns_of(series.kind)) {
            if (rule.shape == ColumnShape::kBytes) {
                EXPECT_EQ(Read::text(rows, rule.id), expected.bytes[text++]);
                continue;
            }
            const auto values = Read::values(rows, rule.id);
            for (std::size_t row = 0; row < values.size(); ++row) {
                ASSERT_EQ(values[row], expected.integers[row][integer]);
            }
            ++integer;
        }
        if (!is_definition(series.kind)) {
            const auto times = Read::values(rows, ColumnId::kTime);
            EXPECT_EQ(rows.getFirstTicks(), *std::min_element(times.begin(), times.end()));
            EXPECT_EQ(rows.getLastTicks(), *std::max_element(times.begin(), times.end()));
        }
    }
    EXPECT_EQ(read.batch().getSeal(), seal_as_read(read.batch()));
}

TEST(BatchBuilder, EveryKindPassesWithARow) {
    Room room;
    for (std::uint8_t kind = kKindFirst; kind <= kKindLast; ++kind) {
        std::vector<std::uint64_t> integers;
        std::vector<std::span<const std::byte>> bytes;
        for (const ColumnRule& rule : columns_of(static_cast<Kind>(kind))) {
            if (rule.shape == ColumnShape::kInteger) {
                integers.push_back(0);
            } else {
                bytes.emplace_back();
            }
        }
        ASSERT_TRUE(room->append(row_of({static_cast<Kind>(kind), kNoEvent}, integers, bytes)));
    }
    Read read(room.seal());
    ASSERT_EQ(read.batch().getSeries().size(), std::size_t{kKindLast});
    for (const auto rows : read.batch().getSeries()) {
        EXPECT_EQ(rows.getRowCount(), 1U);
        EXPECT_EQ(rows.getColumns().size(), columns_of(static_cast<Kind>(rows.getKind())).size());
    }
}

TEST(BatchBuilder, AnEmptyBatchIsAMessage) {
    Room room;
    Read read(room.seal());
    EXPECT_EQ(read.batch().getSeq(), 7U);
    EXPECT_EQ(read.batch().getSeries().size(), 0U);
    EXPECT_EQ(read.batch().getSeal(), seal_as_read(read.batch()));
}

TEST(BatchBuilder, EqualRowsGiveEqualBytes) {
    Room first;
    Room second(limits::kBatchRowsMax, 400'000, 1 << 18);
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::uint64_t row[] = {i * i, i % 4, 100, 100, i % 7, 1};
        const std::uint64_t other[] = {i, i, i, i, i, i, i, 1};
        const std::span<const std::byte> raw[] = {bytes_of("r")};
        for (Room* room : {&first, &second}) {
            ASSERT_TRUE((*room)->append(row_of(kSamples, row)));
            ASSERT_TRUE((*room)->append(row_of(kTracepoints, other, raw)));
        }
    }
    EXPECT_EQ(first.seal(), second.seal());
}

TEST(BatchBuilder, ClearedItStartsAnew) {
    Room fresh;
    Room used;
    const std::uint64_t sample[] = {5, 0, 1, 1, 1, 1};
    const std::uint64_t stack[] = {1, 0, 0, 0x40};
    ASSERT_TRUE(used->append(row_of(kStacks, stack)));
    ASSERT_TRUE(used->append(row_of(kTasks, std::vector<std::uint64_t>(14))));
    used->clear();
    EXPECT_EQ(used->row_count(), 0U);
    EXPECT_EQ(used->row_count(kStacks), 0U);
    ASSERT_TRUE(used->append(row_of(kSamples, sample)));
    ASSERT_TRUE(fresh->append(row_of(kSamples, sample)));
    EXPECT_EQ(used.seal(), fresh.seal());
}

TEST(BatchBuilder, SaysNoWithoutAddingWhenMemoryEnds) {
    const std::uint64_t row[] = {1, 1, 1, 1, 1, 1};
    {
        constexpr std::uint32_t kRows = BatchBuilder::kChunkRows;
        Room room(100, 100 + encode_workspace_words(100) + 2 + 6 * kRows);  // one chunk of samples
        for (std::uint32_t i = 0; i < kRows; ++i) {
            ASSERT_TRUE(room->append(row_of(kSamples, row)));
            EXPECT_FALSE(room->append(row_of(kSamples, std::array<std::uint64_t, 6>{1, 2, 1, 1, 1, 1}))) << "cpu 2";
        }
        EXPECT_FALSE(room->append(row_of(kSamples, row)));
        EXPECT_FALSE(room->append(row_of(kTasks, std::vector<std::uint64_t>(14))));
        Read read(room.seal());
        ASSERT_EQ(read.batch().getSeries().size(), 1U);
        EXPECT_EQ(read.batch().getSeries()[0].getRowCount(), kRows);
    }
    {
        Room room(100, 0, 10);
        const std::uint64_t string[] = {1, 6};
        const std::span<const std::byte> text[] = {bytes_of("string")};
        EXPECT_TRUE(room->append(row_of(kStrings, string, text)));
        EXPECT_FALSE(room->append(row_of(kStrings, string, text)));
        EXPECT_EQ(room->row_count(), 1U);
    }
}

TEST(BatchBuilder, HoldsAtMost64Series) {
    Room room;
    const std::uint64_t row[] = {1, 1, 1, 1, 1, 1};
    for (std::uint16_t event = 0; event < limits::kBatchSeriesMax; ++event) {
        ASSERT_TRUE(room->append(row_of({Kind::kSample, EventNumber{event}}, row)));
    }
    EXPECT_FALSE(room->append(row_of({Kind::kSample, EventNumber{99}}, row)));
    EXPECT_TRUE(room->append(row_of({Kind::kSample, EventNumber{5}}, row)));
}

TEST(BatchBuilder, KeepsTheBytesOfASeriesBounded) {
    Room room(limits::kBatchRowsMax, 0, 5U << 20);
    const std::string large(limits::kRawBytesMax, 'x');
    const std::uint64_t row[] = {1, 1, 1, 1, 1, 1, 1, large.size()};
    const std::span<const std::byte> raw[] = {bytes_of(large)};
    std::size_t taken = 0;
    while (room->append(row_of(kTracepoints, row, raw))) {
        taken += large.size();
    }
    EXPECT_LE(taken, limits::kSeriesBytesMax);
    EXPECT_GT(taken + large.size(), limits::kSeriesBytesMax);
}

TEST(BatchBuilder, NeverSealsPastTheSizeOfABatch) {
    std::mt19937_64 random(5);
    for (const std::size_t limit : {std::size_t{40'000}, limits::kBatchSizeBytesMax}) {
        Room room(limits::kBatchRowsMax, 0, 16U << 20);
        room->limit_sealed_size_bytes(limit, limits::kCountsMax);
        const std::string large(60'000, 'x');
        std::size_t rows = 0;
        for (std::uint16_t event = 0;; ++event) {
            // Random values: columns that don't get smaller.
            std::vector<std::uint64_t> row(8);
            for (auto& value : row) {
                value = random();
            }
            const std::string raw_text = large.substr(0, limit < 100'000 ? 10 : large.size());
            row[7] = raw_text.size();
            const std::span<const std::byte> raw[] = {bytes_of(raw_text)};
            if (!room->append(
                    row_of({Kind::kTracepoint, EventNumber{static_cast<std::uint16_t>(event % 8)}}, row, raw))) {
                break;
            }
            ++rows;
        }
        EXPECT_GT(rows, 10U);
        const std::vector<CountEntry> counts(limits::kCountsMax, CountEntry{kSamples, CountName::kProduced, 1});
        const std::vector<SeqRange> dropped(limits::kDroppedRangesMax);
        const std::vector<ClockPoint> points(limits::kClockPointsMax);
        EXPECT_LE(room.seal(counts, dropped, points).size(), limit);
    }
}

TEST(BatchBuilder, TellsAFullOutput) {
    Room room;
    const std::uint64_t row[] = {1, 1, 1, 1, 1, 1};
    ASSERT_TRUE(room->append(row_of(kSamples, row)));
    const std::size_t enough = room->sealed_size_bytes_max(1, 0, 0);
    const CountEntry counts[] = {{kSamples, CountName::kProduced, 1}};
    std::vector<std::byte> out(enough);
    const auto whole = room->seal(kHeader, Ticks{1}, counts, {}, {}, out);
    ASSERT_TRUE(whole.ok());
    for (std::size_t size = 0; size < *whole; ++size) {
        const auto result = room->seal(kHeader, Ticks{1}, counts, {}, {}, std::span{out}.first(size));
        ASSERT_FALSE(result.ok()) << size;
        EXPECT_EQ(result.error().code, ErrorCode::kFull);
    }
}

TEST(BatchBuilder, RefusesMoreCountsThanABatchMayCarry) {
    Room room;
    const std::vector<CountEntry> counts(limits::kCountsMax + 1);
    std::vector<std::byte> out(1 << 20);
    const auto result = room->seal(kHeader, Ticks{1}, counts, {}, {}, out);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kTooLarge);
}

TEST(OldestRetainedSeq, IsSetWithoutTouchingTheSeal) {
    Room room;
    const std::uint64_t row[] = {1, 1, 1, 1, 1, 1};
    ASSERT_TRUE(room->append(row_of(kSamples, row)));
    auto message = room.seal();
    ASSERT_TRUE(set_oldest_retained_seq(message, Seq{5}).ok());
    Read read(message);
    EXPECT_EQ(read.batch().getOldestRetainedSeq(), 5U);
    EXPECT_EQ(read.batch().getSeal(), seal_as_read(read.batch()));
    EXPECT_EQ(read.batch().getSeq(), 7U);
}

TEST(OldestRetainedSeq, RefusesWhatIsNoBatch) {
    std::vector<std::byte> nothing;
    EXPECT_FALSE(set_oldest_retained_seq(nothing, Seq{5}).ok());
    Room room;
    auto message = room.seal();
    message[18] = std::byte{4};  // Envelope's tag
    EXPECT_FALSE(set_oldest_retained_seq(message, Seq{5}).ok());
}

}  // namespace
}  // namespace perfleet::batch_builder_test
