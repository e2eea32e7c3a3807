// Text of /proc and /sys: lines of maps, a process's stat and status, lists of CPUs; and the code that a process
// reports to have made. A line of maps is the same when it is written as the kernel does and read again; a reported
// function is found at its address, whatever was reported before.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "schemas/vocabulary/assert.h"
#include "target-collector/process/perf_map.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/source/linux/event/cpu_list.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

constexpr std::size_t kCpusMax = 8'192;

std::string as_the_kernel_writes(const ProcMapping& mapping) {
    char text[128];
    std::snprintf(text, sizeof text, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu ", mapping.start, mapping.end,
                  (mapping.protection & PROT_READ) != 0 ? 'r' : '-', (mapping.protection & PROT_WRITE) != 0 ? 'w' : '-',
                  (mapping.protection & PROT_EXEC) != 0 ? 'x' : '-', mapping.flags == MAP_SHARED ? 's' : 'p',
                  mapping.file_offset, mapping.device_major, mapping.device_minor, mapping.inode);
    return text + mapping.path;
}

void check_maps_line(std::string_view line) {
    const auto mapping = parse_maps_line(line);
    if (!mapping) {
        return;
    }
    PERFLEET_ASSERT(mapping->start < mapping->end && mapping->path.size() < line.size());
    const auto again = parse_maps_line(as_the_kernel_writes(*mapping));
    PERFLEET_ASSERT(again.has_value());
    PERFLEET_ASSERT(again->start == mapping->start && again->end == mapping->end);
    PERFLEET_ASSERT(again->file_offset == mapping->file_offset && again->inode == mapping->inode);
    PERFLEET_ASSERT(again->protection == mapping->protection && again->flags == mapping->flags);
    PERFLEET_ASSERT(again->path == mapping->path);
}

void check_cpu_list(std::string_view text) {
    for (const std::uint32_t cpu : parse_cpu_list(text)) {
        PERFLEET_ASSERT(cpu < kCpusMax);
    }
}

// The field after the state; the name before it may contain anything.
void check_stat(std::string_view text) {
    const auto parent = parent_in_stat(text);
    if (parent) {
        const std::string number = std::to_string(*parent);
        PERFLEET_ASSERT(parent_in_stat("7 (a) b) S " + number + " 7 7 0") == parent);
        PERFLEET_ASSERT(text.find(number, text.rfind(')')) != std::string_view::npos);
    }
}

void check_reported_code(std::string_view text) {
    PerfMap map;
    map.add(text);
    for (std::uint64_t address = 0; address < 16; ++address) {
        const auto function = map.find(address);
        PERFLEET_ASSERT(!function || (function->start <= address && address - function->start < function->size_bytes));
        PERFLEET_ASSERT(!function || function->name.size() <= PerfMap::kNameSizeBytesMax);
    }
    map.add("\n5 3 made\n");
    PERFLEET_ASSERT(map.find(5)->name == "made" && map.find(7)->start == 5);
    PERFLEET_ASSERT(!map.find(8) || map.find(8)->start == 8);
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    std::string_view rest = input.rest_text();
    check_stat(rest);
    (void)start_in_stat(rest);
    (void)innermost_pid_in_status(rest);
    check_reported_code(rest);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        check_maps_line(rest.substr(0, end));
        check_cpu_list(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return 0;
}
