// Stores of which an older write-ahead log is gone while newer ones are there.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/engine/rocksdb/checkpoint.h"
#include "storage/engine/rocksdb/folder.h"
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
        bool is_made = false;
        for (int attempt = 0; attempt < 20 && !is_made; ++attempt) {
            std::error_code none;
            fs::remove_all(data_, none);
            seq_count_ = 0;
            try_to_make(has_table, is_made);
        }
        ASSERT_TRUE(is_made);
    }

    // Not made where the failed table file ends the store before the second log has a batch.
    void try_to_make(bool has_table, bool& is_made) {
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
            if (!store.put(test_writer::partition(), batches).ok() || !store.sync().ok()) {
                return;
            }
            seq_count_ = seq;
            const LogFiles logs = log_files(data_);
            first_ = seq == 1 ? *logs.rbegin() : first_;
            if (*logs.rbegin() != first_ && std::exchange(has_two, true)) {  // and both are synced
                is_made = true;
                return;
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

    // Nothing is read of what stands in its place; the others are.
    void expect_named(const std::string& log) {
        const auto names_it = [&](const std::vector<std::string>& texts) {
            return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
                return text.find("acknowledged rows are lost: write-ahead log " + log) != std::string::npos;
            });
        };
        {
            auto reader = open_store_reader(data_);
            ASSERT_TRUE(reader.ok()) << reader.error().message;
            EXPECT_TRUE(names_it((*reader)->damage()));
            EXPECT_LT(count(**reader), seq_count_);
        }
        auto store = open_store(data_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        EXPECT_TRUE(names_it((*store)->damage()));
        EXPECT_LT(count(**store), seq_count_);
        EXPECT_GT(count(**store), 0U);
        EXPECT_TRUE(fs::exists(fs::path{data_} / (log + ".damaged")));
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
    expect_named(newest);
}

// RocksDB ends the program at such a one.
TEST_F(LostLog, IsOneInWhosePlaceAnotherLogStandsThoughNothingIsKnownToBeSynced) {
    make(false);
    const std::string newest = *log_files(data_).rbegin();
    fs::copy_file(fs::path{data_} / first_, fs::path{data_} / newest, fs::copy_options::overwrite_existing);
    fs::remove(fs::path{data_} / "SYNCED");
    expect_named(newest);
}

TEST_F(LostLog, IsNamedByABackupAndByItsReaders) {
    make(false);
    fs::remove(fs::path{data_} / first_);
    const std::string backup = folder_->path() + "/backup";
    const auto made = make_checkpoint(data_, backup);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_NE(made->damage.find("write-ahead log " + first_), std::string::npos) << made->damage;
    for (const bool is_writer : {false, true}) {
        std::unique_ptr<StoreReader> store;
        if (is_writer) {
            store = std::move(*open_store(backup));
        } else {
            store = std::move(*open_store_reader(backup));
        }
        EXPECT_TRUE(store->has_lost_logs());
        EXPECT_GT(count(*store), 0U);
        EXPECT_LT(count(*store), seq_count_);
    }
}

TEST_F(LostLog, IsOneInWhosePlaceAFolderStands) {
    make(false);
    const std::string newest = *log_files(data_).rbegin();
    fs::remove(fs::path{data_} / newest);
    fs::create_directories(fs::path{data_} / newest / "folder");
    expect_named(newest);
}

TEST_F(LostLog, IsOneInWhosePlaceAPipeStands) {
    make(false);
    const std::string newest = *log_files(data_).rbegin();
    fs::remove(fs::path{data_} / newest);
    ASSERT_EQ(::mkfifo((fs::path{data_} / newest).c_str(), 0600), 0);
    expect_named(newest);
}

// A log that held nothing: those behind it are read.
TEST_F(LostLog, IsNoneWhereSomethingElseStandsBeforeTheOthers) {
    make(false);
    const fs::path earliest = fs::path{data_} / "000001.log";
    ASSERT_LT(earliest.filename().string(), first_);
    ASSERT_EQ(::mkfifo(earliest.c_str(), 0600), 0);
    auto reader = open_store_reader(data_);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(count(**reader), seq_count_);
    fs::remove(earliest);
    fs::create_symlink(data_ + "/nowhere", earliest);
    auto again = open_store_reader(data_);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(count(**again), seq_count_);
}

// The manifest and its copy are older ones, of a whole store; the log goes on behind table files that they don't name.
TEST_F(LostLog, TellsThatTheManifestIsAnOlderOne) {
    const auto put = [&](std::uint64_t seq) {
        auto store = open_store(data_);  // what is in the log before gets into a table file
        ASSERT_TRUE(store.ok()) << store.error().message;
        ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
        ASSERT_TRUE((*store)->put(test_writer::partition(), std::vector{test_writer::batch(Seq{seq})}).ok());
        ASSERT_TRUE((*store)->sync().ok());
    };
    put(1);
    put(2);
    std::map<std::string, std::string> older;
    for (const auto& entry : fs::directory_iterator{data_}) {
        const std::string name = entry.path().filename().string();
        if (name == "CURRENT" || name.starts_with("MANIFEST-")) {
            older[name] = *read_regular_file(entry.path());
        }
    }
    put(3);
    put(4);
    std::vector<fs::path> newer;
    for (const auto& entry : fs::directory_iterator{data_}) {
        if (entry.path().filename().string().starts_with("MANIFEST-")) {
            newer.push_back(entry.path());
        }
    }
    for (const fs::path& path : newer) {
        fs::remove(path);
    }
    for (const auto& [name, bytes] : older) {
        std::ofstream{fs::path{data_} / name, std::ios::binary} << bytes;
    }
    const auto names_it = [](const std::vector<std::string>& texts) {
        return std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
            return text.find("it is an older one, or a log before them is missing") != std::string::npos;
        });
    };
    const auto tables = [&](const std::string& end) {
        const auto at = fs::directory_iterator{data_};
        return std::count_if(begin(at), fs::end(at),
                             [&](const auto& entry) { return entry.path().string().ends_with(end); });
    };
    const auto count_before = tables(".sst");
    {
        auto reader = open_store_reader(data_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        EXPECT_TRUE(names_it((*reader)->damage()));
        EXPECT_EQ(count(**reader), 2U);  // the first and the last
    }
    for (int round = 0; round < 2; ++round) {
        auto store = open_store(data_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        EXPECT_TRUE(names_it((*store)->damage()));
    }
    EXPECT_GE(tables(".sst") + tables(".sst.damaged"), count_before);
    EXPECT_GT(tables(".sst.damaged"), 0);
}

// What it named may have been acknowledged.
TEST_F(LostLog, IsNotRuledOutByAListThatCannotBeRead) {
    make(true);
    fs::create_directory(fs::path{data_} / "LOST-LOGS");
    const auto tells = [](const StoreReader& store) {
        const std::vector<std::string> damage = store.damage();
        return store.has_lost_logs() && std::ranges::any_of(damage, [](const std::string& text) {
                   return text.find("LOST-LOGS can't be read") != std::string::npos;
               });
    };
    {
        auto reader = open_store_reader(data_);
        ASSERT_TRUE(reader.ok()) << reader.error().message;
        EXPECT_TRUE(tells(**reader));
    }
    auto store = open_store(data_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_TRUE(tells(**store));
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
