#include "target-collector/source/linux/scheduler_frames.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr std::size_t kDepthMax = 16;  // examined at most

}  // namespace

std::size_t SchedulerFrames::count(std::span<const std::uint64_t> addresses) const {
    const auto is_in = [](std::uint64_t address, const KernelLayout::Range& one) {
        return address >= one.start && address < one.end;
    };
    std::size_t count = 0;
    bool is_beyond_text = !functions_.empty();
    for (std::size_t i = 0; i < std::min(addresses.size(), kDepthMax); ++i) {
        is_beyond_text = is_beyond_text && !is_in(addresses[i], text_);
        const bool is_scheduler = std::any_of(functions_.begin(), functions_.end(),
                                              [&](const KernelLayout::Range& one) { return is_in(addresses[i], one); });
        count = is_beyond_text || is_scheduler ? i + 1 : count;
    }
    return count;
}

}  // namespace perfleet
