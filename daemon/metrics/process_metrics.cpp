#include "daemon/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace perfleet {
namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void add_memory(MetricPage& page) {
    std::ifstream file{"/proc/self/statm"};
    std::uint64_t virtual_pages = 0;
    std::uint64_t resident_pages = 0;
    if (file >> virtual_pages >> resident_pages) {
        const auto page_size_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        page.gauge("process_virtual_memory_bytes", "Virtual memory size.", virtual_pages * page_size_bytes);
        page.gauge("process_resident_memory_bytes", "Resident memory size.", resident_pages * page_size_bytes);
    }
}

void add_descriptors(MetricPage& page) {
    std::error_code error;
    std::uint64_t open_count = 0;
    for (auto entry = std::filesystem::directory_iterator{"/proc/self/fd", error};
         !error && entry != std::filesystem::directory_iterator{}; entry.increment(error)) {
        ++open_count;
    }
    if (open_count > 0) {
        page.gauge("process_open_fds", "Open file descriptors.", open_count - 1);  // not the folder's own
    }
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        page.gauge("process_max_fds", "Maximum number of open file descriptors.",
                   static_cast<std::uint64_t>(limit.rlim_cur));
    }
}

// proc(5): field 22 of /proc/self/stat, in clock ticks since boot.
void add_start(MetricPage& page) {
    std::ifstream file{"/proc/self/stat"};
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return;
    }
    constexpr int kFieldsBetween = 19;
    std::istringstream rest{text.substr(name_end + 1)};
    std::string skipped;
    for (int i = 0; i < kFieldsBetween; ++i) {
        rest >> skipped;
    }
    double start_ticks = 0;
    timespec now{};
    timespec since_boot{};
    if (rest >> start_ticks && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
        clock_gettime(CLOCK_BOOTTIME, &since_boot) == 0) {
        const double boot_s = static_cast<double>(now.tv_sec - since_boot.tv_sec) +
                              static_cast<double>(now.tv_nsec - since_boot.tv_nsec) / 1e9;
        page.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.",
                   boot_s + start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
    }
}

}  // namespace

void add_process_metrics(MetricPage& page) {
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        page.counter("process_cpu_seconds_total", "CPU time of the process, user and system.",
                     seconds(usage.ru_utime) + seconds(usage.ru_stime));
    }
    add_memory(page);
    add_descriptors(page);
    add_start(page);
}

}  // namespace perfleet
