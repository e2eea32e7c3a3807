// Loaded before a program under test (LD_PRELOAD): its clock of the day, and whether its disk answers, as world_page.h
// says. The program itself is the one that users run. PERFLEET_CHAOS_PAGE names the page's file.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "tests/chaos/world_page.h"

namespace {

using perfleet::chaos::kPageSizeBytes;
using perfleet::chaos::WorldPage;

constexpr long kHangTurnNs = 5'000'000;

template <class Function>
Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

WorldPage* map_page() {
    const char* const path = std::getenv("PERFLEET_CHAOS_PAGE");
    const int descriptor = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return nullptr;
    }
    void* const at = mmap(nullptr, kPageSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
    return at == MAP_FAILED ? nullptr : static_cast<WorldPage*>(at);
}

// Null outside of a cycle.
WorldPage* page() {
    static WorldPage* const mapped = map_page();
    return mapped;
}

void wait_for_disk() {
    if (page() == nullptr || page()->do_syncs_hang == 0) {
        return;
    }
    ++page()->hanging_count;
    while (page()->do_syncs_hang != 0) {
        const timespec turn{0, kHangTurnNs};
        nanosleep(&turn, nullptr);
    }
    --page()->hanging_count;
}

}  // namespace

extern "C" {

int fsync(int descriptor) {
    static auto* const next = real<int(int)>("fsync");
    wait_for_disk();
    return next(descriptor);
}

int fdatasync(int descriptor) {
    static auto* const next = real<int(int)>("fdatasync");
    wait_for_disk();
    return next(descriptor);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    static auto* const next = real<int(clockid_t, timespec*)>("clock_gettime");
    const int done = next(clock, time);
    if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && page() != nullptr) {
        constexpr std::int64_t kNsPerSecond = 1'000'000'000;
        const std::int64_t now =
            static_cast<std::int64_t>(time->tv_sec) * kNsPerSecond + time->tv_nsec + page()->utc_offset_ns;
        time->tv_sec = now / kNsPerSecond;
        time->tv_nsec = now % kNsPerSecond;
    }
    return done;
}

}  // extern "C"
