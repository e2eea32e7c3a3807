// What only a store on disk can do: be read beside its writer, be killed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "storage/block/block.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/rocksdb/table_files.h"
#include "storage/engine/testing/rocksdb_fixture.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/testing/stores.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;
using test_writer::kBucket;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

TEST_F(RocksdbStore, KeepsWhatWasSyncedWhenTheWriterIsKilled) {
    std::uint64_t promised = 0;
    for (const int more : {1, 40, 200}) {
        directory_ = folder_->path() + "/data" + std::to_string(more);
        Child child{"write", directory_};
        for (int i = 0; i < more; ++i) {
            const std::string line = child.line();
            ASSERT_FALSE(line.empty());
            promised = std::stoull(line);
        }
        child.kill();
        for (std::string line = child.line(); !line.empty(); line = child.line()) {
            promised = std::stoull(line);  // reported before it was killed
        }
        const auto expect_promise = [&](const StoreReader& reader) {
            const auto seqs = intact_seqs(reader);
            EXPECT_GE(seqs.size(), promised);
            EXPECT_EQ(seqs, one_to(seqs.size())) << "no holes";
            auto watermark = reader.watermark(kTarget, kSession);
            ASSERT_TRUE(watermark.ok());
            EXPECT_GE(watermark->value, promised);
        };
        expect_promise(*open_reader());
        auto store = open();
        ASSERT_NE(store, nullptr);
        expect_promise(*store);
        const std::vector again{test_writer::batch(Seq{promised})};
        auto outcomes = store->put(test_writer::partition(), again);
        ASSERT_TRUE(outcomes.ok());
        EXPECT_EQ(outcomes->at(0), PutOutcome::kDuplicate);
    }
}

TEST_F(RocksdbStore, IsReadBesideItsWriter) {
    auto store = open();
    put(*store, 1, 5);
    ASSERT_TRUE(store->sync().ok());
    auto reader = open_reader();
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(intact_seqs(*reader), one_to(5));

    put(*store, 6, 9);
    ASSERT_TRUE(store->sync().ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(5)) << "what a reader sees changes with refresh() only";
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(9));

    store = nullptr;
    store = open();  // writes its log into table files
    put(*store, 10, 12);
    ASSERT_TRUE(store->sync().ok());
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(12));
}

TEST_F(RocksdbStore, IsReadWithoutErrorsWhileItIsWritten) {
    Child child{"follow", directory_};  // or a slow reader would have ever more to read
    child.write('.');
    std::uint64_t promised = std::stoull(child.line());
    auto reader = open_reader();
    for (int round = 0; round < 30; ++round) {
        child.write('.');
        promised = std::max<std::uint64_t>(promised, std::stoull(child.line()));
        auto refreshed = reader->refresh();
        ASSERT_TRUE(refreshed.ok()) << refreshed.error().message;
        const auto seqs = intact_seqs(*reader);
        EXPECT_GE(seqs.size(), promised);
        EXPECT_EQ(seqs, one_to(seqs.size()));
        EXPECT_GE(intact_seqs(*open_reader()).size(), promised);
        promised = seqs.size();
    }
}

// Flushed and compacted before a reader looks again, and nothing written since.
TEST_F(RocksdbStore, ShowsReadersNoValueThatWasReplacedOrDeletedBeforeACompaction) {
    const std::string kept = "\x01kept";
    const std::string gone = "\x01gone";
    auto writer = open_rocksdb_writer_engine(directory_);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const auto write = [&](const Changes& changes) {
        ASSERT_TRUE((*writer)->write({}, 0, changes).ok());
        ASSERT_TRUE((*writer)->sync().ok());
    };
    write({.puts = {{kept, "old"}, {gone, "old"}}, .deletes = {}});
    const auto reader = open_rocksdb_reader_engine(directory_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ((*reader)->get(gone).value(), "old");
    write({.puts = {{kept, "new"}}, .deletes = {gone}});
    ASSERT_TRUE((*writer)->reclaim(everything(), nullptr).ok());
    for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE((*reader)->refresh().ok());
        EXPECT_EQ((*reader)->get(kept).value(), "new");
        EXPECT_EQ((*reader)->get(gone).value(), std::nullopt);
    }
}

TEST_F(RocksdbStore, ShowsItsLastWordToReadersAfterAReopen) {
    auto store = open();
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{5}).ok());
    auto reader = open_reader();
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{9}).ok());
    store = nullptr;
    store = open();
    ASSERT_TRUE(reader->refresh().ok());
    auto watermark = reader->watermark(kTarget, kSession);
    ASSERT_TRUE(watermark.ok());
    EXPECT_EQ(*watermark, Seq{9});
}

