#include "target-collector/linux/symbols/system_call_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace perfleet {
namespace {

bool is_refused(long result) { return result == -1 && errno == EPERM; }

// 0: correct; else the part that isn't.
int behaviour_of_filtered_process() {
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !filter_system_calls()) {
        return 1;
    }
    char byte = 0;
    if (::pread(file, &byte, 1, 1) != 1 || byte != 'E') {
        return 2;
    }
    constexpr std::size_t kSize = 4'096;
    void* const data = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED || !is_refused(::mprotect(data, kSize, PROT_READ | PROT_EXEC))) {
        return 3;
    }
    if (::mmap(nullptr, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) != MAP_FAILED) {
        return 4;
    }
    if (!is_refused(::open("/dev/null", O_RDONLY)) || !is_refused(::socket(AF_INET, SOCK_STREAM, 0)) ||
        !is_refused(::fork()) || !is_refused(::kill(::getppid(), 0)) ||
        !is_refused(::execl("/bin/true", "true", nullptr))) {
        return 5;
    }
    rlimit limits{};
    if (::getrlimit(RLIMIT_CPU, &limits) != 0 || !is_refused(::prlimit(1, RLIMIT_CPU, nullptr, &limits))) {
        return 6;
    }
    return 0;
}

TEST(SystemCallFilter, LeavesReadingAndMemoryWithoutCode) {
    const pid_t child = ::fork();
    if (child == 0) {
        // Not _exit(): before a function that doesn't return AddressSanitizer asks for the signal stack, which is
        // refused here, and ends the process with status 1.
        ::syscall(SYS_exit_group, behaviour_of_filtered_process());
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace perfleet
