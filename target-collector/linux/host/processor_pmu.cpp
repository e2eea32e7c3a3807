#include "target-collector/linux/host/processor_pmu.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/small_file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perfleet {
namespace {

constexpr std::size_t kCapsMax = 8;
constexpr std::size_t kCapSizeBytesMax = 4'096;

// Only PMUs of CPUs have a file `cpus`; those of memory controllers and buses don't.
std::map<std::string, std::string> pmus_of_cpus(const std::string& devices) {
    std::map<std::string, std::string> labels;
    std::string all;
    for (const std::string& device : names_in_folder(devices)) {
        std::error_code error;
        if (!std::filesystem::exists(devices + "/" + device + "/cpus", error)) {
            continue;
        }
        const std::string caps = devices + "/" + device + "/caps";
        std::size_t count = 0;
        for (const std::string& cap : all.empty() ? names_in_folder(caps) : std::vector<std::string>{}) {
            const auto text = read_small_file(caps + "/" + cap, kCapSizeBytesMax);
            if (text.ok() && cap.size() <= limits::kLabelSizeBytesMax / 2 && ++count <= kCapsMax) {
                labels["pmu_" + cap] = text->substr(0, std::min(text->find('\n'), limits::kLabelSizeBytesMax));
            }
        }
        all += (all.empty() ? "" : ",") + device;
    }
    labels["pmu"] = all.empty() ? "none" : all.substr(0, limits::kLabelSizeBytesMax);
    return labels;
}

#if defined(__x86_64__)
CpuidRegisters read_cpuid(std::uint32_t leaf) {
    CpuidRegisters registers;
    __cpuid_count(leaf, 0, registers.eax, registers.ebx, registers.ecx, registers.edx);
    return registers;
}
#endif

}  // namespace

CpuidFunction own_cpuid() {
#if defined(__x86_64__)
    return read_cpuid;
#else
    return nullptr;
#endif
}

std::vector<std::pair<std::string, std::string>> processor_pmu(const std::string& root, CpuidFunction cpuid) {
    const std::string devices = root + "/sys/bus/event_source/devices";
    std::map<std::string, std::string> labels;
    if (cpuid != nullptr) {
        // Whether Linux supports the counters.
        std::error_code error;
        const bool has_counters = std::filesystem::exists(devices + "/cpu", error);
        const PmuLabels pmu{pmu_of_cpuid(cpuid, has_counters)};
        for (const LabelDescription& label : pmu.labels()) {
            labels[std::string(label.key)] = label.value;
        }
    } else {
        labels = pmus_of_cpus(devices);
    }
    return {labels.begin(), labels.end()};
}

}  // namespace perfleet