// Memtables so small that logs are deleted while readers look at them.
TEST_F(RocksdbStore, ShowsReadersAllThatWasSyncedWhileLogsComeAndGo) {
    constexpr std::uint64_t kSeqs = 1'500;
    constexpr std::uint64_t kSeqsAhead = 150;  // some logs, of which a reader may meet each once
    auto store = open_store(directory_, {1U << 20});
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
    ASSERT_TRUE((*store)->sync().ok());
    std::atomic<std::uint64_t> synced{0};
    std::atomic<std::uint64_t> may_be_put{kSeqsAhead};
    std::atomic<bool> is_done{false};
    std::thread writer{[&] {
        for (std::uint64_t seq = 1; !is_done; ++seq) {
            while (!is_done && seq > may_be_put) {
                std::this_thread::sleep_for(std::chrono::microseconds{50});
            }
            const std::vector batches{test_writer::batch(Seq{seq})};
            EXPECT_TRUE((*store)->put(test_writer::partition(), batches).ok());
            EXPECT_TRUE((*store)->sync().ok());
            synced = seq;
        }
    }};
    auto following = open_reader();
    for (int round = 0; round < 40 && synced < kSeqs; ++round) {
        const std::uint64_t promised = synced;
        may_be_put = promised + kSeqsAhead;
        EXPECT_TRUE(following->refresh().ok());
        EXPECT_GE(intact_seqs(*following).size(), promised);
        const std::uint64_t promised_now = synced;
        may_be_put = promised_now + kSeqsAhead;
        EXPECT_GE(intact_seqs(*open_reader()).size(), promised_now);
    }
    is_done = true;
    writer.join();
}

