#include "target-collector/source/linux/scheduler_frames.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 4> kNames{"__schedule", "schedule", "schedule_idle", "preempt_schedule_irq"};
constexpr std::size_t kDepthMax = 16;  // examined at most

}  // namespace

SchedulerFrames::SchedulerFrames(const KernelImages& kernel)
    : text_{kernel.kernel().address, kernel.kernel().address + kernel.kernel().size} {
    std::string_view rest = kernel.symbols();  // ascending
    constexpr std::uint64_t kNone = ~0ULL;
    std::uint64_t begun = kNone;  // start of a wanted function, which ends at the next symbol
    while (!rest.empty()) {
        const std::string_view line = take_part(rest, '\n');
        std::uint64_t offset = 0;
        const auto [after, error] = std::from_chars(line.data(), line.data() + line.size(), offset, 16);
        const std::size_t name_at = static_cast<std::size_t>(after - line.data()) + 3;
        if (error != std::errc{} || name_at > line.size()) {
            continue;
        }
        if (begun != kNone && offset > begun) {
            functions_.push_back({text_.start + begun, text_.start + offset});
            begun = kNone;
        }
        if (std::find(kNames.begin(), kNames.end(), line.substr(name_at)) != kNames.end()) {
            begun = offset;
        }
    }
}

std::size_t SchedulerFrames::count(std::span<const std::uint64_t> addresses) const {
    const auto is_in = [](std::uint64_t address, const Function& one) {
        return address >= one.start && address < one.end;
    };
    std::size_t count = 0;
    bool is_beyond_text = !functions_.empty();
    for (std::size_t i = 0; i < std::min(addresses.size(), kDepthMax); ++i) {
        is_beyond_text = is_beyond_text && !is_in(addresses[i], text_);
        const bool is_scheduler = std::any_of(functions_.begin(), functions_.end(),
                                              [&](const Function& one) { return is_in(addresses[i], one); });
        count = is_beyond_text || is_scheduler ? i + 1 : count;
    }
    return count;
}

}  // namespace perfleet
