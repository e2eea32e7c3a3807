// Brings the running session's spool file to the disk every so often, on a thread of its own: neither sampling nor
// sending waits for a disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "target-collector/metrics/collector_counts.h"

namespace perfleet {

class SpoolSync {
public:
    // `sync` is called on this one's thread. `log` is told of a failure, once until it works again.
    SpoolSync(std::uint64_t interval_ns, std::function<Result<Done>()> sync, LogText log);
    SpoolSync(const SpoolSync&) = delete;
    SpoolSync& operator=(const SpoolSync&) = delete;
    ~SpoolSync();

    void start();
    // Ends when a sync under way has ended.
    void stop();
    // Once now; not while the thread runs.
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
