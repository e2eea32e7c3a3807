#include "target-collector/linux/link/orphan_delivery.h"

#include <algorithm>
#include <utility>

#include "schemas/text/layout.h"
#include "schemas/vocabulary/assert.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/linux/link/refusal.h"

namespace perfleet {

OrphanDelivery::OrphanDelivery(std::vector<std::string> files, std::unique_ptr<WaitingDriver> driver, LogText log)
    : files_{std::move(files)}, driver_{std::move(driver)}, log_{std::move(log)} {
    PERFLEET_ASSERT(wake_event_);
}

OrphanDelivery::~OrphanDelivery() {
    give_up();
    join();
}

void OrphanDelivery::start() {
    thread_ = std::thread([this] { run(); });
}

void OrphanDelivery::wake() const { wake_event_.signal(); }

void OrphanDelivery::finish(std::uint64_t wait_ns) {
    const std::uint64_t deadline_ns = monotonic_now().value + wait_ns;
    std::uint64_t before = deadline_ns_.load(std::memory_order_relaxed);
    while (deadline_ns < before &&
           !deadline_ns_.compare_exchange_weak(before, deadline_ns, std::memory_order_relaxed)) {
    }
    wake();
}

void OrphanDelivery::give_up() {
    deadline_ns_.store(0, std::memory_order_relaxed);
    wake();
}

const OrphanDelivery::Outcome& OrphanDelivery::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
    return outcome_;
}

bool OrphanDelivery::is_over(std::uint64_t now_ns) const {
    return now_ns >= deadline_ns_.load(std::memory_order_relaxed);
}

void OrphanDelivery::run() {
    look_at_all();
    for (std::size_t i = 0; i < files_.size(); ++i) {
        outcome_.sessions_left += is_over(monotonic_now().value) || !deliver(i) ? 1 : 0;
    }
}

// Counts what each file holds before the first is delivered.
void OrphanDelivery::look_at_all() {
    std::vector<Waiting> waiting(files_.size());
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const auto file = SpoolFile::open(files_[i]);
        if (!file.ok()) {
            continue;  // reported when it is delivered
        }
        if (const auto reading = read_spool((*file)->bytes()); reading.ok()) {
            waiting[i] = {(*reading)->batch_count, (*reading)->entry.places.used_bytes};
        }
    }
    const std::lock_guard lock{counts_mutex_};
    waiting_ = std::move(waiting);
    counts_.sessions_waiting = files_.size();
}

void OrphanDelivery::publish(std::size_t index, const Waiting& waiting) {
    const std::lock_guard lock{counts_mutex_};
    waiting_[index] = waiting;
}

void OrphanDelivery::count_delivered(std::uint64_t batch_count, std::uint64_t session_count) {
    const std::lock_guard lock{counts_mutex_};
    counts_.batches_delivered += batch_count;
    counts_.sessions_delivered += session_count;
    counts_.sessions_waiting -= session_count;
}

OrphanCounts OrphanDelivery::counts() const {
    const std::lock_guard lock{counts_mutex_};
    OrphanCounts counts = counts_;
    for (const Waiting& waiting : waiting_) {
        counts.batches_waiting += waiting.batch_count;
        counts.bytes_waiting += waiting.size_bytes;
    }
    return counts;
}

bool OrphanDelivery::deliver(std::size_t index) {
    const std::string& file = files_[index];
    auto left = OrphanSession::open(file, *driver_);
    if (!left.ok()) {
        log_(left.error().message + "; it is left as it is");
        return false;
    }
    Delivery& delivery = (*left)->delivery();
    const SpoolReading& reading = (*left)->reading();
    std::uint64_t delivered = delivery.status().batches_acknowledged;
    bool is_deferral_reported = false;
    for (;;) {
        const std::uint64_t now_ns = monotonic_now().value;
        const bool is_busy = delivery.step(now_ns);
        driver_->note_time(now_ns);
        const std::uint64_t acknowledged = delivery.status().batches_acknowledged;
        count_delivered(acknowledged - std::exchange(delivered, acknowledged), 0);
        publish(index, {delivery.status().batches_kept, delivery.status().spool_used_bytes});
        if (delivery.status().finished) {
            break;
        }
        if (delivery.status().session_refused) {
            log_(driver_->peer() + " refuses " + (*left)->name() + ": " +
                 std::string(refusal(delivery.status().refused_reason)) + "; its file '" + file +
                 "' stays, and is offered again at the next start; remove it to give its rows up");
            return false;
        }
        if (delivery.status().is_deferred && !std::exchange(is_deferral_reported, true)) {
            log_(driver_->peer() + " doesn't take " + (*left)->name() + " for now: " +
                 std::string(refusal(delivery.status().refused_reason)) + "; it is asked again every minute");
        }
        if (is_over(now_ns)) {
            return false;
        }
        if (!is_busy) {
            const std::uint64_t deadline_ns = deadline_ns_.load(std::memory_order_relaxed);
            driver_->wait(wake_event_.fd(), std::min(kSleepNsMax, deadline_ns - std::min(deadline_ns, now_ns)));
            wake_event_.clear();
        }
    }
    std::string text = (*left)->name() + " is delivered: " + counted_noun(reading.batch_count, "batch", "batches");
    if (reading.rows_killed > 0) {
        text += "; " + counted_noun(reading.rows_killed, "row was", "rows were") + " lost when it was killed";
    }
    log_(text);
    count_delivered(0, 1);
    publish(index, {});
    if (const auto removed = (*left)->file().remove(); !removed.ok()) {
        log_(removed.error().message);
    }
    return true;
}

}  // namespace perfleet
