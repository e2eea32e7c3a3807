#include "target-collector/source/linux/cpu_list.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kCpusMax = 8'192;  // as Linux' own bound on x86-64

}  // namespace

std::vector<std::uint32_t> parse_cpu_list(std::string_view text) {
    std::vector<std::uint32_t> cpus;
    while (!text.empty() && text.back() == '\n') {
        text.remove_suffix(1);
    }
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view range = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        std::uint32_t first = 0;
        const char* const end = range.data() + range.size();
        auto parsed = std::from_chars(range.data(), end, first);
        std::uint32_t last = first;
        if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == '-') {
            parsed = std::from_chars(parsed.ptr + 1, end, last);
        }
        if (parsed.ec != std::errc{} || parsed.ptr != end || last < first || last >= kCpusMax) {
            return {};
        }
        for (std::uint32_t cpu = first; cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

std::vector<std::uint32_t> online_cpus() {
    constexpr std::size_t kSizeMax = 65'536;
    if (const auto text = read_small_file("/sys/devices/system/cpu/online", kSizeMax); text.ok()) {
        if (auto cpus = parse_cpu_list(*text); !cpus.empty()) {
            return cpus;
        }
    }
    std::vector<std::uint32_t> cpus;
    for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_ONLN); ++cpu) {
        cpus.push_back(static_cast<std::uint32_t>(cpu));
    }
    return cpus;
}

}  // namespace perfleet
