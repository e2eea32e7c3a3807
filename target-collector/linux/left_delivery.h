// The thread that delivers what earlier runs left in the spool folder, session by session, oldest first, beside the
// running session and over a connection of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "target-collector/linux/waiting_driver.h"
#include "target-collector/spool/left_session.h"

namespace perfleet {

class LeftDelivery {
public:
    using Notice = std::function<void(std::string_view)>;

    // Valid after join().
    struct Outcome {
        std::uint64_t sessions_left = 0;  // not delivered; their files are still there
        std::uint64_t cpu_ns = 0;
    };

    // `files`: SpoolFolder::left(), whose folder stays locked. `notice` is borrowed, and called from this thread.
    LeftDelivery(std::vector<std::string> files, std::unique_ptr<WaitingDriver> driver, Notice notice);
    LeftDelivery(const LeftDelivery&) = delete;
    LeftDelivery& operator=(const LeftDelivery&) = delete;
    ~LeftDelivery();

    void start();

    // The collector ends: go on for so long at most.
    void finish(std::uint64_t wait_ns);
    // Signal-safe: end now.
    void give_up();

    const Outcome& join();

private:
    void run();
    // Whether it was delivered to its end.
    [[nodiscard]] bool deliver(const std::string& file);
    [[nodiscard]] bool is_over(std::uint64_t now_ns) const;
    void wake() const;

    std::vector<std::string> files_;
    std::unique_ptr<WaitingDriver> driver_;
    Notice notice_;
    int wake_fd_;
    std::thread thread_;
    std::atomic<std::uint64_t> deadline_ns_{~0ULL};
    Outcome outcome_;
};

}  // namespace perfleet
