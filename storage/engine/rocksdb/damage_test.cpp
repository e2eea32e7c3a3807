// Damaged files: an error that names the place, never a stop and never other bytes than were stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "storage/block/block.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/rocksdb/table_files.h"
#include "storage/engine/testing/file_bytes.h"
#include "storage/key/key_bytes.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;
using test_writer::kBucket;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

constexpr SessionId kOther{0xabc, 0xdf0};
constexpr BucketNumber kNext{kBucket.value + 1};
constexpr std::uint64_t kBatches = 60;

class DamagedStore : public testing::Test {
protected:
    // Two sessions in one partition, one of them in the next, too.
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        intact_ = folder_->path() + "/intact";
        damaged_ = folder_->path() + "/damaged";
        auto store = open_store(intact_);
        ASSERT_TRUE(store.ok());
        fill(**store, kBucket, kSession);
        fill(**store, kBucket, kOther);
        fill(**store, kNext, kSession);
        ASSERT_TRUE((*store)->sync().ok());
    }

    static void fill(Store& store, BucketNumber bucket, SessionId session) {
        const Partition partition = partition_of(kTarget, bucket);
        ASSERT_TRUE(store.define(partition, sample_session(kTarget, session)).ok());
        for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
            const Seq unique{seq + (bucket == kNext ? kBatches : 0)};
            const std::vector batches{test_writer::batch(unique, session, bucket)};
            ASSERT_TRUE(store.put(partition, batches).ok());
        }
    }

    // Its log becomes a table file when it is opened again.
    void make_table() { ASSERT_TRUE(open_store(intact_).ok()); }

    fs::path only_file(const std::string& directory, const std::string& extension) {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator{directory}) {
            if (entry.path().extension() == extension && entry.file_size() > 0) {
                found.push_back(entry.path());
            }
        }
        EXPECT_EQ(found.size(), 1U) << extension;
        return found.front();
    }

    void copy() {
        fs::remove_all(damaged_);
        fs::copy(intact_, damaged_);
    }

    struct Read {
        std::size_t block_count = 0;
        std::vector<Error> errors;
    };

    // Everything that can be read; whatever is given must be what was stored.
    static Read read_all(const StoreReader& reader) {
        Read read;
        const auto keep = [&](const Result<Done>& done) {
            if (!done.ok()) {
                read.errors.push_back(done.error());
            }
        };
        for (const auto& place :
             {std::pair{kBucket, kSession}, std::pair{kBucket, kOther}, std::pair{kNext, kSession}}) {
            const BucketNumber bucket = place.first;
            const SessionId session = place.second;
            const Partition partition = partition_of(kTarget, bucket);
            keep(visit_blocks(reader, partition, kTarget, session, kSeries,
                              [&](const BlockKey& key, std::string_view block) {
                                  const auto& stored = test_writer::kept_batch(key.first_seq, key.session, bucket);
                                  EXPECT_EQ(block, stored.series[0].block);
                                  ++read.block_count;
                                  return Visit::kContinue;
                              }));
            keep(reader.visit_batches(partition, kTarget, session, [&](const BatchRecord& record) {
                const auto& stored = test_writer::kept_batch(record.seq, session, bucket);
                EXPECT_EQ(record.seal, stored.record.seal);
                return Visit::kContinue;
            }));
            if (auto sessions = reader.sessions(partition); !sessions.ok()) {
                read.errors.push_back(sessions.error());
            }
        }
        if (auto partitions = reader.partitions(); !partitions.ok()) {
            read.errors.push_back(partitions.error());
        }
        if (auto all = reader.all_sessions(); !all.ok()) {
            read.errors.push_back(all.error());
        }
        return read;
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string intact_;
    std::string damaged_;
};

TEST_F(DamagedStore, IsReadWholeWhenItIsNotDamaged) {
    copy();
    auto reader = open_store_reader(damaged_);
    ASSERT_TRUE(reader.ok());
    const Read read = read_all(**reader);
    EXPECT_EQ(read.block_count, 3 * kBatches);
    EXPECT_TRUE(read.errors.empty());
}

