#include "target-collector/process/file_contents.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "target-collector/process/elf_note.h"
#include "target-collector/process/proc_reader.h"

namespace perfleet::file_contents_test {
namespace {

constexpr std::chrono::milliseconds kTickOfFiles{50};  // above the steps in which the clock of files goes

std::uint64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000) + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string text_of(const ImageContentId& id) {
    return {reinterpret_cast<const char*>(id.bytes.data()), id.size_bytes};
}

// What is in a file, by its path.
std::string content_of(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ImageContentId id = content_id_of_file(fd, std::filesystem::file_size(path));
    ::close(fd);
    return text_of(id);
}

class FileContentsTest : public testing::Test {
protected:
    FileContentsTest() {
        std::string name = (std::filesystem::temp_directory_path() / "contents-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~FileContentsTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{folder_ / name} << text;
        return folder_ / name;
    }

    // As the kernel would report a mapping made now by a process that has ended already.
    MappedFile mapped(const std::string& path) {
        struct stat status {};
        EXPECT_EQ(::stat(path.c_str(), &status), 0);
        path_ = path;
        MappedFile file;
        file.path = path_;
        file.device_major = ::major(status.st_dev);
        file.device_minor = ::minor(status.st_dev);
        file.inode = status.st_ino;
        file.mapped_ns = now_ns();
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        std::uint64_t generation = 0;
        has_generations_ = ::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
        ::close(fd);
        file.generation = generation;
        return file;
    }

    std::filesystem::path folder_;
    std::string path_;
    bool has_generations_ = false;
    FileContents contents_;
};

TEST_F(FileContentsTest, AreReadOnceForEachVersion) {
    const std::string path = write("file", "one");
    EXPECT_EQ(text_of(contents_.of(mapped(path))), content_of(path));
    EXPECT_EQ(text_of(contents_.of(mapped(path))), content_of(path));
    EXPECT_EQ(contents_.read_count(), 1U);
    const std::string before = content_of(path);
    static_cast<void>(write("file", "another"));
    EXPECT_NE(content_of(path), before);
    EXPECT_EQ(text_of(contents_.of(mapped(path))), content_of(path));
    EXPECT_EQ(contents_.read_count(), 2U);
}

TEST_F(FileContentsTest, AreThoseOfTheVeryFile) {
    const std::string path = write("file", "one");
    const MappedFile file = mapped(path);
    for (int what = 0; what < 3; ++what) {
        MappedFile other = file;
        other.device_minor += what == 0 ? 1U : 0U;
        other.inode += what == 1 ? 1U : 0U;
        other.generation = *file.generation + (what == 2 ? 1U : 0U);
        if (what == 2 && !has_generations_) {
            continue;
        }
        EXPECT_EQ(text_of(contents_.of(other)), "") << what;
    }
    EXPECT_EQ(text_of(contents_.of(file)), content_of(path));
    EXPECT_EQ(contents_.read_count(), 1U);
}

TEST_F(FileContentsTest, OfAFileThatChangedSinceAreNotKnown) {
    const std::string path = write("file", "one");
    const std::string content = content_of(path);
    const MappedFile early = mapped(path);
    FileContents quick;
    EXPECT_EQ(text_of(quick.of(early)), content);
    // Written until its time of change is later, because the clock of files has steps of some milliseconds.
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    do {
        static_cast<void>(write("file", "two"));
        ASSERT_EQ(::stat(path.c_str(), &after), 0);
    } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             after.st_ctim.tv_nsec < before.st_ctim.tv_nsec + 50'000'000);
    EXPECT_EQ(text_of(contents_.of(early)), "");
    EXPECT_EQ(text_of(contents_.of(mapped(path))), content_of(path));
    EXPECT_EQ(text_of(contents_.of(early)), "") << "though it was read in between";
    EXPECT_EQ(text_of(quick.of(early)), content) << "it was read in time";
}

// As perf record does at its end with every file that it met.
TEST_F(FileContentsTest, OfAFileThatWasLinkedSinceAreKnownOnceTheyWereRead) {
    const std::string path = write("file", "one");
    std::this_thread::sleep_for(kTickOfFiles);
    EXPECT_EQ(text_of(contents_.of(mapped(path))), content_of(path));
    const MappedFile file = mapped(path);
    std::this_thread::sleep_for(kTickOfFiles);
    std::filesystem::create_hard_link(path, folder_ / "link");
    EXPECT_EQ(text_of(contents_.of(mapped(path))), content_of(path));
    EXPECT_EQ(contents_.read_count(), 2U);
    EXPECT_EQ(text_of(contents_.of(file)), content_of(path));
}

TEST_F(FileContentsTest, OfARemovedFileAreKnownOnceTheyWereRead) {
    const std::string path = write("file", "one");
    const std::string content = content_of(path);
    MappedFile file = mapped(path);
    ASSERT_EQ(text_of(contents_.of(file)), content);
    ASSERT_EQ(::unlink(path.c_str()), 0);
    EXPECT_EQ(text_of(contents_.of(file)), has_generations_ || *file.generation != 0 ? content : "");
    ++*file.generation;
    EXPECT_EQ(text_of(contents_.of(file)), "");
}

TEST_F(FileContentsTest, OfWhatIsNoRegularFileAreNotRead) {
    const std::string pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(text_of(contents_.of(mapped(pipe))), "");
    EXPECT_EQ(text_of(contents_.of(mapped("/dev/zero"))), "");
    EXPECT_EQ(text_of(contents_.of(mapped(folder_))), "");
    EXPECT_EQ(contents_.read_count(), 0U);
}

// A program that runs until it is ended, made as the caller wants it.
class Sleeper {
public:
    template <class Prepare>
    explicit Sleeper(const std::string& path, Prepare prepare) {
        int ready[2];
        EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            if (prepare()) {
                ::execl(path.c_str(), "sleep", "1000", nullptr);
            }
            ::_exit(1);
        }
        ::close(ready[1]);
        char byte = 0;
        static_cast<void>(!::read(ready[0], &byte, 1));  // its end: exec was done, or it has ended
        ::close(ready[0]);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() { end(); }

