#include "target-collector/spool/spool_reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schemas/columns/crc32c.h"
#include "target-collector/spool/orphan_session.h"
#include "target-collector/spool/testing/spool_fixture.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::spool_reading_test {
namespace {

using spool_test::open_folder;
using spool_test::SpoolingCollector;
using spool_test::TemporaryFolder;

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr SessionId kSession{0x1122334455667788, 0x99aabbccddeeff00};
constexpr std::size_t kSizeBytes = 64U << 10;
constexpr std::uint64_t kRowsABatch = 10;

std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::array<char, 4> pair{};
        std::snprintf(pair.data(), pair.size(), "%s%02x", i % 8 == 0 && i > 0 ? " " : "", static_cast<int>(bytes[i]));
        text += pair.data();
    }
    return text;
}

// Welcomes each Hello, acknowledges up to a seq, and keeps the received messages.
class ScriptedGateway final : public NetworkDriver {
public:
    bool send(std::span<const std::byte> frame) override {
        const SeenFrame seen = see_frame(frame);
        if (seen.tag == wire_layout::MessageTag::kHello) {
            answers_.push_back(make_welcome({seen.session, 1, std::min(prefix, Seq{0}), Seq{1'000}}));
        } else {
            if (seen.tag == wire_layout::MessageTag::kBatch) {
                prefix = seen.seq <= acknowledge_up_to ? std::max(prefix, seen.seq) : prefix;
            }
            answers_.push_back(
                make_ack({seen.session, 1, prefix, Seq{1'000}, seen.tag == wire_layout::MessageTag::kBye}));
        }
        frames.push_back(seen);
        return true;
    }
    Checked<std::size_t> receive(std::span<std::byte> into) override {
        if (answers_.empty()) {
            return std::size_t{0};
        }
        const Frame answer = answers_.front();
        answers_.erase(answers_.begin());
        std::copy(answer.begin(), answer.end(), into.begin());
        return answer.size();
    }
    bool reconnected() override { return false; }

    [[nodiscard]] std::vector<std::uint64_t> batches() const {
        std::vector<std::uint64_t> seqs;
        for (const SeenFrame& frame : frames) {
            if (frame.tag == wire_layout::MessageTag::kBatch) {
                seqs.push_back(frame.seq.value);
            }
        }
        return seqs;
    }

    Seq acknowledge_up_to{~0ULL};
    Seq prefix;
    std::vector<SeenFrame> frames;

private:
    std::vector<Frame> answers_;
};

// What a collector leaves that had sealed eight batches, of which two were acknowledged, and held three rows more.
class OrphanFile : public testing::Test {
protected:
    OrphanFile() {
        ScriptedGateway gateway;
        gateway.acknowledge_up_to = Seq{2};
        const auto folder = open_folder(folder_.path(), kSizeBytes);
        SpoolingCollector collector(*folder, kSession, gateway);
        collector.sealer->begin_epoch(Ticks{1}, UtcNs{1});
        for (int batch = 0; batch < 8; ++batch) {
            append(*collector.sealer, kRowsABatch);
            collector.sealer->flush(Ticks{rows_});
            for (int i = 0; i < 4; ++i) {
                collector.delivery->step(1);
            }
        }
        append(*collector.sealer, 3);
        collector.live_counts().set_last_seen({Ticks{7}, UtcNs{8}, 9});
        path_ = collector.file().path();
        const auto bytes = collector.file().bytes();
        file_.assign(bytes.begin(), bytes.end());
    }

    void append(Sealer& sealer, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t row[] = {0, 1, 1, 1, 1};
            sealer.append({kSamples, Ticks{++rows_}, row});
        }
    }

    [[nodiscard]] std::span<std::byte> records() {
        const std::span<std::byte> file{file_};
        return file.subspan(
            read_spool_head(file.first(kSpoolHeadSizeBytes), file.subspan(kSpoolHeadCopyOffset, kSpoolHeadSizeBytes))
                .value()
                .records_offset());
    }
    // Where the records stand that are kept.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> kept() {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
        const auto reading = read_spool(file_);
        EXPECT_TRUE(reading.ok());
        std::uint64_t at = (*reading)->entry.places.tail;
        while (at < (*reading)->entry.places.head) {
            SpooledBatch head;
            std::memcpy(static_cast<void*>(&head), records().data() + at, sizeof head);
            const std::uint64_t size = DeliverySpool::size_bytes_of(head.series_count, head.message_size_bytes);
            places.emplace_back(at, size);
            at += size;
        }
        return places;
    }
    static void expect_exact(const SpoolReading& reading, std::uint64_t whole_batches) {
        EXPECT_EQ(reading.batch_count, whole_batches);
        EXPECT_EQ(reading.final_counts.get(kSamples, CountName::kProduced), 83U);
        // Two batches were acknowledged.
        EXPECT_EQ(reading.final_counts.get(kSamples, CountName::kLostKilled), 83U - (2 + whole_batches) * kRowsABatch);
        EXPECT_EQ(reading.rows_killed, 83U - (2 + whole_batches) * kRowsABatch);
        EXPECT_EQ(reading.final_counts.get({Kind::kTask, kNoEvent}, CountName::kUncleanEnd), 1U)
            << "what was in the kernel's rings is in no count";
    }
    void write_back() {
        auto file = SpoolFile::open(path_);
        ASSERT_TRUE(file.ok()) << file.error().message;
        std::copy(file_.begin(), file_.end(), (*file)->bytes().begin());
    }

    TemporaryFolder folder_;
    std::string path_;
    std::vector<std::byte> file_;
    std::uint64_t rows_ = 0;
};

TEST_F(OrphanFile, TellsWhatWasKeptAndWhatTheKillTook) {
    const auto reading = read_spool(file_);
    ASSERT_TRUE(reading.ok());
    EXPECT_EQ((*reading)->head.session, kSession);
    EXPECT_EQ((*reading)->entry.last_sealed, Seq{8});
    EXPECT_EQ((*reading)->end_point, (ClockPoint{Ticks{7}, UtcNs{8}, 9}));
    EXPECT_TRUE((*reading)->holes.empty());
    EXPECT_FALSE((*reading)->entry.has_final);
    expect_exact(**reading, 6);
}

// After a loss of power they may be older than the rest of the file.
TEST_F(OrphanFile, HasProducedWhatIsKeptWhereItsCountsAreLost) {
    const auto counts = std::span{file_}.subspan(kSpoolCountsOffset, kLiveCountsSizeBytes);
    std::fill(counts.begin(), counts.end(), std::byte{0});
    const auto reading = read_spool(file_);
    ASSERT_TRUE(reading.ok());
    EXPECT_EQ((*reading)->batch_count, 6U);
    EXPECT_EQ((*reading)->final_counts.get(kSamples, CountName::kProduced), 8 * kRowsABatch);
    EXPECT_EQ((*reading)->final_counts.get(kSamples, CountName::kLostKilled), 0U);
    EXPECT_EQ((*reading)->rows_killed, 0U);
}

TEST_F(OrphanFile, IsDeliveredUnderItsOwnSession) {
    ScriptedGateway gateway;
    gateway.prefix = Seq{2};
    auto left = OrphanSession::open(path_, gateway);
    ASSERT_TRUE(left.ok());
    for (int i = 0; i < 20; ++i) {
        (*left)->delivery().step(1);
    }
    EXPECT_TRUE((*left)->delivery().status().finished);
    EXPECT_EQ(gateway.batches(), (std::vector<std::uint64_t>{3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(gateway.frames.front().session, kSession);
    EXPECT_EQ(gateway.frames.front().target_name, "spooling");
    EXPECT_EQ(gateway.frames.front().oldest_retained, Seq{3});
    const SeenFrame& bye = gateway.frames.back();
    EXPECT_EQ(bye.tag, wire_layout::MessageTag::kBye);
    EXPECT_EQ(bye.seq, Seq{8});
    EXPECT_EQ(bye.entry(kSamples, CountName::kProduced), 83U);
    EXPECT_EQ(bye.entry(kSamples, CountName::kLostKilled), 3U);
    EXPECT_EQ(bye.end_point, (ClockPoint{Ticks{7}, UtcNs{8}, 9}));
}

TEST_F(OrphanFile, ARecordDamagedAnywhereIsLeftOutAndCounted) {
    const auto places = kept();
    ASSERT_EQ(places.size(), 6U);
    const std::vector<std::byte> good = file_;
    for (std::size_t record = 0; record < places.size(); ++record) {
        const auto [at, size] = places[record];
        for (std::uint64_t byte = at; byte < at + size; ++byte) {
            file_ = good;
            records()[byte] ^= std::byte{0x10};
            const auto reading = read_spool(file_);
            ASSERT_TRUE(reading.ok());
            // Nothing that stays: refused_by in a future entry, and what only the process needed.
            const bool is_passing = byte - at >= offsetof(SpooledBatch, sent_ns) && byte - at < sizeof(SpooledBatch);
            if (is_passing || (*reading)->batch_count == places.size()) {
                // The other such bytes: fill behind the message, and oldestRetainedSeq, which each sending sets.
                EXPECT_TRUE((*reading)->holes.empty());
                expect_exact(**reading, 6);
                continue;
            }
            expect_exact(**reading, 5);
            if (!(*reading)->holes.empty()) {
                ASSERT_EQ((*reading)->holes.size(), 1U) << byte;
                EXPECT_EQ((*reading)->holes[0].offset, at);
                EXPECT_EQ((*reading)->holes[0].size_bytes, size);
            }
        }
    }
}

TEST_F(OrphanFile, ARecordTornAtAnyByteIsLeftOutAndCounted) {
    const auto [at, size] = kept().back();
    const std::vector<std::byte> good = file_;
    for (std::uint64_t written = 0; written < size; ++written) {
        file_ = good;
        std::fill_n(records().begin() + static_cast<std::ptrdiff_t>(at + written), size - written, std::byte{0});
        const auto reading = read_spool(file_);
        ASSERT_TRUE(reading.ok());
        // The end of a record may be zeros anyway.
        expect_exact(**reading, std::equal(good.begin(), good.end(), file_.begin()) ? 6 : (*reading)->batch_count);
        EXPECT_GE((*reading)->batch_count, 5U);
    }
}

TEST_F(OrphanFile, WhatStandsAroundAHoleIsDelivered) {
    const auto places = kept();
    for (const std::size_t record : {std::size_t{0}, std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
        std::fill_n(records().begin() + static_cast<std::ptrdiff_t>(places[record].first), places[record].second,
                    std::byte{0xee});
    }
    write_back();
    std::vector<std::string> logged;
    ASSERT_NE(open_folder(folder_.path(), kSizeBytes, &logged), nullptr);
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find(path_), std::string::npos);
    EXPECT_NE(logged[0].find("3 places"), std::string::npos) << logged[0];
    ScriptedGateway gateway;
    gateway.prefix = Seq{2};
    auto left = OrphanSession::open(path_, gateway);
    ASSERT_TRUE(left.ok());
    for (int i = 0; i < 20; ++i) {
        (*left)->delivery().step(1);
    }
    EXPECT_TRUE((*left)->delivery().status().finished);
    EXPECT_EQ(gateway.batches(), (std::vector<std::uint64_t>{4, 7}));
    EXPECT_EQ(gateway.frames.back().entry(kSamples, CountName::kLostKilled), 43U);
    EXPECT_EQ(gateway.frames.back().entry(kSamples, CountName::kProduced), 83U);
}

TEST_F(OrphanFile, AFileCutAtAnyLengthIsAnErrorOrHasHoles) {
    const auto head = read_spool_head(std::span{file_}.first(kSpoolHeadSizeBytes));
    ASSERT_TRUE(head.ok());
    for (std::size_t size = 0; size < file_.size(); size += size < 200 ? 1 : 97) {
        const auto reading = read_spool(std::span{file_}.first(size));
        ASSERT_FALSE(reading.ok()) << size;
        EXPECT_EQ(reading.error().code, ErrorCode::kTruncated);
    }
    // On disk it gets its length back, and what is lost is counted.
    const auto [at, size] = kept()[4];
    std::filesystem::resize_file(path_, head->records_offset() + at + size / 2);
    ScriptedGateway gateway;
    const auto left = OrphanSession::open(path_, gateway);
    ASSERT_TRUE(left.ok()) << left.error().message;
    expect_exact((*left)->reading(), 4);
}

// A writer that wraps puts a record there; without one the walk from record to record would never end.
TEST_F(OrphanFile, AJournalWhoseWrappedSpoolHasNothingAtItsBeginningCountsAsLost) {
    const auto reading = read_spool(file_);
    ASSERT_TRUE(reading.ok());
    DeliveryState state;
    state.places = (*reading)->entry.places;
    state.places.wrap_end = state.places.head;
    state.places.head = 0;
    state.places.is_wrapped = true;
    state.last_sealed = (*reading)->entry.last_sealed;
    DeliveryJournal journal{std::span{file_}.subspan(kSpoolJournalOffset, kJournalSizeBytes), (*reading)->entry.number};
    journal.write(state);
    const auto again = read_spool(file_);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE((*again)->is_journal_lost);
    EXPECT_EQ((*again)->batch_count, 6U);
}

// Every byte that isn't a record's: head, counts, journal, Hello and the copies of them.
TEST_F(OrphanFile, DamageOutsideOfTheRecordsLosesNoBatchAndNoCount) {
    const std::size_t end = read_spool_head(std::span{file_}.first(kSpoolHeadSizeBytes)).value().records_offset();
    const std::vector<std::byte> good = file_;
    std::size_t changed = 0;
    for (std::size_t byte = 0; byte < end; ++byte) {
        if (good[byte] == std::byte{0} && byte % 512 != 0) {
            continue;  // unused, nearly everywhere
        }
        ++changed;
        file_[byte] ^= std::byte{0x80};
        const auto reading = read_spool(file_);
        file_[byte] = good[byte];
        ASSERT_TRUE(reading.ok()) << byte;
        EXPECT_EQ((*reading)->head.session, kSession);
        EXPECT_EQ((*reading)->batch_count, 6U) << byte;
        EXPECT_FALSE((*reading)->is_journal_lost);
        // A count that another one could have grown to between two clock points can't be known as damaged.
        const bool is_value = byte >= kSpoolCountsOffset + 64 && byte < kSpoolCountsOffset + 1'024;
        if (!is_value || (*reading)->damaged_count_count != 0) {
            expect_exact(**reading, 6);
            EXPECT_EQ((*reading)->end_point, (ClockPoint{Ticks{7}, UtcNs{8}, 9})) << byte;
        }
    }
    EXPECT_GT(changed, 500U);
}

TEST_F(OrphanFile, WithoutItsJournalEveryWholeRecordIsDeliveredAndTheRestIsNotCalledKilled) {
    const auto journal = std::span{file_}.subspan(kSpoolJournalOffset, kJournalSizeBytes);
    std::fill(journal.begin(), journal.end(), std::byte{0xff});
    write_back();
    std::vector<std::string> logged;
    const auto folder = open_folder(folder_.path(), kSizeBytes, &logged);
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find("its journal is lost"), std::string::npos) << logged[0];
    EXPECT_EQ(folder->damaged_count(), 1U);
    ScriptedGateway gateway;
    gateway.prefix = Seq{2};
    auto left = OrphanSession::open(path_, gateway);
    ASSERT_TRUE(left.ok()) << left.error().message;
    for (int i = 0; i < 30; ++i) {
        (*left)->delivery().step(1);
    }
    EXPECT_TRUE((*left)->delivery().status().finished);
    EXPECT_EQ(gateway.batches(), (std::vector<std::uint64_t>{3, 4, 5, 6, 7, 8}));
    const SeenFrame& bye = gateway.frames.back();
    EXPECT_EQ(bye.seq, Seq{8});
    EXPECT_EQ(bye.entry(kSamples, CountName::kProduced), 83U);
    EXPECT_EQ(bye.entry(kSamples, CountName::kLostKilled), 0U);
}

// The older entry keeps batches 3 to 7; 8 was written, and may have been sent, before the newer one was damaged.
TEST_F(OrphanFile, WithoutTheNewestJournalEntryTheOneBeforeStands) {
    const auto number = read_spool(file_).value()->entry.number;
    file_[kSpoolJournalOffset + number % 2 * kJournalSlotSizeBytes + 20] ^= std::byte{1};
    const auto reading = read_spool(file_);
    ASSERT_TRUE(reading.ok());
    EXPECT_EQ((*reading)->entry.number, number - 1);
    EXPECT_EQ((*reading)->entry.last_sealed, Seq{8});
    expect_exact(**reading, 6);
}

// A ring of records that wrapped often: those that stand in it are found in their order.
TEST(SpoolRing, IsReadWithoutItsJournal) {
    const TemporaryFolder place;
    ScriptedGateway gateway;
    auto folder = open_folder(place.path(), kSizeBytes);
    SpoolingCollector collector(*folder, kSession, gateway);
    collector.sealer->begin_epoch(Ticks{1}, UtcNs{1});
    std::mt19937_64 random(3);
    std::size_t wrapped = 0;
    for (std::uint64_t batch = 1; batch <= 800; ++batch) {
        for (std::uint64_t i = random() % 60 + 1; i > 0; --i) {
            const std::uint64_t row[] = {random() % 9, 1, random(), 1, 1};
            collector.sealer->append({kSamples, Ticks{random()}, row});
        }
        collector.sealer->flush(Ticks{batch});
        gateway.acknowledge_up_to = Seq{batch > 20 ? batch - random() % 20 : 0};
        for (int i = 0; i < 4; ++i) {
            collector.delivery->step(batch * 10'000'000'000);
        }
        const auto bytes = collector.file().bytes();
        std::vector<std::byte> file(bytes.begin(), bytes.end());
        const auto whole = read_spool(file);
        ASSERT_TRUE(whole.ok());
        const auto journal = std::span{file}.subspan(kSpoolJournalOffset, kJournalSizeBytes);
        std::fill(journal.begin(), journal.end(), std::byte{0});
        const auto found = read_spool(file);
        ASSERT_TRUE(found.ok()) << batch;
        EXPECT_TRUE((*found)->is_journal_lost);
        EXPECT_TRUE((*found)->holes.empty());
        EXPECT_EQ((*found)->entry.last_sealed, (*whole)->entry.last_sealed);
        EXPECT_LE((*found)->entry.first_kept, (*whole)->entry.first_kept);
        EXPECT_GE((*found)->batch_count, (*whole)->batch_count);
        wrapped += (*found)->entry.places.is_wrapped ? 1 : 0;
    }
    EXPECT_GT(wrapped, 100U);
}

TEST_F(OrphanFile, RandomDamageIsNeverACrash) {
    const std::vector<std::byte> good = file_;
    std::mt19937_64 random(1);
    std::uint64_t readable = 0;
    for (int round = 0; round < 2'000; ++round) {
        file_ = good;
        for (std::uint64_t i = random() % 8; i > 0; --i) {
            file_[random() % file_.size()] ^= static_cast<std::byte>(1U << random() % 8);
        }
        // Checksums made right, so that what stands behind them is tried, too.
        if (round % 2 == 0) {
            file_[16 + random() % 48] ^= static_cast<std::byte>(random());
            std::uint32_t checksum = crc32c(crc32c(0, std::span{file_}.first(12)), std::span{file_}.subspan(16, 48));
            std::memcpy(file_.data() + 12, &checksum, sizeof checksum);
            for (const std::size_t slot : {kSpoolJournalOffset, kSpoolJournalOffset + kJournalSlotSizeBytes}) {
                std::uint32_t size = 0;
                std::memcpy(&size, file_.data() + slot + 8, sizeof size);
                size = std::min<std::uint32_t>(size, kJournalSlotSizeBytes - 16);
                file_[slot + 16 + random() % 96] ^= static_cast<std::byte>(random());
                checksum =
                    crc32c(crc32c(0, std::span{file_}.subspan(slot, 12)), std::span{file_}.subspan(slot + 16, size));
                std::memcpy(file_.data() + slot + 12, &checksum, sizeof checksum);
            }
        }
        const auto reading = read_spool(file_);
        if (!reading.ok()) {
            continue;
        }
        ++readable;
        std::vector<std::byte> records_copy(records().begin(), records().end());
        fill_spool_holes(**reading, records_copy);
    }
    EXPECT_GT(readable, 500U);
}

// As a loss of power leaves a file: each page is as old as it likes.
TEST(SpoolPages, OfDifferentAgeAreNeverMisread) {
    constexpr std::size_t kPageSizeBytes = 4'096;
    const TemporaryFolder place;
    std::string path;
    std::map<Seq, std::uint32_t> seals;
    std::deque<std::vector<std::byte>> ages;
    std::mt19937_64 random(1);
    std::uint64_t holes = 0;
    std::uint64_t delivered = 0;
    std::uint64_t readable = 0;
    ScriptedGateway gateway;
    auto folder = open_folder(place.path(), kSizeBytes);
    SpoolingCollector collector(*folder, kSession, gateway);
    path = collector.file().path();
    collector.sealer->begin_epoch(Ticks{1}, UtcNs{1});
    for (std::uint64_t batch = 1; batch <= 600; ++batch) {
        for (std::uint64_t i = 0; i < kRowsABatch; ++i) {
            const std::uint64_t row[] = {random() % 9, 1, random(), 1, 1};
            collector.sealer->append({kSamples, Ticks{random()}, row});
        }
        collector.sealer->flush(Ticks{batch});
        // Now it keeps much, now little.
        gateway.acknowledge_up_to = Seq{batch % 100 < 50 ? batch / 100 * 100 : batch - 3};
        for (int i = 0; i < 4; ++i) {
            collector.delivery->step(batch * 10'000'000'000);
        }
        const auto bytes = collector.file().bytes();
        ages.emplace_back(bytes.begin(), bytes.end());
        if (ages.size() > 20) {
            ages.pop_front();
        }
        std::vector<std::byte> mixed(bytes.begin(), bytes.end());
        for (std::size_t page = 0; page + kPageSizeBytes <= mixed.size(); page += kPageSizeBytes) {
            const auto& age = ages[random() % ages.size()];
            std::copy_n(age.begin() + static_cast<std::ptrdiff_t>(page), kPageSizeBytes,
                        mixed.begin() + static_cast<std::ptrdiff_t>(page));
        }
        for (const SeenFrame& frame : gateway.frames) {
            if (frame.tag == wire_layout::MessageTag::kBatch) {
                seals[frame.seq] = frame.seal;
            }
        }
        gateway.frames.clear();
        const auto reading = read_spool(mixed);
        if (!reading.ok() || batch % 5 != 0) {
            continue;
        }
        ++readable;
        holes += (*reading)->holes.size();
        const std::string other = place / "mixed";
        std::ofstream(other, std::ios::binary)
            .write(reinterpret_cast<const char*>(mixed.data()), static_cast<std::streamsize>(mixed.size()));
        ScriptedGateway next;
        auto left = OrphanSession::open(other, next);
        ASSERT_TRUE(left.ok()) << left.error().message;
        for (int i = 0; i < 100 && !(*left)->delivery().status().finished; ++i) {
            (*left)->delivery().step(1);
        }
        EXPECT_TRUE((*left)->delivery().status().finished);
        for (const SeenFrame& frame : next.frames) {
            if (frame.tag == wire_layout::MessageTag::kBatch) {
                ++delivered;
                ASSERT_TRUE(seals.contains(frame.seq)) << frame.seq.value;
                EXPECT_EQ(frame.seal, seals[frame.seq]);
            }
        }
    }
    EXPECT_GT(readable, 50U);
    EXPECT_GT(holes, 50U);
    EXPECT_GT(delivered, 500U);
}

// Published values: the layout stands in FORMAT.md, the checksum is that of RFC 3720 over bytes 0 to 11 and 16 to 63.
TEST(SpoolHead, HasTheDocumentedBytes) {
    SpoolHead head;
    head.ordinal = 3;
    head.session = kSession;
    head.hello_size_bytes = 0x210;
    head.hello_checksum = 0xa1b2c3d4;
    head.records_size_bytes = 0x10000;
    std::array<std::byte, kSpoolHeadSizeBytes> bytes{};
    write_spool_head(head, bytes);
    EXPECT_EQ(hex(bytes),
              "50464c53504f4f4c 01000000884206ff 0300000000000000 8877665544332211 00ffeeddccbbaa99 1002000000000000 "
              "d4c3b2a100000000 0000010000000000");
    const auto read = read_spool_head(bytes);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->session, kSession);
    EXPECT_EQ(read->records_offset(), 180'224U);
}

TEST(SpoolHead, IsRefusedWhenAnyBitIsOther) {
    std::array<std::byte, kSpoolHeadSizeBytes> good{};
    write_spool_head({1, kSession, 16, 7, 4'096}, good);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        auto bytes = good;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        const auto read = read_spool_head(bytes);
        ASSERT_FALSE(read.ok()) << bit;
        EXPECT_EQ(read.error().code, bit < 64 ? ErrorCode::kInvalid : ErrorCode::kCorrupt);
        EXPECT_EQ(read_spool_head(bytes, good).value().session, kSession);
        EXPECT_EQ(read_spool_head(good, bytes).value().session, kSession);
    }
}

}  // namespace
}  // namespace perfleet::spool_reading_test
