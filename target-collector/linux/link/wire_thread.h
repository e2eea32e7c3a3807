// The thread of delivery: takes sealed batches from the ring, communicates with the gateway, and reports delays to the
// user.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/linux/link/control_executor.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/metrics/collector_counts.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

class WireThread : NonCopyable {
public:
    struct Options {
        Delivery::Options delivery;
        std::uint64_t exit_wait_ns = 0;       // after finish(): longest wait for the last acknowledgement
        ControlExecutor* requests = nullptr;  // passes on operators' control requests; null: rejected. Borrowed
        bool reports_connection = false;      // log the first connection, and each to another gateway
        bool keeps_rest = false;              // unacknowledged batches are in a spool on disk, not lost
    };

    // The result of delivery. Valid after join().
    struct Outcome {
        bool is_finished = false;   // the gateway has acknowledged everything, including the Bye
        bool has_given_up = false;  // the time was over before that
        bool is_in_file = false;    // the rest, with the Bye, is in the file that the driver fell back to
        bool session_refused = false;
        std::uint64_t batches_dropped = 0;
        std::uint64_t rows_given_up = 0;  // of those dropped
        std::uint64_t batches_kept = 0;   // still in the spool, or in the file
        std::uint64_t batches_refused = 0;
    };

    // Borrowed: what `options` points to, the rings, the clock, the counters, `log` (called from this thread).
    WireThread(const Options& options, std::unique_ptr<WaitingDriver> driver, SpscRing& batches, SpscRing& losses,
               BucketClock& clock, CollectorCounters& counters, LogSink log);
    ~WireThread();

    void start();

    // A batch was sealed.
    void wake();
    // The sealer has finished: delivers the rest within the time.
    void finish();
    // Signal-safe: stops waiting.
    void give_up();

    [[nodiscard]] DurationHistogram acknowledged_after() const { return delivery_.acknowledged_after(); }

    [[nodiscard]] bool session_refused() const { return session_refused_.load(std::memory_order_relaxed); }

    // The peer (WaitingDriver::peer()). Any thread.
    [[nodiscard]] std::string peer() const;

    const Outcome& join();

private:
    void run();
    // Time until there is work.
    [[nodiscard]] std::uint64_t sleep_ns(std::uint64_t now_ns) const;
    void report(std::uint64_t now_ns);
    void report_connected();
    // True when a request was answered, so that there is something to send.
    [[nodiscard]] bool pass_on_request();
    [[nodiscard]] bool is_over(std::uint64_t now_ns);

    Options options_;
    std::unique_ptr<WaitingDriver> driver_;
    BucketClock& clock_;
    CollectorCounters& counters_;
    LogSink log_;
    Delivery delivery_;
    WakeEvent wake_event_;
    std::thread thread_;
    std::atomic<bool> is_finishing_{false};
    std::atomic<bool> is_given_up_{false};
    std::atomic<bool> session_refused_{false};

    std::uint64_t started_ns_ = 0;
    std::uint64_t deadline_ns_ = 0;  // 0: none yet
    std::uint64_t last_reported_ns_ = 0;
    mutable std::mutex peer_mutex_;
    std::string peer_;
    std::string connected_reported_;  // the peer that was logged last
    bool is_waiting_reported_ = false;
    bool is_deferral_reported_ = false;
    std::uint64_t deferred_at_ = 0;  // batches acknowledged until then
    std::string reported_trouble_;   // the last reported reason for missing answers
    bool has_given_up_ = false;
    bool has_fallen_back_ = false;
    std::uint64_t acknowledged_by_gateway_ = 0;  // batches; of has_fallen_back_
    UtcNs gateway_utc_;
    Outcome outcome_;
};

}  // namespace perfleet
