// The collector's spool on disk: the folder, the file of the running session, and the delivery of orphaned sessions of
// earlier runs.
//
// A resource. Threads: only the source's; give_up() may be called by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/linux/link/orphan_delivery.h"
#include "target-collector/linux/link/spool_sync.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/message/live_counts.h"
#include "target-collector/spool/spool_folder.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

class DiskSpool : NonCopyable {
public:
    // Errors: SpoolFolder::open()'s. `log` is also called from other threads during its lifetime.
    [[nodiscard]] static Result<std::unique_ptr<DiskSpool>> open(const std::string& folder, std::size_t size_bytes,
                                                                 LogText log);
    // Removes the file of a session that never began.
    ~DiskSpool();

    // Damaged files of earlier runs.
    [[nodiscard]] std::uint64_t damaged_count() const { return folder_->damaged_count(); }
    [[nodiscard]] bool has_left() const { return !folder_->orphans().empty(); }
    // Delivers over this connection, from start() on.
    void deliver_orphans(std::unique_ptr<WaitingDriver> driver);

    // Creates the file of `options.session`, and sets in `options` what a delivery needs to work in it. `counts` are
    // stored in it from now on. Errors: SpoolFolder::create()'s.
    [[nodiscard]] Result<Done> prepare(const ClockPoint& start_point, std::span<const std::byte> hello,
                                       LiveCounts& counts, Delivery::Options& options);

    // Syncs the file at this interval from start() on.
    void sync_every(std::uint64_t interval_ns) { sync_interval_ns_ = interval_ns; }
    // The session begins.
    void start();
    // To be called at every turn: the last time is taken as the end of a session that is killed.
    void tick(Ticks now);
    // The source has ended.
    void end(const ClockPoint& end_point);

    // Continues to deliver orphaned sessions for at most `wait_ns`.
    void finish(std::uint64_t wait_ns);
    // Signal-safe: stops at once.
    void give_up();
    // To be called after the running session's delivery has ended; `is_delivered`: everything is acknowledged, and its
    // file is removed.
    OrphanDelivery::Outcome join(bool is_delivered);

    // Any thread.
    [[nodiscard]] OrphanCounts orphan_counts() const {
        return orphans_ == nullptr ? OrphanCounts{} : orphans_->counts();
    }
    [[nodiscard]] SpoolSyncCounts sync_counts() const { return sync_ == nullptr ? SpoolSyncCounts{} : sync_->counts(); }

private:
    DiskSpool(std::unique_ptr<SpoolFolder> folder, LogText log) : folder_{std::move(folder)}, log_{std::move(log)} {}

    std::unique_ptr<SpoolFolder> folder_;
    LogText log_;
    std::unique_ptr<SpoolFile> file_;
    std::unique_ptr<DeliveryJournal> journal_;
    LiveCounts* counts_ = nullptr;
    std::unique_ptr<OrphanDelivery> orphans_;  // null: no orphaned sessions
    std::uint64_t sync_interval_ns_ = 0;       // 0: never
    std::unique_ptr<SpoolSync> sync_;          // must end before the file does
    bool has_started_ = false;
    std::uint64_t last_seen_ns_ = 0;
};

}  // namespace perfleet
