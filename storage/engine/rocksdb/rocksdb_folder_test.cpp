// The folder of a store on disk: access to it, and folders that aren't stores.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "storage/engine/rocksdb/checkpoint.h"
#include "storage/engine/rocksdb/rocksdb_engine.h"
#include "storage/engine/store_format.h"
#include "storage/engine/testing/rocksdb_fixture.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/testing/stores.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

TEST_F(RocksdbStore, CreatesItsFolderAndThoseAbove) {
    directory_ = folder_->path() + "/a/b/c/";
    auto store = open();
    ASSERT_NE(store, nullptr);
    put(*store, 1, 3);
    store.reset();
    EXPECT_EQ(intact_seqs(*open_reader()), one_to(3));
}

TEST_F(RocksdbStore, CreatesItsFolderForItsOwnerAlone) {
    const auto mode = [](const std::string& path) {
        struct ::stat status {};
        EXPECT_EQ(::stat(path.c_str(), &status), 0);
        return status.st_mode & 0777U;
    };
    directory_ = folder_->path() + "/above/data";
    open().reset();
    EXPECT_EQ(mode(directory_), 0700U);
    ASSERT_EQ(::chmod(directory_.c_str(), 0750), 0);
    open().reset();
    EXPECT_EQ(mode(directory_), 0750U) << "what somebody gave it on purpose stays";
}

TEST_F(RocksdbStore, RefusesASecondWriterInTheSameProcess) {
    auto first = open();
    auto second = open_store(directory_);
    ASSERT_FALSE(second.ok());
    expect_error(second.error(), ErrorCode::kBusy, directory_ + ": another process is writing to this folder");
    first.reset();
    EXPECT_NE(open(), nullptr);
}

TEST_F(RocksdbStore, RefusesASecondWriterInAnotherProcess) {
    {
        Child child{"open", directory_};
        ASSERT_EQ(child.line(), "open");
        auto second = open_store(directory_);
        ASSERT_FALSE(second.ok());
        expect_error(second.error(), ErrorCode::kBusy, "another process is writing");
        EXPECT_NE(second.error().message.find(directory_), std::string::npos);
        EXPECT_TRUE(has_writer(directory_));
    }
    EXPECT_FALSE(has_writer(directory_));
    EXPECT_NE(open(), nullptr) << "a killed writer leaves no lock behind";
}

// Deleted files take writes and syncs as before.
TEST_F(RocksdbStore, PromisesNothingOnceItsFolderIsGoneAndGoesOnWhenItIsBack) {
    auto store = open();
    ASSERT_NE(store, nullptr);
    put(*store, 1, 3);
    const std::string elsewhere = folder_->path() + "/elsewhere";
    fs::rename(directory_, elsewhere);
    for (const bool is_replaced : {false, true}) {
        if (is_replaced) {
            fs::copy(elsewhere, directory_);
        }
        for (int again = 0; again < 2; ++again) {
            (void)store->advance_watermark(test_writer::kTarget, test_writer::kSession, Seq{3});
            const auto synced = store->sync();
            ASSERT_FALSE(synced.ok());
            expect_error(synced.error(), ErrorCode::kIo, directory_ + ": the store isn't there any more");
        }
    }
    fs::remove_all(directory_);
    fs::rename(elsewhere, directory_);
    put(*store, 4, 5);
    EXPECT_TRUE(store->sync().ok());
    store.reset();
    EXPECT_EQ(intact_seqs(*open_reader()), one_to(5));
}

TEST_F(RocksdbStore, PromisesNothingOnceItsFilesAreDeleted) {
    auto store = open();
    ASSERT_NE(store, nullptr);
    put(*store, 1, 3);
    for (const auto& entry : fs::directory_iterator{directory_}) {
        fs::remove(entry);
    }
    for (int again = 0; again < 3; ++again) {
        const auto synced = store->sync();
        ASSERT_FALSE(synced.ok());
        expect_error(synced.error(), ErrorCode::kIo, directory_ + ": the store isn't there any more");
    }
    EXPECT_TRUE(fs::is_empty(directory_)) << "and makes no new one by itself";
}

