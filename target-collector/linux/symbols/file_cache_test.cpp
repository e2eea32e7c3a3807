#include "target-collector/linux/symbols/file_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "target-collector/linux/symbols/cached_reader.h"
#include "target-collector/linux/symbols/symbol_keeper.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/unwind/table_bytes.h"

namespace perfleet {
namespace {

namespace fs = std::filesystem;

class CountingReader final : public ImageReader {
public:
    [[nodiscard]] Result<UnwindTable> unwind_table(int fd) override {
        ++count;
        return direct_.unwind_table(fd);
    }
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(int fd) override { return direct_.python_symbols(fd); }
    [[nodiscard]] std::vector<perfleet_probe_name> probe_entries(int fd) override { return direct_.probe_entries(fd); }
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) override {
        return direct_.probe_door(fd, file_offset);
    }

    unsigned count = 0;

private:
    DirectImageReader direct_;
};

class FileCacheTest : public testing::Test {
protected:
    void SetUp() override { fs::remove_all(folder_); }
    void TearDown() override {
        fs::remove_all(folder_);
        fs::remove(copy_);
    }

    // Another cache of the folder each time, as of another session.
    std::string table_of(const std::string& path) {
        const auto cache = FileCache::open(folder_);
        EXPECT_TRUE(cache.ok());
        CachedReader reader{*cache, reader_};
        const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
        const auto table = reader.unwind_table(file.get());
        hits_ += (*cache)->hit_count();
        return table.ok() ? unwind_table_bytes(*table) : "";
    }
    std::vector<fs::path> kept() const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator{folder_}) {
            files.push_back(entry.path());
        }
        return files;
    }

    const std::string folder_ = testing::TempDir() + "unwind_cache_" + std::to_string(::getpid());
    const std::string copy_ = folder_ + ".program";
    std::shared_ptr<CountingReader> reader_ = std::make_shared<CountingReader>();
    std::uint64_t hits_ = 0;
};

TEST_F(FileCacheTest, ATableIsMadeOnce) {
    const std::string made = table_of("/usr/bin/python3.11");
    EXPECT_EQ(reader_->count, 1U);
    const std::string kept_table = table_of("/usr/bin/python3.11");
    EXPECT_EQ(reader_->count, 1U);
    EXPECT_EQ(hits_, 1U);
    EXPECT_FALSE(made.empty());
    EXPECT_EQ(kept_table, made);
    ASSERT_EQ(kept().size(), 1U);
    struct stat status {};
    ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(FileCacheTest, WhatIsDamagedIsMadeAnew) {
    const std::string made = table_of("/usr/bin/xz");
    const fs::path file = kept().at(0);
    const auto size_bytes = fs::file_size(file);
    for (const std::uintmax_t at : {std::uintmax_t{0}, std::uintmax_t{9}, size_bytes - 1}) {
        std::fstream damage{file, std::ios::in | std::ios::out | std::ios::binary};
        damage.seekp(static_cast<std::streamoff>(at));
        damage.put('\x5a');
        damage.close();
        const unsigned before = reader_->count;
        EXPECT_EQ(table_of("/usr/bin/xz"), made) << at;
        EXPECT_EQ(reader_->count, before + 1) << at;
        EXPECT_EQ(table_of("/usr/bin/xz"), made) << at;
        EXPECT_EQ(reader_->count, before + 1) << "it was kept again";
    }
    fs::resize_file(file, 5);
    EXPECT_EQ(table_of("/usr/bin/xz"), made);
}

// Any user can write a program with libc's build-id.
TEST_F(FileCacheTest, AFileWithTheBuildIdOfAnotherHasATableOfItsOwn) {
    (void)table_of("/usr/bin/xz");
    fs::copy_file("/usr/bin/xz", copy_);
    (void)table_of(copy_);
    EXPECT_EQ(reader_->count, 2U);
    EXPECT_EQ(kept().size(), 2U);
}

TEST_F(FileCacheTest, TheFilesUsedLongestAgoMakeRoom) {
    (void)table_of("/usr/bin/xz");
    const std::string foreign = folder_ + "/notes";
    std::ofstream{foreign} << "mine";
    const std::string old = folder_ + "/00-00.unwind";
    std::ofstream{old} << "x";
    fs::resize_file(old, FileCache::kSizeBytesMax);
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours{24});
    const auto cache = FileCache::open(folder_);
    ASSERT_TRUE(cache.ok());
    EXPECT_FALSE(fs::exists(old));
    EXPECT_TRUE(fs::exists(foreign));
    EXPECT_LE((*cache)->size_bytes(), FileCache::kSizeBytesMax);
    EXPECT_GT((*cache)->size_bytes(), 0U) << "xz's stays";
}

TEST_F(FileCacheTest, AFolderThatOthersMayWriteToIsRefused) {
    fs::create_directory(folder_);
    ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
    const auto cache = FileCache::open(folder_);
    ASSERT_FALSE(cache.ok());
    EXPECT_EQ(cache.error().code, ErrorCode::kPermission);
    EXPECT_NE(cache.error().message.find("chmod go-w"), std::string::npos) << cache.error().message;
}

TEST_F(FileCacheTest, TheDefaultIsInTheUsersOwnHome) {
    fs::create_directory(folder_);
    ASSERT_EQ(::unsetenv("CACHE_DIRECTORY"), 0);
    ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
    ASSERT_EQ(::setenv("HOME", folder_.c_str(), 1), 0);
    EXPECT_NE(FileCache::open_default(), nullptr);
    EXPECT_TRUE(fs::exists(folder_ + "/.cache/perfleet"));
    fs::remove_all(folder_ + "/.cache");
    constexpr uid_t kNobody = 65534;
    if (::chown(folder_.c_str(), kNobody, kNobody) == 0) {  // root alone may
        EXPECT_EQ(FileCache::open_default(), nullptr);
        EXPECT_FALSE(fs::exists(folder_ + "/.cache"));
    }
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder_ + "/xdg").c_str(), 1), 0);
    EXPECT_NE(FileCache::open_default(), nullptr);
    EXPECT_TRUE(fs::exists(folder_ + "/xdg/perfleet"));
}

TEST_F(FileCacheTest, WhatHasNoTableIsntKept) {
    EXPECT_EQ(table_of("/etc/passwd"), "");
    EXPECT_TRUE(kept().empty());
}

}  // namespace
}  // namespace perfleet
