// getppid_workload N: makes exactly N getppid system calls (the C library could answer them itself), then says so.
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    char* end = nullptr;
    const std::uint64_t count = argc == 2 && argv[1][0] >= '0' && argv[1][0] <= '9' ? strtoull(argv[1], &end, 10) : 0;
    if (end == nullptr || *end != 0) {
        std::fprintf(stderr, "usage: getppid_workload N\n");
        return 2;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        syscall(SYS_getppid);
    }
    std::printf("getppid calls=%" PRIu64 "\n", count);
    return 0;
}
