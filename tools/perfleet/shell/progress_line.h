// A progress line on standard error: appears after two seconds, only on a terminal, and is erased at the end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "daemon/terminal/live_line.h"
#include "schemas/host/progress.h"

namespace perfleet {

// "export: 43 %, about 12 s left", or "export: 12 s" if the total isn't known.
[[nodiscard]] std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                                        std::chrono::seconds elapsed);

// "12 s", "3 min", "2 h 5 min", "4 days".
[[nodiscard]] std::string rough_text(std::chrono::seconds duration);

class ProgressLine {
public:
    static constexpr std::chrono::milliseconds kDelay{2'000};

    // `what` is the command's name.
    explicit ProgressLine(std::string what, std::chrono::milliseconds delay = kDelay);

    // Empty if standard error is no terminal, so that no progress is computed. Borrows the line.
    [[nodiscard]] ProgressReport report();

    // Erases the line; call it before printing anything else.
    void end() { line_.stop(); }

private:
    std::string what_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> total_{0};
    LiveLine line_;
};

// Returns work(report) of a command, while the line shows its progress.
template <class Work>
auto with_progress(const std::string& what, const Work& work) {
    ProgressLine line{what};
    return work(line.report());
}

}  // namespace perfleet
