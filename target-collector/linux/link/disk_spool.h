// The collector's spool on disk as it is run: the folder, the file of the running session, and the delivery of what
// earlier runs left.
//
// A resource. Threads: everything is called by the source's, give_up() by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/linux/link/orphan_delivery.h"
#include "target-collector/linux/link/spool_sync.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/message/live_counts.h"
#include "target-collector/spool/spool_folder.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

class DiskSpool {
public:
    // Errors: SpoolFolder::open()'s. `log` is called from other threads, too, as long as this lives.
    [[nodiscard]] static Result<std::unique_ptr<DiskSpool>> open(const std::string& folder, std::size_t size_bytes,
                                                                 LogText log);
    DiskSpool(const DiskSpool&) = delete;
    DiskSpool& operator=(const DiskSpool&) = delete;
    // Takes the file of a session that never began away.
    ~DiskSpool();

    // Files of earlier runs with damage.
    [[nodiscard]] std::uint64_t damaged_count() const { return folder_->damaged_count(); }
    [[nodiscard]] bool has_left() const { return !folder_->orphans().empty(); }
    // Over this connection; begins with start().
    void deliver_orphans(std::unique_ptr<WaitingDriver> driver);

    // Makes the file of `options.session`, and sets in `options` what a delivery needs to work in it. `counts` are kept
    // in it from now on. Errors: SpoolFolder::create()'s.
    [[nodiscard]] Result<Done> prepare(const ClockPoint& start_point, std::span<const std::byte> hello,
                                       LiveCounts& counts, Delivery::Options& options);

    // From start() on the file goes to the disk this often.
    void sync_every(std::uint64_t interval_ns) { sync_interval_ns_ = interval_ns; }
    // The session begins.
    void start();
    // To be called at every turn: a session that is killed ended when this was last done.
    void tick(Ticks now);
    // The source has ended.
    void end(const ClockPoint& end_point);

    // Goes on with what earlier runs left for so long at most.
    void finish(std::uint64_t wait_ns);
    // Signal-safe: no longer.
    void give_up();
    // After the running session's delivery has ended; `is_delivered`: everything is acknowledged, and its file can go.
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
    std::unique_ptr<OrphanDelivery> orphans_;  // null: earlier runs left nothing
    std::uint64_t sync_interval_ns_ = 0;       // 0: never
    std::unique_ptr<SpoolSync> sync_;          // ends before the file does
    bool has_started_ = false;
    std::uint64_t last_seen_ns_ = 0;
};

}  // namespace perfleet