TEST_F(RocksdbStore, IsReadWithoutAWriterAndLeavesNothingBehind) {
    auto store = open();
    put(*store, 1, 5);
    store.reset();
    const auto files = [&] {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator{directory_}) {
            names.push_back(entry.path().filename().string() + " " + std::to_string(fs::file_size(entry.path())));
        }
        std::sort(names.begin(), names.end());
        return names;
    };
    const auto before = files();
    ASSERT_EQ(::setenv("TMPDIR", folder_->path().c_str(), 1), 0);
    {
        auto reader = open_reader();
        EXPECT_EQ(intact_seqs(*reader), one_to(5));
        EXPECT_EQ(std::distance(fs::directory_iterator{folder_->path()}, fs::directory_iterator{}), 2);
    }
    ASSERT_EQ(::unsetenv("TMPDIR"), 0);
    EXPECT_EQ(std::distance(fs::directory_iterator{folder_->path()}, fs::directory_iterator{}), 1);
    EXPECT_EQ(files(), before) << "a reader changes nothing";
}

TEST_F(RocksdbStore, RemovesWhatAKilledReaderLeftBehind) {
    open().reset();
    const fs::path place = folder_->path() + "/tmp";
    const fs::path abandoned = place / "perfleet-reader-killed";
    fs::create_directories(abandoned / "below");
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours{1};
    ASSERT_EQ(::setenv("TMPDIR", place.c_str(), 1), 0);
    auto used = TemporaryFolder::make("perfleet-reader-");
    ASSERT_TRUE(used.ok());
    fs::last_write_time(abandoned, long_ago);
    fs::last_write_time((*used)->path(), long_ago);
    const auto reader = open_reader();
    ASSERT_EQ(::unsetenv("TMPDIR"), 0);
    EXPECT_FALSE(fs::exists(abandoned));
    EXPECT_TRUE(fs::exists((*used)->path()));
}

TEST_F(RocksdbStore, IsReadByAUserWhoMayOnlyRead) {
    auto store = open();
    put(*store, 1, 5);
    ASSERT_TRUE(store->sync().ok());
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0555), 0);
    for (const auto& entry : fs::directory_iterator{directory_}) {
        ASSERT_EQ(::chmod(entry.path().c_str(), 0644), 0);
    }
    Child beside{"count", directory_};
    EXPECT_EQ(beside.line(), "5");
    EXPECT_EQ(beside.wait(), 0);
    store.reset();
    Child alone{"count", directory_};
    EXPECT_EQ(alone.line(), "5");
    EXPECT_EQ(alone.wait(), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
}

// Also below folders that weren't there, and of a backup.
TEST_F(RocksdbStore, IsItsOwnersAloneWhateverTheUmask) {
    const ::mode_t before = ::umask(0);
    const std::string above = folder_->path() + "/a";
    const std::string data = above + "/b/data";
    const std::string backup = folder_->path() + "/backup";
    {
        auto store = open_store(data, {.reserve_size_bytes = 1U << 20});
        ASSERT_TRUE(store.ok()) << store.error().message;
        put(**store, 1, 5);
        ASSERT_TRUE((*store)->sync().ok());
        ASSERT_TRUE(make_checkpoint(data, backup).ok());
    }
    ASSERT_TRUE(open_store(data).ok());  // makes a table file
    ::umask(before);
    for (const std::string& folder : {above, backup}) {
        EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
        for (const auto& entry : fs::recursive_directory_iterator{folder}) {
            EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none)
                << entry.path();
        }
    }
}

TEST_F(RocksdbStore, SaysWhenItMayNotBeRead) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to have another user's folder";
    }
    open().reset();
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
    Child child{"count", directory_};
    const std::string line = child.line();
    EXPECT_TRUE(line.starts_with("error 8 " + directory_)) << line;
}

TEST_F(RocksdbStore, SaysWhenItMayNotBeWritten) {
    open().reset();
    ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory_.c_str(), 0555), 0);
    Child child{"intrude", directory_};
    const std::string line = child.line();
    EXPECT_TRUE(line.starts_with("error 8 " + directory_)) << line;
    Child above{"intrude", directory_ + "/new"};
    const std::string line_above = above.line();
    EXPECT_TRUE(line_above.starts_with("error 8 creating " + directory_ + "/new")) << line_above;
    ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
}

