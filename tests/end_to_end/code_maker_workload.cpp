// code_maker_workload SECONDS: makes two functions in memory at run time, names them in /tmp/perf-PID.map as run-times
// do, and spends 70 and 30 % of that many seconds of CPU in "made_a" and "made b (early.js:1)". The memory of the
// second is then used again for "made c", for as long: 30 % each of the second half. Removes its map.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

constexpr std::size_t kPageBytes = 65'536;
constexpr std::size_t kSecondAt = 4'096;
constexpr std::uint64_t kTurnsMax = 400'000;

// Counts its argument down.
#if defined(__x86_64__)
constexpr std::array<std::uint8_t, 9> kCode{0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
#elif defined(__aarch64__)
constexpr std::array<std::uint8_t, 12> kCode{0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#else
#error "machine code for this architecture is missing"
#endif

using Made = void (*)(std::uint64_t turns);

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void write_entry(std::FILE* map, const std::uint8_t* code, const char* name) {
    std::fprintf(map, "%lx %zx %s\n", reinterpret_cast<unsigned long>(code), kCode.size(), name);
    std::fflush(map);
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc == 2 ? std::strtod(argv[1], nullptr) : 0;
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    std::FILE* const map = std::fopen(path.c_str(), "w");
    void* const memory =
        mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!(seconds > 0) || map == nullptr || memory == MAP_FAILED) {
        std::fprintf(stderr, "usage: code_maker_workload SECONDS (and /tmp to write to)\n");
        return 2;
    }
    auto* const code = static_cast<std::uint8_t*>(memory);
    std::memcpy(code, kCode.data(), kCode.size());
    std::memcpy(code + kSecondAt, kCode.data(), kCode.size());
    __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(code + kPageBytes));
    write_entry(map, code, "made_a");
    write_entry(map, code + kSecondAt, "made b (early.js:1)");
    const auto first = reinterpret_cast<Made>(code);
    const auto second = reinterpret_cast<Made>(code + kSecondAt);
    std::uint64_t random = 1;
    bool is_used_again = false;
    for (double used = 0; used < seconds; used = cpu_seconds()) {
        if (!is_used_again && used > seconds / 2) {
            write_entry(map, code + kSecondAt, "made c");
            is_used_again = true;
        }
        random = random * 6364136223846793005ULL + 1;
        const std::uint64_t turns = 1'000 + (random >> 32U) % kTurnsMax;
        first(7 * turns);
        second(3 * turns);
    }
    std::fclose(map);
    // The collector may be late, and reads on in the file that it has open.
    unlink(path.c_str());
    return 0;
}
