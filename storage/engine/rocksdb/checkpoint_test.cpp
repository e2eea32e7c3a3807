#include "storage/engine/rocksdb/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "storage/engine/rocksdb/folder.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;
using test_writer::kBucket;
using test_writer::kSession;
using test_writer::kTarget;

class Backup : public testing::Test {
protected:
    void SetUp() override {
        auto folder = TemporaryFolder::make("perfleet-test-");
        ASSERT_TRUE(folder.ok());
        folder_ = std::move(*folder);
        data_ = folder_->path() + "/data";
        backup_ = folder_->path() + "/backup";
    }

    // With memtables so small that files come and go all the time.
    static std::unique_ptr<Store> open(const std::string& directory, std::size_t memory_size_bytes = 1U << 20) {
        auto store = open_store(directory, {memory_size_bytes});
        EXPECT_TRUE(store.ok()) << store.error().message;
        return std::move(*store);
    }

    static BucketNumber bucket_of_seq(std::uint64_t seq) {
        return BucketNumber{kBucket.value + static_cast<std::uint32_t>(seq / 100)};
    }

    static void put(Store& store, std::uint64_t seq) {
        const Partition partition = partition_of(kTarget, bucket_of_seq(seq));
        EXPECT_TRUE(store.define(partition, test_writer::session()).ok());
        const std::vector batches{test_writer::batch(Seq{seq}, kSession, partition.bucket)};
        EXPECT_TRUE(store.put(partition, batches).ok());
        EXPECT_TRUE(store.advance_watermark(kTarget, kSession, Seq{seq}).ok());
        EXPECT_TRUE(store.sync().ok());
    }

    // Its batches' seqs, each with its block.
    static std::vector<std::uint64_t> seqs(const StoreReader& store) {
        std::vector<std::uint64_t> seqs;
        const auto partitions = store.partitions();
        EXPECT_TRUE(partitions.ok());
        for (const Partition& partition : *partitions) {
            EXPECT_TRUE(visit_blocks(
                            store, partition, kTarget, kSession, test_writer::kSeries,
                            [&](const BlockKey& key, std::string_view block) {
                                EXPECT_EQ(
                                    block,
                                    test_writer::kept_batch(key.first_seq, kSession, partition.bucket).series[0].block);
                                seqs.push_back(key.first_seq.value);
                                return Visit::kContinue;
                            })
                            .ok());
        }
        return seqs;
    }

    static std::size_t table_files(const std::string& directory) {
        return static_cast<std::size_t>(
            std::count_if(fs::directory_iterator{directory}, fs::directory_iterator{},
                          [](const fs::directory_entry& file) { return file.path().extension() == ".sst"; }));
    }

    Error refused(const std::string& from, const std::string& to) {
        auto made = make_checkpoint(from, to);
        EXPECT_FALSE(made.ok());
        return made.ok() ? Error{ErrorCode::kInvalid, "none"} : made.error();
    }

    std::unique_ptr<TemporaryFolder> folder_;
    std::string data_;
    std::string backup_;
};

TEST_F(Backup, IsForItsOwnerAloneAndNotInsideTheStore) {
    put(*open(data_), 1);
    const auto inside = make_checkpoint(data_, data_ + "/../data/backup");
    ASSERT_FALSE(inside.ok());
    EXPECT_EQ(inside.error().code, ErrorCode::kUsage);
    EXPECT_NE(inside.error().message.find("lies inside the store"), std::string::npos) << inside.error().message;
    ASSERT_TRUE(make_checkpoint(data_, backup_).ok());
    EXPECT_EQ(fs::status(backup_).permissions(), fs::perms::owner_all);
}

