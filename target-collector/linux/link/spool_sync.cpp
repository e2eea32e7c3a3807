#include "target-collector/linux/link/spool_sync.h"

#include <chrono>
#include <utility>

namespace perfleet {

SpoolSync::SpoolSync(std::uint64_t interval_ns, std::function<Result<Done>()> sync, LogText log)
    : interval_ns_{interval_ns}, sync_{std::move(sync)}, log_{std::move(log)} {}

SpoolSync::~SpoolSync() { stop(); }

void SpoolSync::start() {
    thread_ = std::thread([this] { run(); });
}

void SpoolSync::stop() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard lock{mutex_};
        is_over_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void SpoolSync::run() {
    std::unique_lock lock{mutex_};
    // The interval begins when the last sync ends, so that a slow disk gets a pause.
    while (!wake_.wait_for(lock, std::chrono::nanoseconds{interval_ns_}, [this] { return is_over_; })) {
        lock.unlock();
        sync();
        lock.lock();
    }
}

void SpoolSync::sync() {
    const Result<Done> synced = sync_();
    if (!synced.ok() && !is_failing_) {
        log_("--spool-sync: " + synced.error().message + "; a loss of power may lose more than it should");
    }
    is_failing_ = !synced.ok();
    const std::lock_guard lock{mutex_};
    ++(synced.ok() ? counts_.done : counts_.failed);
}

SpoolSyncCounts SpoolSync::counts() const {
    const std::lock_guard lock{mutex_};
    return counts_;
}

}  // namespace perfleet
