#include "schemas/host/file_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <thread>

#include "schemas/host/file_descriptor.h"

namespace perfleet {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        from.reset(ends[0]);
        to.reset(ends[1]);
    }
    FileDescriptor from;
    FileDescriptor to;
};

TEST(FileIo, WhatIsWrittenAtAPlaceIsReadThere) {
    const FileDescriptor file{::memfd_create("file-io", MFD_CLOEXEC)};
    ASSERT_TRUE(write_all(file.get(), bytes_of("0123456789")));
    ASSERT_TRUE(write_all_at(file.get(), 4, bytes_of("abc")));
    std::string text(5, '\0');
    EXPECT_EQ(read_all_at(file.get(), 3, std::as_writable_bytes(std::span{text})), 5U);
    EXPECT_EQ(text, "3abc7");
    EXPECT_EQ(read_all_at(file.get(), 7, std::as_writable_bytes(std::span{text})), 3U);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(text.substr(0, 3), "789");
}

TEST(FileIo, APipeIsReadInAsManyStepsAsItIsWritten) {
    Pipe pipe;
    std::string sent(300'000, '\0');
    for (std::size_t i = 0; i < sent.size(); ++i) {
        sent[i] = static_cast<char>(i * 7);
    }
    std::thread writer{[&] {
        for (const std::size_t begin : {0U, 1U, 70'000U}) {
            const std::size_t end = begin == 0 ? 1 : begin == 1 ? 70'000 : sent.size();
            EXPECT_TRUE(write_all(pipe.to.get(), bytes_of(sent).subspan(begin, end - begin)));
        }
        pipe.to.reset();
    }};
    std::string first(100'000, '\0');
    EXPECT_EQ(read_all(pipe.from.get(), std::as_writable_bytes(std::span{first})), first.size());
    const auto rest = read_rest(pipe.from.get(), sent.size());
    writer.join();
    ASSERT_TRUE(rest);
    EXPECT_TRUE(first + *rest == sent);
}

// A signal ends a call that waits: at once, or with what it has done.
TEST(FileIo, SignalsCutNothingShort) {
    struct sigaction action {};  // without SA_RESTART
    struct sigaction before {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    Pipe pipe;
    const std::string sent(4'000'000, 'x');
    std::string got(sent.size(), '\0');
    std::atomic<int> running{2};
    std::thread writer{[&] {
        EXPECT_TRUE(write_all(pipe.to.get(), bytes_of(sent)));
        pipe.to.reset();
        --running;
    }};
    std::thread reader{[&] {
        EXPECT_EQ(read_all(pipe.from.get(), std::as_writable_bytes(std::span{got})), got.size());
        --running;
    }};
    while (running > 0) {
        ::pthread_kill(writer.native_handle(), SIGUSR1);
        ::pthread_kill(reader.native_handle(), SIGUSR1);
        std::this_thread::yield();
    }
    writer.join();
    reader.join();
    EXPECT_TRUE(got == sent);
    ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(FileIo, TheRestIsBounded) {
    for (const std::size_t size_bytes : {0U, 1U, 16'383U, 16'384U, 16'385U, 100'000U}) {
        const FileDescriptor file{::memfd_create("file-io", MFD_CLOEXEC)};
        const std::string written(size_bytes, 'x');
        ASSERT_TRUE(write_all(file.get(), bytes_of(written)));
        for (const std::size_t most : {0U, 10U, 16'384U, 99'999U, 100'000U, 1'000'000U}) {
            ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
            EXPECT_EQ(read_rest(file.get(), most).value_or("none").size(), std::min(size_bytes, most + 1))
                << size_bytes << " of at most " << most;
        }
    }
}

TEST(FileIo, ErrnoSaysWhatFailed) {
    const FileDescriptor folder{::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    std::array<std::byte, 4> bytes{};
    EXPECT_EQ(read_all(folder.get(), bytes), 0U);
    EXPECT_EQ(errno, EISDIR);
    EXPECT_FALSE(read_rest(folder.get(), 100));
    EXPECT_EQ(errno, EISDIR);
    EXPECT_FALSE(write_all(folder.get(), bytes));
    EXPECT_EQ(errno, EBADF);
}

TEST(FileIo, AFolderIsSyncedOrItIsSaidWhyNot) {
    EXPECT_TRUE(sync_folder(::testing::TempDir()).ok());
    EXPECT_EQ(sync_folder("/proc").error().message, "/proc: Invalid argument");  // which has nothing to sync
    EXPECT_EQ(sync_folder("/proc/self/exe").error().message, "/proc/self/exe: Not a directory");
    EXPECT_EQ(sync_folder("/nowhere").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet
