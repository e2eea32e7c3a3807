// Syncs the running session's spool file periodically on a thread of its own, so that neither sampling nor sending
// waits for a disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/metrics/collector_counts.h"

namespace perfleet {

class SpoolSync : NonCopyable {
public:
    // `sync` is called on this thread. `log` gets a failure once, until a sync succeeds.
    SpoolSync(std::uint64_t interval_ns, std::function<Result<Done>()> sync, LogText log);
    ~SpoolSync();

    void start();
    // Waits for a running sync.
    void stop();
    // Syncs once now; must not be called while the thread runs.
    void sync();

    // Any thread.
    [[nodiscard]] SpoolSyncCounts counts() const;

private:
    void run();

    std::uint64_t interval_ns_;
    std::function<Result<Done>()> sync_;
    LogText log_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    bool is_over_ = false;
    bool is_failing_ = false;
    SpoolSyncCounts counts_;
    std::thread thread_;
};

}  // namespace perfleet