    void end() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = -1;
        }
    }

    // Of the program's code.
    [[nodiscard]] std::optional<ProcMapping> mapping(const std::string& path) const {
        for (const ProcMapping& found : proc_mappings(static_cast<std::uint32_t>(pid_))) {
            if (found.path.starts_with(path)) {
                return found;
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] MappedFile file(const ProcMapping& mapping) const {
        return {static_cast<std::uint32_t>(pid_),
                mapping.start,
                mapping.end,
                mapping.path,
                mapping.device_major,
                mapping.device_minor,
                mapping.inode,
                std::nullopt,
                0};
    }

private:
    pid_t pid_ = -1;
};

TEST_F(FileContentsTest, OfARemovedProgramThatRunsAreRead) {
    const std::string path = folder_ / "program";
    std::filesystem::copy_file("/bin/sleep", path);
    const Sleeper sleeper(path, [] { return true; });
    ASSERT_EQ(::unlink(path.c_str()), 0);
    std::ofstream{path} << "another file with the same name";
    const auto mapping = sleeper.mapping(path);
    ASSERT_TRUE(mapping.has_value());
    const std::string content = text_of(contents_.of(sleeper.file(*mapping)));
    if (content.empty() && ::access("/proc/self/map_files", X_OK) != 0) {
        GTEST_SKIP() << "needs root";
    }
    EXPECT_EQ(content, content_of("/bin/sleep"));
}

// A file system that only one process sees, with what the host has under the same name.
TEST_F(FileContentsTest, OfAnotherMountNamespaceAreRead) {
    const std::string path = write("program", "of the host");
    for (const char* kind : {"tmpfs", "overlay"}) {
        const std::string upper = folder_ / "upper";
        const std::string work = folder_ / "work";
        std::filesystem::create_directory(upper);
        std::filesystem::create_directory(work);
        const std::string options =
            std::string{kind} == "overlay" ? "lowerdir=/bin,upperdir=" + upper + ",workdir=" + work : "";
        Sleeper sleeper(path, [&] {
            std::error_code error;
            if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                ::mount("test", folder_.c_str(), kind, 0, options.c_str()) != 0) {
                return false;
            }
            return std::filesystem::copy_file("/bin/sleep", path, error);
        });
        const auto mapping = sleeper.mapping(path);
        if (!mapping) {
            GTEST_SKIP() << "can't mount a file system here";
        }
        MappedFile file = sleeper.file(*mapping);
        EXPECT_EQ(text_of(contents_.of(file)), content_of("/bin/sleep")) << kind;
        file.generation = 0;
        sleeper.end();
        EXPECT_EQ(text_of(contents_.of(file)), "") << kind << ": its inode may be used again, and nothing tells";
        std::filesystem::remove_all(work);
    }
}

}  // namespace
}  // namespace perfleet::file_contents_test