TEST_F(Backup, HoldsWhatWasSyncedAndSharesItsTableFiles) {
    auto store = open(data_, 64U << 20);
    for (std::uint64_t seq = 1; seq <= 300; ++seq) {
        put(*store, seq);
    }
    store = nullptr;
    store = open(data_, 64U << 20);  // a table file
    put(*store, 301);
    std::uint64_t done_size_bytes = 0;
    std::uint64_t total_size_bytes = 0;
    const auto made = make_checkpoint(data_, backup_, [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_TRUE(total == 0 || done <= total);
        done_size_bytes = done;
        total_size_bytes = total;
    });
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_GT(done_size_bytes, made->linked_size_bytes);
    EXPECT_EQ(done_size_bytes, total_size_bytes) << "nothing was written meanwhile";
    EXPECT_EQ(made->table_file_count, table_files(backup_));
    EXPECT_GT(made->linked_size_bytes, 100'000U);
    EXPECT_LT(made->copied_size_bytes, 50'000U);
    EXPECT_EQ(made->damage, "");
    put(*store, 302);
    EXPECT_EQ(seqs(*open(backup_)).size(), 301U);
    EXPECT_EQ(seqs(*store).size(), 302U) << "a store of its own";
    // And back, into a folder that is there already.
    store = nullptr;
    fs::remove_all(data_);
    fs::create_directory(data_);
    fs::permissions(data_, fs::perms::owner_all);
    ASSERT_TRUE(make_checkpoint(backup_, data_).ok());
    EXPECT_EQ(fs::status(data_).permissions(), fs::perms::owner_all);
    store = open(data_);
    EXPECT_EQ(seqs(*store).size(), 301U);
    put(*store, 302);
}

TEST_F(Backup, IsWholeWhateverTheWriterDoesMeanwhile) {
    auto store = open(data_);
    constexpr std::uint64_t kSeqsARound = 150;
    std::atomic<std::uint64_t> synced{0};
    std::atomic<std::uint64_t> may_be_put{0};  // its logs turn over some times while a backup is made, not without end
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<bool> is_done{false};
    std::thread writer{[&] {
        for (std::uint64_t seq = 1; !is_done; ++seq) {
            while (!is_done && seq > may_be_put) {
                std::this_thread::sleep_for(std::chrono::microseconds{50});
            }
            put(*store, seq);
            synced = seq;
        }
    }};
    std::thread dropper{[&] {
        for (std::uint32_t hour = 0; !is_done; ++hour) {
            while (!is_done && synced < 100 * (hour + 3ULL)) {
                std::this_thread::sleep_for(std::chrono::microseconds{50});
            }
            dropped = 100 * (hour + 1ULL);
            EXPECT_TRUE(store->drop(partition_of(kTarget, BucketNumber{kBucket.value + hour})).ok());
        }
    }};
    std::uint32_t attempt_count = 0;
    for (int round = 0; round < 15; ++round) {
        const std::uint64_t begins_at = kSeqsARound * (static_cast<std::uint64_t>(round) + 1);
        may_be_put = begins_at + kSeqsARound;
        while (synced < begins_at) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
        const std::string to = backup_ + std::to_string(round);
        const std::uint64_t promised = synced;
        const auto made = make_checkpoint(data_, to);
        const std::uint64_t dropped_until = dropped;
        ASSERT_TRUE(made.ok()) << made.error().message;
        attempt_count += made->attempt_count;
        EXPECT_EQ(made->damage, "");
        const auto reader = open_store_reader(to);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        const std::vector<std::uint64_t> found = seqs(**reader);
        ASSERT_FALSE(found.empty());
        EXPECT_GE(found.back(), promised);
        EXPECT_LE(found.front(), dropped_until + 1);
        EXPECT_EQ(found.back() - found.front() + 1, found.size()) << "without a hole";
        // What isn't there is expired.
        const auto expired = (*reader)->expired(kTarget, kSession);
        ASSERT_TRUE(expired.ok());
        EXPECT_EQ(expired->empty() ? 0 : expired->at(0).second, (found.front() - 1) * 1'000);
        // It is written after the rows: of the last batch it may be missing, as no acknowledgement was sent.
        const std::uint64_t watermark = (*reader)->watermark(kTarget, kSession)->value;
        EXPECT_GE(watermark, promised);
        EXPECT_GE(watermark, found.back() - 1);
        EXPECT_LE(watermark, found.back());
        fs::remove_all(to);
    }
    is_done = true;
    writer.join();
    dropper.join();
    RecordProperty("attempts", static_cast<int>(attempt_count));
}

TEST_F(Backup, OverwritesNothingAndKnowsWhatWasInterrupted) {
    put(*open(data_), 1);
    fs::create_directories(backup_ + kIncompleteSuffix);
    std::ofstream{backup_ + kIncompleteSuffix + "/000009.sst"} << "half of one";
    EXPECT_EQ(refused(backup_ + kIncompleteSuffix, folder_->path() + "/anew").code, ErrorCode::kUsage);
    ASSERT_TRUE(make_checkpoint(data_, backup_).ok());
    EXPECT_FALSE(fs::exists(backup_ + kIncompleteSuffix));
    EXPECT_EQ(refused(data_, backup_).code, ErrorCode::kUsage);
    EXPECT_EQ(refused(data_, data_).code, ErrorCode::kUsage);
    EXPECT_EQ(refused(folder_->path() + "/nothing", folder_->path() + "/anew").code, ErrorCode::kNotFound);
    EXPECT_EQ(refused(folder_->path(), folder_->path() + "/anew").code, ErrorCode::kNotFound);
    EXPECT_FALSE(fs::exists(folder_->path() + "/anew"));
    EXPECT_FALSE(refused(data_, "").message.empty());
    EXPECT_FALSE(refused("", folder_->path() + "/anew").message.empty());
}

TEST_F(Backup, IsMadeOfADamagedStoreToo) {
    {
        auto store = open(data_, 64U << 20);
        for (std::uint64_t seq = 1; seq <= 100; ++seq) {
            put(*store, seq);
        }
    }
    open(data_, 64U << 20).reset();
    for (const auto& entry : fs::directory_iterator{data_}) {
        if (entry.path().extension() == ".sst") {
            fs::resize_file(entry.path(), entry.file_size() - 1);
        }
    }
    const auto made = make_checkpoint(data_, backup_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_NE(made->damage.find(".sst has "), std::string::npos) << made->damage;
    EXPECT_TRUE(fs::exists(backup_ + "/CURRENT"));
}

}  // namespace
}  // namespace perfleet
