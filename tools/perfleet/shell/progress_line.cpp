#include "tools/perfleet/shell/progress_line.h"

#include <algorithm>
#include <utility>

namespace perfleet {

std::string rough_text(std::chrono::seconds duration) {
    constexpr std::int64_t kMinute = 60;
    constexpr std::int64_t kHour = 3'600;
    constexpr std::int64_t kDay = 24 * kHour;
    const std::int64_t seconds = duration.count();
    if (seconds < 2 * kMinute) {
        return std::to_string(seconds) + " s";
    }
    if (seconds >= 2 * kDay) {
        return std::to_string(seconds / kDay) + " days";
    }
    const std::string minutes = std::to_string(seconds % kHour / kMinute) + " min";
    return seconds < kHour ? minutes : std::to_string(seconds / kHour) + " h " + minutes;
}

std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          std::chrono::seconds elapsed) {
    if (total == 0 || done == 0) {
        return what + ": " + rough_text(elapsed);
    }
    constexpr double kShareMax = 0.99;  // 100 % is never shown: then the line is gone
    const double share = std::min(static_cast<double>(done) / static_cast<double>(total), kShareMax);
    const auto rest = static_cast<std::int64_t>(static_cast<double>(elapsed.count()) * (1 - share) / share + 0.5);
    return what + ": " + std::to_string(static_cast<unsigned>(share * 100)) + " %, about " +
           rough_text(std::chrono::seconds{std::max<std::int64_t>(rest, 1)}) + " left";
}

ProgressLine::ProgressLine(std::string what, std::chrono::milliseconds delay) : what_{std::move(what)} {
    if (LiveLine::is_possible()) {
        line_.start(
            [this](std::size_t) {
                const auto elapsed = std::chrono::steady_clock::now() - start_;
                return "perfleet: " +
                       progress_text(what_, done_, total_, std::chrono::duration_cast<std::chrono::seconds>(elapsed));
            },
            delay);
    }
}

ProgressReport ProgressLine::report() {
    if (!LiveLine::is_possible()) {
        return {};
    }
    return [this](std::uint64_t done, std::uint64_t total) {
        done_ = done;
        total_ = total;
    };
}

}  // namespace perfleet
