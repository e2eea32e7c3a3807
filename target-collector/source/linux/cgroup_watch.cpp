#include "target-collector/source/linux/cgroup_watch.h"

#include <algorithm>
#include <memory>

#include "schemas/text/parse.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kTextSizeBytesMax = 256U << 10U;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

}  // namespace

std::optional<std::string> cgroup_in_text(std::string_view text) {
    std::string_view best;
    int best_rank = -1;
    while (!text.empty()) {
        const std::string_view line = take_part(text, '\n');
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string_view::npos ? first : line.find(":/", first + 1);
        if (second == std::string_view::npos) {
            continue;
        }
        const std::string_view hierarchy = line.substr(first + 1, second - first - 1);
        const std::string_view path = line.substr(second + 1);
        const int rank = hierarchy.empty() ? 2 : hierarchy == "name=systemd" ? 1 : 0;
        if (path.size() > best.size() || (path.size() == best.size() && rank > best_rank)) {
            best = path;
            best_rank = rank;
        }
    }
    constexpr std::string_view kDeleted{" (deleted)"};
    if (best.ends_with(kDeleted)) {
        best.remove_suffix(kDeleted.size());
    }
    return best.empty() || best.size() > limits::kStringSizeBytesMax ? std::nullopt : std::optional{std::string{best}};
}

bool CgroupWatch::read(Process& process, std::uint64_t now_ns) {
    if (now_ns - second_began_ns_ >= kSecondNs) {
        second_began_ns_ = now_ns;
        read_count_ = 0;
    }
    if (read_count_ == kReadsPerSecondMax) {
        return false;
    }
    ++read_count_;
    process.cgroup_read_ns = now_ns;
    const auto text = read_small_file("/proc/" + std::to_string(process.pid) + "/cgroup", kTextSizeBytesMax);
    std::optional<std::string> cgroup = text.ok() ? cgroup_in_text(*text) : std::nullopt;
    if (!cgroup || (process.cgroup != nullptr && *process.cgroup == *cgroup)) {
        return false;
    }
    process.cgroup = std::make_shared<const std::string>(*std::move(cgroup));
    return true;
}

}  // namespace perfleet
