#include "target-collector/source/linux/event/cpu_list.h"

#include <unistd.h>

#include "schemas/text/parse.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kCpusMax = 8'192;  // Linux' own limit on x86-64

}  // namespace

std::vector<std::uint32_t> parse_cpu_list(std::string_view text) {
    std::vector<std::uint32_t> cpus;
    while (!text.empty() && text.back() == '\n') {
        text.remove_suffix(1);
    }
    while (!text.empty()) {
        const auto range = range_of<std::uint32_t>(take_part(text, ','));
        if (!range || range->second >= kCpusMax) {
            return {};
        }
        for (std::uint32_t cpu = range->first; cpu <= range->second; ++cpu) {
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
