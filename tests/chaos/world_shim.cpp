// Loaded before a program under test (LD_PRELOAD): its wall clock, and whether its disk answers, as world_page.h says.
// The program itself is the one that users run. PERFLEET_CHAOS_PAGE names the page's file.
//
// PERFLEET_CHAOS_SYNCED names a folder that receives what the program has synced, for a loss of power (world.py takes
// it from there): a file as it was then, under its own name, and the names in a folder, a line each, as `names`.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

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
    static WorldPage* const kMapped = map_page();
    return kMapped;
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

std::string path_of(int descriptor) {
    std::array<char, 4'096> path{};
    const ssize_t size =
        readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path.data(), path.size() - 1);
    return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string{};
}

std::string names_in(const std::string& folder) {
    std::string names;
    DIR* const entries = opendir(folder.c_str());
    while (const dirent* const entry = entries == nullptr ? nullptr : readdir(entries)) {
        names += std::string(entry->d_name) + '\n';
    }
    if (entries != nullptr) {
        closedir(entries);
    }
    return names;
}

std::string content_of(int descriptor, std::size_t size) {
    std::string content(size, '\0');
    std::size_t at = 0;
    ssize_t got = 1;
    while (at < size && got > 0) {
        got = pread(descriptor, content.data() + at, size - at, static_cast<off_t>(at));
        at += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return content;
}

void note_synced(int descriptor) {
    static const char* const kFolder = std::getenv("PERFLEET_CHAOS_SYNCED");
    struct stat status {};
    if (kFolder == nullptr || fstat(descriptor, &status) != 0) {
        return;
    }
    const std::string path = path_of(descriptor);
    const bool is_folder = S_ISDIR(status.st_mode);
    const std::string name = is_folder ? "names" : path.substr(path.rfind('/') + 1);
    const std::string content =
        is_folder ? names_in(path) : content_of(descriptor, static_cast<std::size_t>(status.st_size));
    const std::string place = std::string{kFolder} + '/' + name;
    const std::string unfinished = place + '~';
    const int copy = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (copy >= 0) {
        const bool is_whole = write(copy, content.data(), content.size()) == static_cast<ssize_t>(content.size());
        close(copy);
        if (!is_whole || std::rename(unfinished.c_str(), place.c_str()) != 0) {
            std::abort();
        }
    }
}

int synced(int descriptor, int (*next)(int)) {
    wait_for_disk();
    const int result = next(descriptor);
    if (result == 0) {
        note_synced(descriptor);
    }
    return result;
}

}  // namespace

extern "C" {

int fsync(int descriptor) {
    static auto* const kNext = real<int(int)>("fsync");
    return synced(descriptor, kNext);
}

int fdatasync(int descriptor) {
    static auto* const kNext = real<int(int)>("fdatasync");
    return synced(descriptor, kNext);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    static auto* const kNext = real<int(clockid_t, timespec*)>("clock_gettime");
    const int done = kNext(clock, time);
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
