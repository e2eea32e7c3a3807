#include "tools/perfleet/shell/file_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>

namespace perfleet {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "perfleet-file-sink.XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            ADD_FAILURE() << "no folder for the test at " << name;
        }
        path_ = name;
    }
    ~TemporaryFolder() { fs::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] std::string path() const { return path_.string(); }
    std::string operator/(const char* name) const { return (path_ / name).string(); }

private:
    fs::path path_;
};

std::string content_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::size_t entries_in(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator{folder}, fs::directory_iterator{}));
}

void write_tail_first(FileSink& sink, const std::string& text) {
    const auto bytes = std::as_bytes(std::span{text});
    const std::size_t half = bytes.size() / 2;
    ASSERT_TRUE(sink.write_at(half, bytes.subspan(half)).ok());
    ASSERT_TRUE(sink.write_at(0, bytes.first(half)).ok());
}

void write_whole(const std::string& path, const std::string& text, ExistingFile existing = ExistingFile::kReplace) {
    const auto sink = FileSink::create(path, existing);
    ASSERT_TRUE(sink.ok()) << sink.error().message;
    write_tail_first(**sink, text);
    const auto committed = (*sink)->commit(std::nullopt);
    ASSERT_TRUE(committed.ok()) << committed.error().message;
}

TEST(FileSinkOfExports, LeavesNothingHoweverTheProgramIsEnded) {
    for (const int signal : {SIGTERM, SIGHUP, SIGXFSZ, SIGKILL}) {
        const TemporaryFolder folder;
        const std::string path = folder / "out";
        if (const int nameless = ::open(folder.path().c_str(), O_TMPFILE | O_RDWR, 0600); nameless < 0) {
            GTEST_SKIP() << "the file system of " << folder.path() << " has no files without a name";
        } else {
            ::close(nameless);
        }
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const auto sink = FileSink::create(path, ExistingFile::kRefuse);
            write_tail_first(**sink, "never seen");
            (void)::raise(signal);
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << signal;
        EXPECT_EQ(entries_in(folder.path()), 0U) << signal;
    }
}

TEST(FileSinkOfExports, AppearsWholeOrNotAtAll) {
    const TemporaryFolder folder;
    const std::string path = folder / "out";
    {
        const auto given_up = FileSink::create(path, ExistingFile::kRefuse);
        ASSERT_TRUE(given_up.ok());
        write_tail_first(**given_up, "never seen");
        EXPECT_FALSE(fs::exists(path));
    }
    EXPECT_EQ(entries_in(folder.path()), 0U);
    write_whole(path, "all of it");
    EXPECT_EQ(content_of(path), "all of it");
    EXPECT_EQ(entries_in(folder.path()), 1U);
}

