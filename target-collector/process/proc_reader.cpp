#include "target-collector/process/proc_reader.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>

#include "schemas/host/host_clock.h"
#include "schemas/text/parse.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kMapsSizeBytesMax = 32U << 20U;
constexpr std::size_t kCommSizeBytesMax = 4'096;
constexpr std::size_t kStatSizeBytesMax = 4'096;
constexpr std::size_t kThreadStatusSizeBytesMax = 65'536;

std::vector<std::uint32_t> numbered_entries(const std::string& folder) {
    std::vector<std::uint32_t> numbers;
    DIR* const dir = ::opendir(folder.c_str());
    if (dir == nullptr) {
        return numbers;
    }
    while (const dirent* entry = ::readdir(dir)) {
        if (const auto number = number_of<std::uint32_t>(entry->d_name)) {
            numbers.push_back(*number);
        }
    }
    ::closedir(dir);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

template <class Visitor>
void each_mapping(std::uint32_t pid, Visitor visitor) {
    const auto text = read_small_file("/proc/" + std::to_string(pid) + "/maps", kMapsSizeBytesMax);
    if (!text.ok()) {
        return;
    }
    std::string_view rest = *text;
    while (!rest.empty()) {
        if (auto mapping = parse_maps_line(take_part(rest, '\n'))) {
            visitor(std::move(*mapping));
        }
    }
}

}  // namespace

std::vector<std::uint32_t> proc_pids() { return numbered_entries("/proc"); }

std::optional<std::uint32_t> proc_uid(std::uint32_t pid) {
    struct stat status {};
    if (::stat(("/proc/" + std::to_string(pid)).c_str(), &status) != 0) {
        return std::nullopt;
    }
    return status.st_uid;
}

std::optional<std::uint32_t> innermost_pid_in_status(std::string_view text) {
    constexpr std::string_view kField = "\nNSpid:";
    const std::size_t at = text.find(kField);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at + kField.size());
    text = text.substr(0, text.find('\n'));
    const std::size_t last = text.find_last_of("\t ");
    text.remove_prefix(last == std::string_view::npos ? 0 : last + 1);
    return number_of<std::uint32_t>(text);
}

std::optional<std::uint32_t> proc_innermost_pid(std::uint32_t pid) {
    const auto status = read_small_file("/proc/" + std::to_string(pid) + "/status", kThreadStatusSizeBytesMax);
    return status.ok() ? std::optional{innermost_pid_in_status(*status).value_or(pid)} : std::nullopt;
}

std::optional<std::uint32_t> proc_pid_of_thread(std::uint32_t tid) {
    constexpr std::string_view kKey = "\nTgid:\t";
    const auto status = read_small_file("/proc/" + std::to_string(tid) + "/status", kThreadStatusSizeBytesMax);
    const std::size_t at = status.ok() ? status->find(kKey) : std::string::npos;
    std::uint32_t pid = 0;
    if (at == std::string::npos ||
        std::from_chars(status->data() + at + kKey.size(), status->data() + status->size(), pid).ec != std::errc{}) {
        return std::nullopt;
    }
    return pid;
}

std::optional<std::uint32_t> parent_in_stat(std::string_view text) {
    // pid (name) state parent …; the name may contain anything, even a parenthesis
    constexpr std::size_t kFromNameEnd = 4;
    const std::size_t name_end = text.rfind(')');
    std::uint32_t parent = 0;
    if (name_end == std::string_view::npos || text.size() - name_end <= kFromNameEnd ||
        std::from_chars(text.data() + name_end + kFromNameEnd, text.data() + text.size(), parent).ec != std::errc{}) {
        return std::nullopt;
    }
    return parent;
}

