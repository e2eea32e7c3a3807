#include "target-collector/source/linux/image/perf_map_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "target-collector/process/proc_reader.h"

namespace perfleet {
namespace {

// The map of this very process, which makes no code: each test is a process of its own.
class PerfMapFileTest : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(path_); }

    void append(const std::string& text) const {
        std::ofstream file{path_, std::ios::app};
        file << text;
    }

    // All that is new, in one text; "nothing" where there is none.
    static std::string text_of(PerfMapFile& file) {
        const auto news = file.read();
        return !news ? "nothing" : (news->is_anew ? "anew:" : "") + std::string{news->text};
    }

    std::string path_ = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    PerfMapFile file_{static_cast<std::uint32_t>(::getpid())};
};

TEST_F(PerfMapFileTest, IsReadAsItGrowsInWholeLines) {
    EXPECT_EQ(text_of(file_), "nothing");
    append("1000 10 a\n2000 1");
    EXPECT_EQ(text_of(file_), "anew:1000 10 a\n");
    EXPECT_EQ(text_of(file_), "nothing");
    append("0 b\n");
    EXPECT_EQ(text_of(file_), "2000 10 b\n");
    EXPECT_EQ(text_of(file_), "nothing");
}

TEST_F(PerfMapFileTest, IsReadFromItsStartWhenItIsWrittenAnew) {
    append("1000 10 a\n2000 10 b\n");
    EXPECT_EQ(text_of(file_), "anew:1000 10 a\n2000 10 b\n");
    std::filesystem::resize_file(path_, 0);
    append("3000 10 c\n");
    EXPECT_EQ(text_of(file_), "anew:3000 10 c\n");
    // Another file in its place, and longer.
    std::filesystem::rename(path_, path_ + ".old");
    append("3000 10 c\n4000 10 d\n");
    EXPECT_EQ(text_of(file_), "anew:3000 10 c\n4000 10 d\n");
    std::filesystem::remove(path_ + ".old");
}

TEST_F(PerfMapFileTest, IsReadOnWhenNobodySeesItAnyMore) {
    append("1000 10 a\n");
    EXPECT_EQ(text_of(file_), "anew:1000 10 a\n");
    std::ofstream late{path_, std::ios::app};
    std::filesystem::remove(path_);
    late << "2000 10 b\n" << std::flush;
    EXPECT_EQ(text_of(file_), "2000 10 b\n");
}

TEST_F(PerfMapFileTest, LargeOnesComeInParts) {
    std::string text;
    while (text.size() < 2 * PerfMapFile::kReadSizeBytesMax) {
        text += "1000 10 some function of a large program\n";
    }
    append(text);
    std::string got;
    for (auto news = file_.read(); news; news = file_.read()) {
        EXPECT_LE(news->text.size(), PerfMapFile::kReadSizeBytesMax + 64);
        EXPECT_TRUE(news->text.ends_with('\n'));
        got += news->text;
    }
    EXPECT_EQ(got, text);
}

TEST_F(PerfMapFileTest, ALineWithoutEndIsGivenUp) {
    append(std::string(3 * PerfMapFile::kReadSizeBytesMax, 'x'));
    for (int i = 0; i < 4; ++i) {
        const auto news = file_.read();
        EXPECT_TRUE(!news || news->text.empty());
    }
    append("\n1000 10 a\n");
    EXPECT_EQ(text_of(file_), "\n1000 10 a\n");
}

TEST_F(PerfMapFileTest, WhatIsNoFileOfTheProcessIsNotTaken) {
    // A link, whatever it leads to: here to what would be good by itself.
    append("1000 10 a\n");
    std::filesystem::rename(path_, path_ + ".good");
    std::filesystem::create_symlink(path_ + ".good", path_);
    EXPECT_EQ(text_of(file_), "nothing");
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".good");
    // A pipe: opening it must not wait.
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(text_of(file_), "nothing");
    std::filesystem::remove(path_);
    // Left by a process that had the same number before.
    append("1000 10 a\n");
    const timespec long_ago[2]{{1'000'000'000, 0}, {1'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), long_ago, 0), 0);
    EXPECT_EQ(text_of(file_), "nothing");
    append("2000 10 b\n");
    EXPECT_EQ(text_of(file_), "anew:1000 10 a\n2000 10 b\n");
}

TEST_F(PerfMapFileTest, AnotherUsersIsNotTaken) {
    append("1000 10 a\n");
    if (::chown(path_.c_str(), 12'345, 12'345) != 0) {
        GTEST_SKIP() << "only root gives files away";
    }
    EXPECT_EQ(text_of(file_), "nothing");
    ASSERT_EQ(::chown(path_.c_str(), 0, 0), 0);
    EXPECT_EQ(text_of(file_), "anew:1000 10 a\n");
}

TEST(PerfMapFile, OfNobodyIsEmpty) {
    PerfMapFile file{0xffff'fff0};
    EXPECT_FALSE(file.read());
}

TEST(PerfMapFile, NumbersOfProcessesAreThoseOfTheirOwnNamespace) {
    EXPECT_EQ(innermost_pid_in_status("Name:\tnode\nNSpid:\t4711\t12\t7\nNSpgid:\t1\n"), 7U);
    EXPECT_EQ(innermost_pid_in_status("Name:\tnode\nNSpid:\t4711\n"), 4'711U);
    EXPECT_EQ(innermost_pid_in_status("Name:\tnode\nNSpid:\t\n"), std::nullopt);
    EXPECT_EQ(innermost_pid_in_status("Name:\tNSpid:\t3\n"), std::nullopt);
}

}  // namespace
}  // namespace perfleet