TEST_F(RocksdbStore, ShowsADropToItsReaders) {
    auto store = open();
    put(*store, 1, 5);
    ASSERT_TRUE(store->sync().ok());
    auto reader = open_reader();
    ASSERT_TRUE(store->drop(test_writer::partition()).ok());
    EXPECT_EQ(intact_seqs(*reader), one_to(5));
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_TRUE(intact_seqs(*reader).empty());
    auto expired = reader->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    EXPECT_EQ(*expired, (std::vector<std::pair<Series, std::uint64_t>>{{kSeries, 5'000}}));
}

// The rows' times, in the order of the visit.
std::vector<std::uint64_t> times_in(const StoreReader& reader) {
    std::vector<std::uint64_t> times;
    DecodedRows rows;
    const std::vector<ColumnId> wanted{ColumnId::kTime};
    EXPECT_TRUE(visit_blocks(reader, test_writer::partition(), kTarget, kSession, kSeries,
                             [&](const BlockKey&, std::string_view bytes) {
                                 const auto block = parse_block_untrusted(bytes);
                                 EXPECT_TRUE(block.ok() && rows.decode(*block, wanted).ok());
                                 const auto own = rows.integers(ColumnId::kTime);
                                 times.insert(times.end(), own.begin(), own.end());
                                 return Visit::kContinue;
                             })
                    .ok());
    return times;
}

// Beside the writer while it compacts, step by step, and when a later writer has taken over: the same rows.
TEST_F(RocksdbStore, ShowsItsReadersTheSameRowsWhileTheyAreCompacted) {
    auto store = open();
    put(*store, 1, 40);
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{40}).ok());
    ASSERT_TRUE(store->sync().ok());
    const auto reader = open_reader();
    const auto times = times_in(*reader);
    ASSERT_EQ(times.size(), 40'000U);
    constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
    int step_count = 0;
    for (int call = 0; call < 3; ++call) {
        ASSERT_TRUE(store
                        ->compact(kLater,
                                  [&](const CompactionStep&) {
                                      EXPECT_TRUE(reader->refresh().ok());
                                      EXPECT_EQ(times_in(*reader), times);
                                      return ++step_count < 3 ? Visit::kStop : Visit::kContinue;
                                  })
                        .ok());
        EXPECT_EQ(times_in(*reader), times) << "before it looks";
        store = nullptr;
        store = open();
        EXPECT_EQ(times_in(*reader), times);
        ASSERT_TRUE(reader->refresh().ok());
        EXPECT_EQ(times_in(*reader), times);
    }
    EXPECT_EQ(step_count, 4) << "three blocks and the records";
    int block_count = 0;
    ASSERT_TRUE(visit_blocks(*reader, test_writer::partition(), kTarget, kSession, kSeries,
                             [&](const BlockKey&, std::string_view) {
                                 ++block_count;
                                 return Visit::kContinue;
                             })
                    .ok());
    EXPECT_EQ(block_count, 3);
}

// It is in no log: a kill before it is in a table file undoes it, and nothing else.
TEST_F(RocksdbStore, CompactsAgainWhatAKillHasUndone) {
    constexpr UtcNs kLater{4'000'000'000 * kNsPerSecond};
    const auto block_count = [&](const StoreReader& reader) {
        int count = 0;
        EXPECT_TRUE(visit_blocks(reader, test_writer::partition(), kTarget, kSession, kSeries,
                                 [&](const BlockKey&, std::string_view) {
                                     ++count;
                                     return Visit::kContinue;
                                 })
                        .ok());
        return count;
    };
    auto store = open();
    put(*store, 1, 40);
    ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{40}).ok());
    ASSERT_TRUE(store->sync().ok());
    const std::string killed = directory_ + "-killed";
    std::vector<std::uint64_t> times;
    int step_count = 0;
    const auto compacted = store->compact(kLater, [&](const CompactionStep&) {
        if (++step_count == 2) {
            put(*store, 41, 42);  // goes to the log behind what doesn't
            EXPECT_TRUE(store->sync().ok());
            EXPECT_LT(block_count(*store), 42);
            times = times_in(*store);
            fs::copy(directory_, killed);
        }
        return Visit::kContinue;
    });
    ASSERT_TRUE(compacted.ok());
    EXPECT_EQ(times.size(), 42'000U);
    directory_ = killed;
    const auto opened = open();
    EXPECT_EQ(block_count(*opened), 42);
    EXPECT_EQ(times_in(*opened), times);
    ASSERT_TRUE(opened->advance_watermark(kTarget, kSession, Seq{42}).ok());
    ASSERT_TRUE(opened->sync().ok());
    const auto reader = open_reader();
    ASSERT_TRUE(opened->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    EXPECT_EQ(times_in(*opened), times);
    ASSERT_TRUE(reader->refresh().ok());
    EXPECT_EQ(times_in(*reader), times);
    EXPECT_EQ(block_count(*reader), block_count(*opened)) << "what is done is shown to readers";
    EXPECT_LT(block_count(*reader), 10);
}

TEST_F(RocksdbStore, GivesBackTheSpaceOfADroppedPartition) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    const Partition next = partition_of(kTarget, kNext);
    auto store = open();
    put(*store, 1, 1'000);
    ASSERT_TRUE(store->define(next, test_writer::session()).ok());
    const std::vector kept{test_writer::batch(Seq{1'001}, kSession, kNext)};
    ASSERT_TRUE(store->put(next, kept).ok());
    store = nullptr;
    store = open();
    const auto size_bytes = [&] {
        std::uintmax_t sum = 0;
        for (const auto& entry : fs::directory_iterator{directory_}) {
            if (entry.path().extension() == ".sst") {
                sum += entry.file_size();
            }
        }
        return sum;
    };
    const std::uintmax_t before = size_bytes();
    ASSERT_GT(before, 1'000'000U);
    ASSERT_TRUE(store->drop(test_writer::partition()).ok());
    store = nullptr;
    store = open();
    EXPECT_LT(size_bytes(), before / 4);
    EXPECT_TRUE(intact_seqs(*store).empty());
    std::size_t kept_count = 0;
    ASSERT_TRUE(visit_blocks(*store, next, kTarget, kSession, kSeries, [&](const BlockKey&, std::string_view block) {
                    EXPECT_EQ(block, kept[0].series[0].block);
                    ++kept_count;
                    return Visit::kContinue;
                }).ok());
    EXPECT_EQ(kept_count, 1U);
}

// So an old day's files are left alone by what happens in newer ones.
TEST_F(RocksdbStore, RewritesNoTwoDaysIntoOneTableFile) {
    constexpr BucketNumber kNextDay{kBucket.value + 24};
    constexpr SessionId kOther{1, 2};
    auto store = open();
    put(*store, 1, 5);
    const std::vector next_day{test_writer::batch(Seq{6}, kSession, kNextDay)};
    ASSERT_TRUE(store->define(partition_of(kTarget, kNextDay), test_writer::session()).ok());
    ASSERT_TRUE(store->put(partition_of(kTarget, kNextDay), next_day).ok());
    ASSERT_TRUE(store->define(test_writer::partition(), sample_session(kTarget, kOther)).ok());
    store = nullptr;
    store = open();  // one table file of what was in the log
    const auto table_and_day = [](const std::string& key) {
        const auto partition = decode_partition(key);
        return std::pair{key.at(0), partition.ok() ? partition->bucket.value / 24 : 0};
    };
    const auto shared_files = [&] {
        const auto files = live_table_files(directory_);
        EXPECT_TRUE(files.has_value());
        return std::count_if(files->begin(), files->end(), [&](const TableFileCheck& file) {
            return table_and_day(file.first_key) != table_and_day(file.last_key);
        });
    };
    EXPECT_EQ(shared_files(), 1);
    const std::vector sessions{SessionName{kTarget, kOther}};
    ASSERT_TRUE(store->remove_sessions(sessions, nullptr).ok());  // which rewrites it
    EXPECT_EQ(shared_files(), 0);
}

}  // namespace
}  // namespace perfleet
