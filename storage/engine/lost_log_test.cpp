// Stores of which an older write-ahead log is gone while newer ones are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/engine/folder.h"
#include "storage/engine/testing/faulty_disk.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/verify/store_check.h"

namespace perfleet::lost_log_test {
namespace {

namespace fs = std::filesystem;

using test_writer::kSession;
using test_writer::kTarget;

constexpr std::size_t kMemorySizeBytes = 4U << 20;  // four memtables' worth

class LostLog : public testing::Test {
protected:
    // The first log stays although it is full, for no table file can be written. What was synced is in two logs, unless
    // the first one's contents got into a table file after all.
    void make(bool has_table) {
        for (int start = 0; start < 2; ++start) {  // the version is in a table file
            ASSERT_TRUE(open_store(data_).ok());
        }
        FaultyDisk disk{*parse_fault_plan(has_table ? "" : "write=always files=table")};
        auto opened = disk.open_store(data_, {.memory_size_bytes = kMemorySizeBytes});
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        Store& store = **opened;
        ASSERT_TRUE(store.define(test_writer::partition(), test_writer::session()).ok());
        bool has_two = false;
        for (std::uint64_t seq = 1; seq < 10'000; ++seq) {
            const std::vector batches{test_writer::batch(Seq{seq})};
            ASSERT_TRUE(store.put(test_writer::partition(), batches).ok()) << seq;
            ASSERT_TRUE(store.sync().ok()) << seq;
            seq_count_ = seq;
            const std::set<std::string> logs = log_files(data_);
            first_ = seq == 1 ? *logs.rbegin() : first_;
            if (*logs.rbegin() != first_ && std::exchange(has_two, true)) {  // and both are synced
                break;
            }
        }
    }

    // Blocks that can be read, of all that were stored.
    std::uint64_t count(const StoreReader& store) {
        std::uint64_t blocks = 0;
        (void)visit_blocks(store, test_writer::partition(), kTarget, kSession, test_writer::kSeries,
                           [&](const BlockKey&, std::string_view) {
                               ++blocks;
                               return Visit::kContinue;
                           });
        return blocks;
    }

    std::unique_ptr<perfleet::TemporaryFolder> folder_ = std::move(*TemporaryFolder::make("perfleet-test-"));
    std::string data_ = folder_->path() + "/data";
    std::string first_;  // of the logs
    std::uint64_t seq_count_ = 0;
};

TEST_F(LostLog, IsNamedByReadersTheCheckAndTheNextWriter) {
    make(false);
    ASSERT_TRUE(log_files(data_).contains(first_));
    {
        auto intact = open_store_reader(data_);
        ASSERT_TRUE(intact.ok()) << intact.error().message;
        EXPECT_EQ(count(**intact), seq_count_);
        EXPECT_TRUE((*intact)->damage().empty()) << (*intact)->damage()[0];
    }
    fs::remove(fs::path{data_} / first_);
    const std::string words = "acknowledged rows are lost: write-ahead log " + first_ + " is missing; ";
    const auto names_it = [&](const std::vector<std::string>& texts) {
        return std::any_of(texts.begin(), texts.end(),
                           [&](const std::string& text) { return text.find(words) != std::string::npos; });
    };
    for (int round = 0; round < 2; ++round) {
        {
            auto reader = open_store_reader(data_);
            ASSERT_TRUE(reader.ok()) << reader.error().message;
            EXPECT_TRUE(names_it((*reader)->damage()));
        }
        auto check = check_store(data_, true);
        ASSERT_TRUE(check.ok()) << check.error().message;
        std::vector<std::string> damage;
        for (const StoreDamage& one : check->damage) {
            damage.push_back(one.what);
        }
        EXPECT_TRUE(names_it(damage));
        auto store = open_store(data_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        EXPECT_TRUE(names_it((*store)->damage()));
        EXPECT_LT(count(**store), seq_count_);
    }
}

// As whole as its own, and of another store or time: nothing of it is read.
TEST_F(LostLog, IsOneInWhosePlaceAnotherLogStands) {
    make(false);
    const std::string newest = *log_files(data_).rbegin();
    fs::copy_file(fs::path{data_} / first_, fs::path{data_} / newest, fs::copy_options::overwrite_existing);
    const auto names_it = [&](const std::vector<std::string>& texts) {
        return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
            return text.find("acknowledged rows are lost: write-ahead log " + newest) != std::string::npos;
        });
    };
    {
        auto reader = open_store_reader(data_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        EXPECT_TRUE(names_it((*reader)->damage()));
    }
    auto store = open_store(data_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_TRUE(names_it((*store)->damage()));
    EXPECT_LT(count(**store), seq_count_);
    EXPECT_GT(count(**store), 0U);
    EXPECT_TRUE(fs::exists(fs::path{data_} / (newest + ".damaged")));
}

// RocksDB deletes a log whose contents are in a table file, also after the last sync.
TEST_F(LostLog, IsNoneOfWhichEverythingIsInATableFile) {
    make(true);
    const fs::path log = fs::path{data_} / first_;
    fs::remove(log);  // if it was still there
    auto reader = open_store_reader(data_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const bool is_whole = count(**reader) == seq_count_;
    EXPECT_EQ((*reader)->damage().empty(), is_whole);
}

}  // namespace
}  // namespace perfleet::lost_log_test
