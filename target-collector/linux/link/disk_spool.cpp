#include "target-collector/linux/link/disk_spool.h"

#include "target-collector/linux/link/clock_relation.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kLastSeenEveryNs = 250'000'000;

Error of_option(const Error& error) { return {error.code, "--spool: " + error.message}; }

}  // namespace

Result<std::unique_ptr<DiskSpool>> DiskSpool::open(const std::string& folder, std::size_t size_bytes, LogText log) {
    auto opened = SpoolFolder::open(folder, size_bytes, log);
    if (!opened.ok()) {
        return of_option(opened.error());
    }
    return std::unique_ptr<DiskSpool>(new DiskSpool(std::move(*opened), std::move(log)));
}

DiskSpool::~DiskSpool() {
    if (file_ != nullptr && !has_started_) {
        (void)file_->remove();
    }
}

void DiskSpool::deliver_orphans(std::unique_ptr<WaitingDriver> driver) {
    orphans_ = std::make_unique<OrphanDelivery>(folder_->orphans(), std::move(driver), log_);
}

Result<Done> DiskSpool::prepare(const ClockPoint& start_point, std::span<const std::byte> hello, LiveCounts& counts,
                                Delivery::Options& options) {
    auto file = folder_->create(options.session, hello);
    if (!file.ok()) {
        return of_option(file.error());
    }
    file_ = std::move(*file);
    journal_ = std::make_unique<DeliveryJournal>(file_->journal(), kFirstJournalNumber);
    counts_ = &counts;
    counts_->attach(file_->counts());
    end(start_point);
    options.spool = file_->records();
    options.journal = journal_.get();
    if (sync_interval_ns_ != 0) {
        sync_ = std::make_unique<SpoolSync>(
            sync_interval_ns_, [this] { return file_->sync(); }, log_);
    }
    return Done{};
}

void DiskSpool::start() {
    has_started_ = true;
    if (sync_interval_ns_ != 0) {
        sync_->start();
    }
    if (orphans_ != nullptr) {
        orphans_->start();
    }
}

void DiskSpool::tick(Ticks now) {
    if (now.value - last_seen_ns_ >= kLastSeenEveryNs) {
        end(observe_clocks());
    }
}

void DiskSpool::end(const ClockPoint& end_point) {
    last_seen_ns_ = end_point.ticks.value;
    counts_->set_last_seen(end_point);
}

void DiskSpool::finish(std::uint64_t wait_ns) {
    if (orphans_ != nullptr) {
        orphans_->finish(wait_ns);
    }
}

void DiskSpool::give_up() {
    if (orphans_ != nullptr) {
        orphans_->give_up();
    }
}

OrphanDelivery::Outcome DiskSpool::join(bool is_delivered) {
    if (sync_ != nullptr) {
        sync_->stop();
        if (!is_delivered) {
            sync_->sync();  // includes the session's end
        }
    }
    if (is_delivered) {
        if (const auto removed = file_->remove(); !removed.ok()) {
            log_(removed.error().message);
        }
    }
    return orphans_ != nullptr ? orphans_->join() : OrphanDelivery::Outcome{};
}

}  // namespace perfleet