TEST_F(DamagedStore, NamesThePlaceOfADamagedBlockAndReadsTheOthers) {
    make_table();
    copy();
    const fs::path path = only_file(damaged_, ".sst");
    std::string table = read_file(path);
    const std::string block = test_writer::batch(Seq{30}).series[0].block;
    const std::size_t at = table.find(block);
    ASSERT_NE(at, std::string::npos);
    table[at + block.size() / 2] = static_cast<char>(table[at + block.size() / 2] ^ 1);
    write_file(path, table);

    auto reader = open_store_reader(damaged_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const Read read = read_all(**reader);
    ASSERT_EQ(read.errors.size(), 1U);
    EXPECT_EQ(read.errors[0].code, ErrorCode::kCorrupt);
    EXPECT_NE(read.errors[0].message.find(path.filename()), std::string::npos) << read.errors[0].message;
    EXPECT_NE(read.errors[0].message.find("block of target 0000000000000011"), std::string::npos)
        << read.errors[0].message;
    EXPECT_LT(read.block_count, 3 * kBatches);
    EXPECT_GE(read.block_count, 3 * kBatches - 10) << "those of one table block are lost";
    auto partitions = (*reader)->partitions();
    ASSERT_TRUE(partitions.ok()) << partitions.error().message;
    EXPECT_EQ(partitions->size(), 2U);

    for (const std::string& directory : {intact_, damaged_}) {
        const auto checked = check_table_files(directory, true);
        ASSERT_TRUE(checked.ok()) << checked.error().message;
        ASSERT_EQ(checked->size(), 1U);
        EXPECT_EQ(checked->front().file, path.filename());
        EXPECT_EQ(checked->front().size_bytes, table.size());
        EXPECT_EQ(checked->front().damage.empty(), directory == intact_) << checked->front().damage;
    }
}

TEST_F(DamagedStore, NeverGivesOtherBytesThanWereStored) {
    make_table();
    std::mt19937_64 random{29};
    std::size_t noticed = 0;
    constexpr int kRounds = 60;
    for (int round = 0; round < kRounds; ++round) {
        copy();
        const fs::path path = only_file(damaged_, ".sst");
        std::string table = read_file(path);
        if (round % 4 == 3) {
            table.resize(random() % table.size());
        } else {
            const std::size_t at = round % 4 == 2 ? table.size() - 1 - random() % 2'000 : random() % table.size();
            table[at] = static_cast<char>(table[at] ^ (1 << (random() % 8)));
        }
        write_file(path, table);
        auto reader = open_store_reader(damaged_);
        if (!reader.ok()) {
            EXPECT_NE(reader.error().message.find(damaged_), std::string::npos) << reader.error().message;
            ++noticed;
            continue;
        }
        const Read read = read_all(**reader);
        noticed += read.errors.empty() ? 0 : 1;
        EXPECT_TRUE(read.block_count == 3 * kBatches || !read.errors.empty() || !(*reader)->damage().empty())
            << "rows are missing without a word";
    }
    EXPECT_GT(noticed, kRounds / 2);
}

// One table file of several: RocksDB's secondary would go back to the state of the store before it, without an error.
TEST_F(DamagedStore, WithoutOneOfItsTablesSaysSo) {
    make_table();
    {
        auto store = open_store(intact_);
        ASSERT_TRUE(store.ok());
        fill(**store, kNext, kOther);
    }
    make_table();
    std::vector<fs::path> tables;
    for (const auto& entry : fs::directory_iterator{intact_}) {
        if (entry.path().extension() == ".sst") {
            tables.push_back(entry.path().filename());
        }
    }
    std::sort(tables.begin(), tables.end());
    ASSERT_GE(tables.size(), 2U);
    for (const int harm : {0, 1, 2}) {
        copy();
        const fs::path path = fs::path{damaged_} / tables.back();
        std::string bytes = read_file(path);
        if (harm == 0) {
            fs::remove(path);
        } else if (harm == 1) {
            write_file(path, bytes.substr(0, bytes.size() / 2));
        } else {
            bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
            write_file(path, bytes);
        }
        const auto expect_named = [&](const Error& error) {
            EXPECT_NE(error.message.find(path.stem().string()), std::string::npos) << error.message;
        };
        const auto expect_a_word = [&](const StoreReader& reader) {
            auto lost = visit_blocks(reader, partition_of(kTarget, kNext), kTarget, kOther, kSeries,
                                     [](const BlockKey&, std::string_view) { return Visit::kContinue; });
            ASSERT_FALSE(lost.ok()) << "rows are missing without a word";
            expect_named(lost.error());
        };
        if (auto reader = open_store_reader(damaged_); reader.ok()) {
            expect_a_word(**reader);
        } else {
            expect_named(reader.error());
        }
        if (auto store = open_store(damaged_); store.ok()) {
            expect_a_word(**store);
        } else {
            expect_named(store.error());
        }
    }
}

// A store whose records carry wrong checksums under right ones of RocksDB: what a broken memory leaves.
class MisreadStore : public DamagedStore {
protected:
    void damage(const std::string& key) {
        auto engine = open_rocksdb_writer_engine(intact_);
        ASSERT_TRUE(engine.ok());
        auto value = (*engine)->get(key);
        ASSERT_TRUE(value.ok() && value->has_value());
        std::string bytes = **value;
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        Changes changes;
        changes.puts.push_back({key, bytes});
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
        ASSERT_TRUE((*engine)->sync().ok());
    }

    const Partition here_ = partition_of(kTarget, kBucket);
    const BatchKey first_{kTarget, kSession, Seq{1}};
};

TEST_F(MisreadStore, ListsAPartitionWhoseFirstRecordIsDamaged) {
    damage(partition_session_key(here_, kTarget, kSession));
    auto reader = open_store_reader(intact_);
    ASSERT_TRUE(reader.ok());
    auto partitions = (*reader)->partitions();
    ASSERT_TRUE(partitions.ok()) << partitions.error().message;
    EXPECT_EQ(partitions->size(), 2U);
    auto sessions = (*reader)->sessions(here_);
    ASSERT_TRUE(sessions.ok());
    EXPECT_EQ(sessions->size(), 2U) << "its batches tell it";
    ASSERT_EQ((*reader)->damage().size(), 1U);
    EXPECT_NE((*reader)->damage()[0].find("record of target 0000000000000011"), std::string::npos)
        << (*reader)->damage()[0];
    EXPECT_EQ(read_all(**reader).block_count, 3 * kBatches);
}

TEST_F(MisreadStore, GoesOnBehindADamagedBatchRecord) {
    damage(partition_batch_key(here_, first_));
    auto reader = open_store_reader(intact_);
    ASSERT_TRUE(reader.ok());
    std::size_t count = 0;
    auto visited = (*reader)->visit_batches(here_, kTarget, kSession, [&](const BatchRecord&) {
        ++count;
        return Visit::kContinue;
    });
    EXPECT_EQ(count, kBatches - 1);
    ASSERT_FALSE(visited.ok());
    EXPECT_EQ(visited.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(visited.error().message.find("seq 1"), std::string::npos) << visited.error().message;
}

TEST_F(MisreadStore, DropsAPartitionWithADamagedBatchRecord) {
    damage(partition_batch_key(here_, first_));
    auto store = open_store(intact_);
    ASSERT_TRUE(store.ok());
    auto dropped = (*store)->drop(here_);
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    auto expired = (*store)->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    EXPECT_EQ(*expired, (std::vector<std::pair<Series, std::uint64_t>>{{kSeries, (kBatches - 1) * 1'000}}));
    auto partitions = (*store)->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_EQ(partitions->size(), 1U);
}

TEST_F(MisreadStore, StoresABatchAnewWhoseRecordIsDamaged) {
    damage(partition_batch_key(here_, first_));
    auto store = open_store(intact_);
    ASSERT_TRUE(store.ok());
    const std::vector again{test_writer::batch(Seq{1}), test_writer::batch(Seq{2})};
    auto outcomes = (*store)->put(here_, again);
    ASSERT_TRUE(outcomes.ok()) << outcomes.error().message;
    EXPECT_EQ(*outcomes, (std::vector<PutOutcome>{PutOutcome::kStored, PutOutcome::kDuplicate}));
    EXPECT_TRUE(read_all(**store).errors.empty());
}

// A reader, and the writers after it, report what they can't read of the log, and show the rest.
void expect_named_loss(const StoreReader& reader, const std::string& log) {
    const std::vector<std::string> damage = reader.damage();
    ASSERT_EQ(damage.size(), 1U) << (damage.empty() ? log + ": none" : damage.back());
    EXPECT_NE(damage.front().find("acknowledged rows are lost: write-ahead log " + log), std::string::npos)
        << damage.front();
}

TEST_F(DamagedStore, WithAFlippedBitInItsLogShowsTheRestAndNamesTheLoss) {
    const std::string intact_log = read_file(only_file(intact_, ".log"));
    for (const std::size_t at : {std::size_t{100}, intact_log.size() / 2, intact_log.size() - 100}) {
        copy();
        const fs::path path = only_file(damaged_, ".log");
        std::string log = intact_log;
        log[at] = static_cast<char>(log[at] ^ 1);
        write_file(path, log);
        const auto expect_most = [&](const StoreReader& reader) {
            const Read read = read_all(reader);
            EXPECT_LT(read.block_count, 3 * kBatches) << at;
            EXPECT_GE(read.block_count, 3 * kBatches - 24) << at;  // a block of 32 KiB of the log, at most two
            expect_named_loss(reader, path.filename());
        };
        auto reader = open_store_reader(damaged_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        expect_most(**reader);
        for (int start = 0; start < 2; ++start) {  // the second finds no log any more
            auto store = open_store(damaged_);
            ASSERT_TRUE(store.ok()) << store.error().message;
            expect_most(**store);
        }
        reader = open_store_reader(damaged_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        expect_most(**reader);
        EXPECT_TRUE(fs::exists(path.string() + ".damaged")) << "what can be salvaged is kept";
    }
}

TEST_F(DamagedStore, WithoutTheSyncedEndOfItsLogNamesTheLoss) {
    const std::string log = read_file(only_file(intact_, ".log"));
    for (const std::size_t missing :
         {std::size_t{100}, std::size_t{5'000}, log.size() / 2, log.size() - 1, log.size()}) {
        for (const bool is_writer_first : {false, true}) {
            copy();
            const fs::path path = only_file(damaged_, ".log");
            write_file(path, log.substr(0, log.size() - missing));
            if (is_writer_first) {
                auto store = open_store(damaged_);
                ASSERT_TRUE(store.ok()) << store.error().message;
                expect_named_loss(**store, path.filename());
            }
            auto reader = open_store_reader(damaged_);
            ASSERT_TRUE(reader.ok()) << reader.error().message;
            EXPECT_LT(read_all(**reader).block_count, 3 * kBatches);
            expect_named_loss(**reader, path.filename());
        }
    }
}

TEST_F(DamagedStore, WithoutItsNewestLogNamesTheLoss) {
    make_table();
    {
        auto store = open_store(intact_);
        ASSERT_TRUE(store.ok());
        const std::vector batches{test_writer::batch(Seq{2 * kBatches + 1}, kSession, kNext)};
        ASSERT_TRUE((*store)->put(partition_of(kTarget, kNext), batches).ok());
        ASSERT_TRUE((*store)->sync().ok());
    }
    copy();
    const fs::path path = only_file(damaged_, ".log");
    fs::remove(path);
    auto reader = open_store_reader(damaged_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(read_all(**reader).block_count, 3 * kBatches);
    expect_named_loss(**reader, path.filename());
    reader->reset();
    auto store = open_store(damaged_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ(read_all(**store).block_count, 3 * kBatches);
    expect_named_loss(**store, path.filename());
}

// A power loss leaves zeros, or a part of a record, of what was written since the last sync.
TEST_F(DamagedStore, WithAnUnsyncedEndOfItsLogLostHasLostNothing) {
    const std::size_t synced_size_bytes = read_file(only_file(intact_, ".log")).size();
    for (const std::string& end : {std::string(4'000, '\0'), std::string(4'000, 'x'), std::string(1, '\x01')}) {
        copy();
        const fs::path path = only_file(damaged_, ".log");
        write_file(path, read_file(path) + end);
        EXPECT_EQ(read_file(path).size(), synced_size_bytes + end.size());
        auto reader = open_store_reader(damaged_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        EXPECT_EQ(read_all(**reader).block_count, 3 * kBatches);
        EXPECT_TRUE((*reader)->damage().empty());
        reader->reset();
        auto store = open_store(damaged_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        EXPECT_EQ(read_all(**store).block_count, 3 * kBatches);
        EXPECT_TRUE((*store)->damage().empty());
    }
}

// The writer was stopped in the middle of a record that was never acknowledged; of a store that states nothing.
TEST_F(DamagedStore, WithAnUnfinishedEndOfItsLogKeepsWhatCameBefore) {
    for (const std::size_t missing : {100U, 1'000U, 5'000U}) {
        copy();
        fs::remove(fs::path{damaged_} / "SYNCED");
        const fs::path path = only_file(damaged_, ".log");
        const std::string log = read_file(path);
        write_file(path, log.substr(0, log.size() - missing));
        const auto expect_all_but_the_last = [&](const StoreReader& reader) {
            const Read read = read_all(reader);
            EXPECT_TRUE(read.errors.empty());
            EXPECT_LT(read.block_count, 3 * kBatches);
            EXPECT_GE(read.block_count, 3 * kBatches - 4);
        };
        auto reader = open_store_reader(damaged_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        expect_all_but_the_last(**reader);
        auto store = open_store(damaged_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        expect_all_but_the_last(**store);
    }
}

TEST_F(DamagedStore, WithoutItsFilesIsRefused) {
    make_table();
    for (const std::string file : {"CURRENT", "MANIFEST"}) {
        copy();
        for (const auto& entry : fs::directory_iterator{damaged_}) {
            const std::string name = entry.path().filename();
            if (name.starts_with(file) || name.ends_with(".copy")) {  // which would bring it back
                fs::remove(entry.path());
            }
        }
        auto store = open_store(damaged_);
        ASSERT_FALSE(store.ok()) << file;
        EXPECT_NE(store.error().message.find(damaged_), std::string::npos) << store.error().message;
        auto reader = open_store_reader(damaged_);
        ASSERT_FALSE(reader.ok()) << file;
        EXPECT_NE(reader.error().message.find(damaged_), std::string::npos) << reader.error().message;
    }
}

}  // namespace
}  // namespace perfleet
