#include "daemon/start/program_start.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>

namespace perfleet {
namespace {

// Descriptors are the whole process's, and so is what terminate() does: a process of its own for each.
class ProgramStartDeathTest : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

int number_of_a_file() { return ::open("/proc/self/stat", O_RDONLY); }

TEST_F(ProgramStartDeathTest, NoFileGetsTheNumberOfAStandardDescriptor) {
    const auto start_without_them = [] {
        for (const int descriptor : {0, 1, 2}) {
            ::close(descriptor);
        }
        const bool is_started = start_program("program", 0);
        char byte = 'x';
        const bool reads = ::read(0, &byte, 1) >= 0;
        const bool writes = ::write(1, &byte, 1) >= 0 || ::write(2, &byte, 1) >= 0;
        _exit(is_started && number_of_a_file() > 2 && !reads && !writes ? 0 : 1);
    };
    EXPECT_EXIT(start_without_them(), testing::ExitedWithCode(0), "");
}

TEST_F(ProgramStartDeathTest, LeavesDescriptorsThatAreThere) {
    const auto start = [] {
        const bool is_started = start_program("program", 0);
        _exit(is_started && ::write(2, "still here", 10) == 10 ? 0 : 1);
    };
    EXPECT_EXIT(start(), testing::ExitedWithCode(0), "still here");
}

TEST_F(ProgramStartDeathTest, WithoutMemoryItEndsWithASentence) {
    const auto run = [] {
        (void)start_program("program", 0);
        std::thread{[] { throw std::bad_alloc{}; }}.join();
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(1), "^program: there is no more memory.*ulimit -v.*raise it");
}

TEST_F(ProgramStartDeathTest, WithoutAThreadItEndsWithASentence) {
    const auto run = [] {
        (void)start_program("program", 0);
        std::thread{[] { throw std::system_error{EAGAIN, std::generic_category(), "a thread"}; }}.join();
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(1), "^program: no further thread.*ulimit -u.*pids.max.*raise it");
}

TEST_F(ProgramStartDeathTest, OtherExceptionsAbortAsEver) {
    const auto run = [] {
        (void)start_program("program", 0);
        std::thread{[] { throw 1; }}.join();
    };
    EXPECT_EXIT(run(), testing::KilledBySignal(SIGABRT), "");
}

TEST_F(ProgramStartDeathTest, SaysBeforehandThatItsThreadsCantBeStarted) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "a user whose processes are only this one: needs root";
    }
    const auto run = [] {
        constexpr uid_t kUsersBegin = 1'000'000;
        if (::setuid(kUsersBegin + static_cast<uid_t>(::getpid())) != 0) {
            _exit(2);
        }
#ifdef __SANITIZE_THREAD__
        constexpr rlim_t kSanitizerThreads = 1;
#else
        constexpr rlim_t kSanitizerThreads = 0;
#endif
        constexpr rlimit kLimit{3 + kSanitizerThreads, 3 + kSanitizerThreads};
        if (::setrlimit(RLIMIT_NPROC, &kLimit) != 0 || !start_program("program", 2)) {
            _exit(3);
        }
        _exit(start_program("program", 3) ? 4 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(1), "^program: no further thread");
}

TEST(ProgramStart, SaysWhetherASignalIsIgnored) {
    EXPECT_FALSE(is_signal_ignored(SIGHUP));
    const auto before = std::signal(SIGHUP, SIG_IGN);
    EXPECT_TRUE(is_signal_ignored(SIGHUP));
    std::signal(SIGHUP, before);
}

}  // namespace
}  // namespace perfleet