namespace {

// A field of /proc/PID/stat by its number in proc(5), from 3 on; the name, field 2, may hold anything.
std::optional<std::uint64_t> number_in_stat(std::string_view text, int number) {
    std::size_t at = text.rfind(')');
    for (int field = 2; field < number && at != std::string_view::npos; ++field) {
        at = text.find(' ', at + 1);
    }
    std::uint64_t value = 0;
    if (at == std::string_view::npos ||
        std::from_chars(text.data() + at + 1, text.data() + text.size(), value).ec != std::errc{}) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::optional<std::uint64_t> start_in_stat(std::string_view text) { return number_in_stat(text, 22); }

std::optional<std::uint64_t> proc_start_ticks(std::uint32_t pid) {
    const auto status = read_small_file("/proc/" + std::to_string(pid) + "/stat", kStatSizeBytesMax);
    return status.ok() ? start_in_stat(*status) : std::nullopt;
}

std::optional<std::uint64_t> proc_code_start(std::uint32_t pid) {
    constexpr std::uint64_t kHidden = 1;  // what the kernel shows without permission
    const auto status = read_small_file("/proc/" + std::to_string(pid) + "/stat", kStatSizeBytesMax);
    const auto start = status.ok() ? number_in_stat(*status, 26) : std::nullopt;
    return start && *start > kHidden ? start : std::nullopt;
}

std::vector<std::uint32_t> proc_with_descendants(const std::vector<std::uint32_t>& pids) {
    std::multimap<std::uint32_t, std::uint32_t> children;  // by parent
    for (const std::uint32_t pid : proc_pids()) {
        const auto status = read_small_file("/proc/" + std::to_string(pid) + "/stat", kStatSizeBytesMax);
        if (!status.ok()) {
            continue;
        }
        if (const auto parent = parent_in_stat(*status)) {
            children.emplace(*parent, pid);
        }
    }
    std::vector<std::uint32_t> found;
    for (const std::uint32_t pid : pids) {
        if (std::find(found.begin(), found.end(), pid) == found.end()) {
            found.push_back(pid);
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto [first, last] = children.equal_range(found[i]);
        for (auto child = first; child != last; ++child) {
            if (std::find(found.begin(), found.end(), child->second) == found.end()) {
                found.push_back(child->second);
            }
        }
    }
    return found;
}

std::vector<ProcThread> proc_threads(std::uint32_t pid) {
    std::vector<ProcThread> threads;
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    for (const std::uint32_t tid : numbered_entries(folder)) {
        auto name = read_small_file(folder + "/" + std::to_string(tid) + "/comm", kCommSizeBytesMax);
        if (!name.ok()) {
            continue;
        }
        if (!name->empty() && name->back() == '\n') {
            name->pop_back();
        }
        threads.push_back({tid, std::move(*name)});
    }
    return threads;
}

std::optional<ProcMapping> parse_maps_line(std::string_view line) {
    ProcMapping mapping;
    if (!take_number(line, mapping.start, '-', 16) || !take_number(line, mapping.end, ' ', 16) || line.size() < 5 ||
        line[4] != ' ' || mapping.start >= mapping.end) {
        return std::nullopt;
    }
    mapping.protection = (line[0] == 'r' ? static_cast<std::uint32_t>(PROT_READ) : 0U) |
                         (line[1] == 'w' ? static_cast<std::uint32_t>(PROT_WRITE) : 0U) |
                         (line[2] == 'x' ? static_cast<std::uint32_t>(PROT_EXEC) : 0U);
    mapping.flags = line[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
    line.remove_prefix(5);
    if (!take_number(line, mapping.file_offset, ' ', 16) || !take_number(line, mapping.device_major, ':', 16) ||
        !take_number(line, mapping.device_minor, ' ', 16) || !take_number(line, mapping.inode, ' ')) {
        return std::nullopt;
    }
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    mapping.path = line;
    return mapping;
}

std::vector<ProcMapping> proc_mappings(std::uint32_t pid) {
    std::vector<ProcMapping> mappings;
    each_mapping(pid, [&](ProcMapping mapping) {
        if ((mapping.protection & PROT_EXEC) != 0) {
            mappings.push_back(std::move(mapping));
        }
    });
    return mappings;
}

std::optional<ProcMapping> proc_mapping_at(std::uint32_t pid, std::uint64_t start) {
    std::optional<ProcMapping> found;
    each_mapping(pid, [&](ProcMapping mapping) {
        if (mapping.start == start) {
            found = std::move(mapping);
        }
    });
    return found;
}

std::optional<UtcNs> proc_start(std::uint32_t pid) {
    const auto ticks = proc_start_ticks(pid);
    if (!ticks) {
        return std::nullopt;
    }
    const std::int64_t boot_ns =
        static_cast<std::int64_t>(clock_ns(CLOCK_REALTIME)) - static_cast<std::int64_t>(clock_ns(CLOCK_BOOTTIME));
    const auto tick_ns = static_cast<std::uint64_t>(kNsPerSecond) / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return UtcNs{boot_ns + static_cast<std::int64_t>(*ticks * tick_ns)};
}

}  // namespace perfleet
