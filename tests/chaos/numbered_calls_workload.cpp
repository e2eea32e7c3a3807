// numbered_calls_workload COUNT_FILE FIRST N DURATION_MS: makes the calls getpgid(FIRST), getpgid(FIRST + 1), … spread
// over that time, N of them. Before each it writes into COUNT_FILE (8 bytes, which exist) how many it has begun: so a
// tracer can be compared with the number of calls, also when both are killed. It ends with the process that started it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: numbered_calls_workload COUNT_FILE FIRST N DURATION_MS\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(argv[1], O_RDWR | O_CLOEXEC);
    void* const at = mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || at == MAP_FAILED) {
        std::perror(argv[1]);
        return 1;
    }
    const std::atomic_ref begun{*static_cast<std::uint64_t*>(at)};
    const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
    const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
    const auto duration = std::chrono::milliseconds{std::strtoull(argv[4], nullptr, 10)};
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t made = 0;
    while (made < count) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        const double share = duration.count() == 0 ? 1.0 : std::min(1.0, elapsed / duration);
        const auto due = static_cast<std::uint64_t>(static_cast<double>(count) * share);
        for (; made < due; ++made) {
            begun.store(made + 1);
            syscall(SYS_getpgid, first + made);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return 0;
}
