// getppid_workload N [stay]: makes exactly N getppid system calls (the C library could answer them itself), then prints
// so, and ends; or stays until a signal ends it.
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    char* end = nullptr;
    const bool stays = argc == 3 && std::string_view{argv[2]} == "stay";
    const std::uint64_t count =
        (argc == 2 || stays) && argv[1][0] >= '0' && argv[1][0] <= '9' ? strtoull(argv[1], &end, 10) : 0;
    if (end == nullptr || *end != 0) {
        std::fprintf(stderr, "usage: getppid_workload N [stay]\n");
        return 2;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        syscall(SYS_getppid);
    }
    std::printf("getppid calls=%" PRIu64 "\n", count);
    std::fflush(stdout);
    if (!stays) {
        return 0;
    }
    for (;;) {
        pause();
    }
}
