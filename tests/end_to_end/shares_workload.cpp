// shares_workload SECONDS [A B]: spends 70, 20 and 10 % of its time (or A, B and the rest) in work_a, work_b and
// work_c, until it has used so many seconds of CPU: the number of its samples doesn't depend on the machine's load. The
// shares are counts of iterations of one kernel, a chain of multiplications that takes the same time wherever it lies.
// Rounds are of random length: a sampling period would meet rounds of its own length at the same place each time.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define KEEP_AS_IT_IS __attribute__((noinline, noipa, aligned(64)))
#endif
#endif
#ifndef KEEP_AS_IT_IS
#define KEEP_AS_IT_IS __attribute__((noinline, aligned(64)))
#endif

namespace {

constexpr std::uint64_t kIterationsPerPercentMin = 1'000;
constexpr std::uint64_t kIterationsPerPercentRange = 32'768;

// The increments differ, so that the linker can't fold the three functions into one.
template <std::uint64_t kIncrement>
inline __attribute__((always_inline)) std::uint64_t chain(std::uint64_t value, std::uint64_t iterations) {
    for (std::uint64_t i = 0; i < iterations; ++i) {
        value = value * 6364136223846793005ULL + kIncrement;
        asm volatile("" : "+r"(value));
    }
    return value;
}

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

extern "C" {
KEEP_AS_IT_IS std::uint64_t work_a(std::uint64_t value, std::uint64_t iterations) {
    return chain<1>(value, iterations);
}
KEEP_AS_IT_IS std::uint64_t work_b(std::uint64_t value, std::uint64_t iterations) {
    return chain<3>(value, iterations);
}
KEEP_AS_IT_IS std::uint64_t work_c(std::uint64_t value, std::uint64_t iterations) {
    return chain<5>(value, iterations);
}
}

int main(int argc, char** argv) {
    char* end = nullptr;
    const double seconds = argc == 2 || argc == 4 ? std::strtod(argv[1], &end) : 0;
    const std::uint64_t percent_a = argc == 4 ? std::strtoull(argv[2], nullptr, 10) : 70;
    const std::uint64_t percent_b = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 20;
    if (end == nullptr || end == argv[1] || *end != 0 || !(seconds >= 0) || percent_a > 100 ||
        percent_b > 100 - percent_a) {
        std::fprintf(stderr, "usage: shares_workload SECONDS [A B]\n");
        return 2;
    }
    std::uint64_t value = 1;
    std::uint64_t rounds = 0;
    do {
        const std::uint64_t iterations = kIterationsPerPercentMin + (value >> 32) % kIterationsPerPercentRange;
        value = work_a(value, percent_a * iterations);
        value = work_b(value, percent_b * iterations);
        value = work_c(value, (100 - percent_a - percent_b) * iterations);
        ++rounds;
    } while (cpu_seconds() < seconds);
    std::printf("shares rounds=%" PRIu64 " value=%" PRIx64 "\n", rounds, value);
    return 0;
}