TEST(FileSinkOfExports, AReplacedFileKeepsItsPermissions) {
    const TemporaryFolder folder;
    const std::string path = folder / "out";
    std::ofstream{path} << "of before, and longer";
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    write_whole(path, "of now");
    EXPECT_EQ(content_of(path), "of now");
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(FileSinkOfExports, NewFilesAreForTheirOwnerAlone) {
    const TemporaryFolder folder;
    for (const ExistingFile existing : {ExistingFile::kRefuse, ExistingFile::kReplace, ExistingFile::kKeepOld}) {
        const std::string path = folder / std::to_string(static_cast<int>(existing)).c_str();
        write_whole(path, "x", existing);
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
}

TEST(FileSinkOfExports, AFileIsNotReplacedUnlessThatIsAskedFor) {
    const TemporaryFolder folder;
    const std::string path = folder / "out";
    std::ofstream{path} << "of before";
    const auto refused = FileSink::create(path, ExistingFile::kRefuse);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_NE(refused.error().message.find("--force"), std::string::npos);

    const std::string later = folder / "later";
    const auto sink = FileSink::create(later, ExistingFile::kRefuse);
    ASSERT_TRUE(sink.ok());
    write_tail_first(**sink, "of the sink");
    std::ofstream{later} << "came while it was written";
    EXPECT_EQ((*sink)->commit(std::nullopt).error().code, ErrorCode::kUsage);
    EXPECT_EQ(content_of(path), "of before");
    EXPECT_EQ(content_of(later), "came while it was written");

    const std::string empty = folder / "empty";  // as mktemp makes it
    std::ofstream{empty};
    write_whole(empty, "x", ExistingFile::kRefuse);
    EXPECT_EQ(content_of(empty), "x");
}

TEST(FileSinkOfExports, TheFileOfBeforeIsKeptAsOld) {
    const TemporaryFolder folder;
    const std::string path = folder / "perf.data";
    for (const char* text : {"first", "second", "third"}) {
        write_whole(path, text, ExistingFile::kKeepOld);
    }
    EXPECT_EQ(content_of(path), "third");
    EXPECT_EQ(content_of(path + ".old"), "second");
    EXPECT_EQ(entries_in(folder.path()), 2U);
    {
        const auto given_up = FileSink::create(path, ExistingFile::kKeepOld);
        ASSERT_TRUE(given_up.ok());
        write_tail_first(**given_up, "never seen");
    }
    EXPECT_EQ(content_of(path), "third");
    EXPECT_EQ(content_of(path + ".old"), "second");
}

TEST(FileSinkOfExports, ALinkStaysALink) {
    const TemporaryFolder folder;
    fs::create_directory(folder / "elsewhere");
    const std::string file = folder / "elsewhere/file";
    const std::string link = folder / "link";
    std::ofstream{file} << "old";
    fs::create_symlink(file, link);
    write_whole(link, "new");
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(content_of(file), "new");
}

// As one that somebody lays in /tmp, where this program's user is to write.
TEST(FileSinkOfExports, AnotherUsersLinkIsNotFollowed) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "only root makes another user's links";
    }
    const TemporaryFolder folder;
    const std::string file = folder / "file";
    const std::string link = folder / "link";
    const std::string own = folder / "own";
    std::ofstream{file} << "theirs";
    fs::create_symlink("file", link);
    fs::create_symlink(link, own);
    ASSERT_EQ(::lchown(link.c_str(), 65'534, 65'534), 0);
    for (const std::string& path : {link, own}) {
        for (const ExistingFile existing : {ExistingFile::kReplace, ExistingFile::kKeepOld}) {
            const auto sink = FileSink::create(path, existing);
            ASSERT_FALSE(sink.ok()) << path;
            EXPECT_EQ(sink.error().code, ErrorCode::kPermission);
            EXPECT_NE(sink.error().message.find(link + ": is a symbolic link of another user"), std::string::npos)
                << sink.error().message;
        }
    }
    EXPECT_EQ(content_of(file), "theirs");

    // A link to nothing is replaced; another user's file gives nothing of its own away.
    fs::remove(file);
    write_whole(link, "ours");
    EXPECT_FALSE(fs::is_symlink(link));
    EXPECT_FALSE(fs::exists(file));
    std::ofstream{file} << "theirs, for everybody to read";
    ASSERT_EQ(::chown(file.c_str(), 65'534, 65'534), 0);
    ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
    const std::string second_name = folder / "second name";
    fs::create_hard_link(file, second_name);
    write_whole(file, "ours");
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(content_of(second_name), "theirs, for everybody to read");
}

// As `-o /dev/stdout` of a pipeline, and `-o >(program)` of a shell.
TEST(FileSinkOfExports, WhatIsNoFileIsWrittenAndNeverReplaced) {
    const TemporaryFolder folder;
    const std::string pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const std::string link = folder / "stdout";
    fs::create_symlink(pipe, link);
    const std::string text(300'000, 'x');
    for (const std::string& path : {pipe, link}) {
        std::string read;
        std::thread reader{[&] { read = content_of(pipe); }};
        write_whole(path, text);
        reader.join();
        EXPECT_EQ(read, text) << path;
    }
    EXPECT_TRUE(fs::is_fifo(pipe));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(entries_in(folder.path()), 2U);
}

TEST(FileSinkOfExports, AFullDeviceIsToldAndStaysADevice) {
    const TemporaryFolder folder;
    const std::string device = folder / "full";
    constexpr int kMemoryDevices = 1;
    constexpr int kFull = 7;
    if (::mknod(device.c_str(), S_IFCHR | 0600, (kMemoryDevices << 8) | kFull) != 0) {
        GTEST_SKIP() << "only root makes devices";
    }
    const auto sink = FileSink::create(device, ExistingFile::kRefuse);
    if (!sink.ok()) {
        GTEST_SKIP() << "devices can't be used here: " << sink.error().message;
    }
    write_tail_first(**sink, "anything");
    const auto committed = (*sink)->commit(std::nullopt);
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().code, ErrorCode::kFull);
    EXPECT_NE(committed.error().message.find(device), std::string::npos) << committed.error().message;
    EXPECT_TRUE(fs::is_character_file(device));
}

TEST(FileSinkOfExports, AFolderIsRefused) {
    const TemporaryFolder folder;
    const auto sink = FileSink::create(folder.path(), ExistingFile::kRefuse);
    ASSERT_FALSE(sink.ok());
    EXPECT_EQ(sink.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace perfleet
