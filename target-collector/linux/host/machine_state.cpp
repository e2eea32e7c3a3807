#include "target-collector/linux/host/machine_state.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kFileSizeBytesMax = 4U << 20U;
constexpr std::size_t kCpusMax = 4'096;

// The first line; nothing if the file is missing or empty.
std::optional<std::string> line_of(const std::string& path) {
    const auto text = read_small_file(path, kFileSizeBytesMax);
    if (!text.ok()) {
        return std::nullopt;
    }
    const std::string line = text->substr(0, text->find('\n'));
    return line.empty() ? std::nullopt : std::optional{line.substr(0, limits::kLabelSizeBytesMax)};
}

// The contents of the file `name` of every CPU that has it.
std::vector<std::string> of_each_cpu(const std::string& cpus, const std::string& name) {
    std::vector<std::string> lines;
    std::error_code error;
    for (std::filesystem::directory_iterator entry{cpus, error}, end; !error && entry != end && lines.size() < kCpusMax;
         entry.increment(error)) {
        const std::string folder = entry->path().filename().string();
        const bool is_cpu = folder.starts_with("cpu") && folder.size() > 3 &&
                            folder.find_first_not_of("0123456789", 3) == std::string::npos;
        if (auto line = is_cpu ? line_of(entry->path().string() + "/" + name) : std::nullopt) {
            lines.push_back(std::move(*line));
        }
    }
    return lines;
}

std::optional<std::string> governors(const std::string& cpus) {
    std::string text;
    const std::vector<std::string> lines = of_each_cpu(cpus, "cpufreq/scaling_governor");
    for (const std::string& governor : std::set<std::string>{lines.begin(), lines.end()}) {
        text += (text.empty() ? "" : ",") + governor;
    }
    return text.empty() ? std::nullopt : std::optional{text.substr(0, limits::kLabelSizeBytesMax)};
}

std::optional<std::string> frequencies(const std::string& cpus) {
    std::uint64_t least = ~0ULL;
    std::uint64_t greatest = 0;
    for (const std::string& line : of_each_cpu(cpus, "cpufreq/scaling_cur_freq")) {
        std::uint64_t khz = 0;
        if (std::from_chars(line.data(), line.data() + line.size(), khz).ec == std::errc{} && khz > 0) {
            least = std::min(least, khz);
            greatest = std::max(greatest, khz);
        }
    }
    if (greatest == 0) {
        return std::nullopt;
    }
    return least == greatest ? std::to_string(least) : std::to_string(least) + "-" + std::to_string(greatest);
}

// intel_pstate reports that turbo is off, other drivers that it is on.
std::optional<std::string> turbo(const std::string& cpus) {
    if (const auto forbidden = line_of(cpus + "/intel_pstate/no_turbo")) {
        return *forbidden == "0" ? "on" : "off";
    }
    if (const auto allowed = line_of(cpus + "/cpufreq/boost")) {
        return *allowed == "0" ? "off" : "on";
    }
    return std::nullopt;
}

std::optional<std::string> processor(const std::string& root) {
    const auto text = read_small_file(root + "/proc/cpuinfo", kFileSizeBytesMax);
    for (const char* key : {"\nmodel name", "\nModel", "\nHardware"}) {
        const std::string all = text.ok() ? "\n" + *text : std::string{};
        const std::size_t at = all.find(key);
        const std::size_t colon = at == std::string::npos ? at : all.find(": ", at);
        if (colon != std::string::npos && colon < all.find('\n', at + 1)) {
            return all.substr(colon + 2, std::min(all.find('\n', colon) - colon - 2, limits::kLabelSizeBytesMax));
        }
    }
    return line_of(root + "/sys/firmware/devicetree/base/model");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_state(const std::string& root) {
    const std::string cpus = root + "/sys/devices/system/cpu";
    std::map<std::string, std::string> state;
    const auto add = [&](const char* name, const std::optional<std::string>& text) {
        if (text) {
            state[name] = *text;
        }
    };
    add("frequency_khz", frequencies(cpus));
    add("governor", governors(cpus));
    add("isolated_cpus", line_of(cpus + "/isolated"));
    add("kernel", line_of(root + "/proc/sys/kernel/osrelease"));
    add("machine", processor(root));
    if (const auto active = line_of(cpus + "/smt/active")) {
        add("smt", *active == "0" ? "off" : "on");
    }
    add("turbo", turbo(cpus));
    return {state.begin(), state.end()};
}

}  // namespace perfleet