TEST_F(RocksdbStore, OfAnotherFormatIsRefusedByWriterAndReader) {
    open().reset();
    {
        auto engine = open_rocksdb_writer_engine(directory_);
        ASSERT_TRUE(engine.ok());
        const std::string version = encode_record(kStoreFormatVersion + 1);
        Changes changes;
        changes.puts.push_back({format_key(), version});
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
        ASSERT_TRUE((*engine)->sync().ok());
    }
    auto store = open_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kUnsupported, "has store format 2, this build reads format 1 only");
    EXPECT_NE(store.error().message.find(directory_), std::string::npos);
    auto reader = open_store_reader(directory_);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), ErrorCode::kUnsupported, "has store format 2, this build reads format 1 only");
}

TEST_F(RocksdbStore, RefusesADatabaseOfSomebodyElse) {
    {
        auto engine = open_rocksdb_writer_engine(directory_);
        ASSERT_TRUE(engine.ok());
        Changes changes;
        changes.puts.push_back({"their key", "their value"});
        ASSERT_TRUE((*engine)->write({}, 0, changes).ok());
    }
    auto store = open_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kInvalid, directory_ + ": holds a database that is not a perfleet store");
    auto reader = open_store_reader(directory_);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), ErrorCode::kNotFound, directory_);
    auto engine = open_rocksdb_writer_engine(directory_);
    ASSERT_TRUE(engine.ok());
    auto value = (*engine)->get("their key");
    ASSERT_TRUE(value.ok() && value->has_value());
    EXPECT_EQ(**value, "their value");
}

TEST_F(RocksdbStore, RefusesAFolderOfOtherThings) {
    ASSERT_TRUE(fs::create_directory(directory_));
    std::ofstream{directory_ + "/thesis.tex"} << "x";
    auto store = open_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kInvalid, directory_ + ": holds thesis.tex but no perfleet store");
    EXPECT_EQ(std::distance(fs::directory_iterator{directory_}, fs::directory_iterator{}), 1) << "and left it alone";
}

TEST_F(RocksdbStore, RefusesWhatIsNotAFolder) {
    std::ofstream{directory_} << "x";
    auto store = open_store(directory_);
    ASSERT_FALSE(store.ok());
    expect_error(store.error(), ErrorCode::kInvalid, directory_ + ": is not a folder");
    auto reader = open_store_reader(directory_);
    ASSERT_FALSE(reader.ok());
    expect_error(reader.error(), ErrorCode::kInvalid, directory_ + ": is not a folder");
    auto below = open_store(directory_ + "/below");
    ASSERT_FALSE(below.ok());
    EXPECT_NE(below.error().message.find(directory_), std::string::npos) << below.error().message;
    EXPECT_FALSE(open_store("").ok());
}

TEST_F(RocksdbStore, FindsNothingToReadInAMissingOrEmptyFolder) {
    auto missing = open_store_reader(directory_);
    ASSERT_FALSE(missing.ok());
    expect_error(missing.error(), ErrorCode::kNotFound, directory_);
    EXPECT_FALSE(fs::exists(directory_)) << "a reader creates nothing";
    ASSERT_TRUE(fs::create_directory(directory_));
    auto empty = open_store_reader(directory_);
    ASSERT_FALSE(empty.ok());
    expect_error(empty.error(), ErrorCode::kNotFound, directory_);
}

TEST_F(RocksdbStore, AMissingFolderForTemporaryFilesIsNotAMissingStore) {
    ASSERT_TRUE(open_store(directory_).ok());
    const char* const before = std::getenv("TMPDIR");
    const std::optional<std::string> kept = before == nullptr ? std::nullopt : std::optional<std::string>{before};
    ASSERT_EQ(::setenv("TMPDIR", (directory_ + "/nowhere").c_str(), 1), 0);
    auto reader = open_store_reader(directory_);
    kept ? ::setenv("TMPDIR", kept->c_str(), 1) : ::unsetenv("TMPDIR");
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().code, ErrorCode::kIo);
    EXPECT_NE(reader.error().message.find("TMPDIR=" + directory_ + "/nowhere"), std::string::npos)
        << reader.error().message;
}

}  // namespace
}  // namespace perfleet
