// The thread that delivers orphaned sessions of earlier runs from the spool folder, oldest first, beside the running
// session and over a connection of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/metrics/collector_counts.h"
#include "target-collector/spool/orphan_session.h"

namespace perfleet {

class OrphanDelivery : NonCopyable {
public:
    // Valid after join().
    struct Outcome {
        std::uint64_t sessions_left = 0;  // not delivered; their files remain
    };

    // `files`: SpoolFolder::left(), whose folder stays locked. `log` is borrowed and called from this thread.
    OrphanDelivery(std::vector<std::string> files, std::unique_ptr<WaitingDriver> driver, LogText log);
    ~OrphanDelivery();

    void start();

    // The collector ends: continues for at most `wait_ns`.
    void finish(std::uint64_t wait_ns);
    // Signal-safe: ends at once.
    void give_up();

    const Outcome& join();

    // Any thread. All 0 before start().
    [[nodiscard]] OrphanCounts counts() const;

private:
    struct Waiting {
        std::uint64_t batch_count = 0;
        std::uint64_t size_bytes = 0;
    };

    void run();
    // Whether the session was delivered completely.
    [[nodiscard]] bool deliver(std::size_t index);
    void look_at_all();
    void publish(std::size_t index, const Waiting& waiting);
    void count_delivered(std::uint64_t batch_count, std::uint64_t session_count);
    [[nodiscard]] bool is_over(std::uint64_t now_ns) const;
    void wake() const;

    std::vector<std::string> files_;
    std::unique_ptr<WaitingDriver> driver_;
    LogText log_;
    WakeEvent wake_event_;
    std::thread thread_;
    std::atomic<std::uint64_t> deadline_ns_{~0ULL};
    Outcome outcome_;
    mutable std::mutex counts_mutex_;
    std::vector<Waiting> waiting_;  // of each file
    OrphanCounts counts_;
};

}  // namespace perfleet
