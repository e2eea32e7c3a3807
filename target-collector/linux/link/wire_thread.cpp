#include "target-collector/linux/link/wire_thread.h"

#include <algorithm>
#include <utility>

#include "schemas/vocabulary/assert.h"
#include "target-collector/linux/link/refusal.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kFirstWordAfterNs = 1'000'000'000;
constexpr std::uint64_t kWordEveryNs = 10'000'000'000;
constexpr std::uint64_t kOverrunNsMax = 1'000'000'000;
constexpr std::uint64_t kFarewellNs = 500'000'000;     // to send the Bye of a session that gave up
constexpr std::uint64_t kFallBackNs = 10'000'000'000;  // to write the spool's batches to a file

}  // namespace

WireThread::WireThread(const Options& options, std::unique_ptr<WaitingDriver> driver, SpscRing& batches,
                       SpscRing& losses, BucketClock& clock, CollectorCounters& counters, LogSink log)
    : options_{options},
      driver_{std::move(driver)},
      clock_{clock},
      counters_{counters},
      log_{std::move(log)},
      delivery_{options_.delivery, *driver_, batches, losses} {
    PERFLEET_ASSERT(wake_event_);
}

WireThread::~WireThread() {
    give_up();
    finish();
    join();
}

void WireThread::start() {
    thread_ = std::thread([this] { run(); });
}

void WireThread::wake() { wake_event_.signal(); }

void WireThread::finish() {
    is_finishing_.store(true, std::memory_order_release);
    wake();
}

void WireThread::give_up() {
    is_given_up_.store(true, std::memory_order_release);
    wake();
}

const WireThread::Outcome& WireThread::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
    return outcome_;
}

void WireThread::run() {
    started_ns_ = monotonic_now().value;
    for (;;) {
        // Read before the step, so that the step sees everything the sealer passed on before "finish".
        const bool is_finishing = is_finishing_.load(std::memory_order_acquire);
        const std::uint64_t now_ns = monotonic_now().value;
        if (is_finishing && deadline_ns_ == 0) {
            deadline_ns_ = now_ns + options_.exit_wait_ns;
        }
        const bool is_answered = pass_on_request();
        const bool is_busy = delivery_.step(now_ns) || is_answered;
        const Delivery::Status& status = delivery_.status();
        if (status.gateway_utc != gateway_utc_) {
            gateway_utc_ = status.gateway_utc;
            clock_.set_gateway_utc(gateway_utc_, monotonic_now());
        }
        driver_->note_time(now_ns);
        {
            const std::lock_guard lock{peer_mutex_};
            peer_ = driver_->peer();
        }
        counters_.publish_delivery(status, driver_->is_silent());
        report(now_ns);
        // Deliveries in progress may exceed the deadline a little.
        if (is_finishing && (!is_busy || now_ns >= deadline_ns_ + kOverrunNsMax) && is_over(now_ns)) {
            break;
        }
        if (!is_busy) {
            driver_->wait(wake_event_.fd(), sleep_ns(now_ns));
            wake_event_.clear();
        }
    }
    const Delivery::Status& status = delivery_.status();
    const bool is_in_file = has_fallen_back_ && status.finished && !has_given_up_;
    outcome_ = {status.finished && !has_fallen_back_,
                has_given_up_,
                is_in_file,
                status.session_refused,
                status.batches_dropped,
                status.rows_given_up,
                is_in_file ? status.batches_acknowledged - acknowledged_by_gateway_ : status.batches_kept,
                status.batches_refused};
}

bool WireThread::pass_on_request() {
    const ControlRequest* const order = delivery_.order();
    if (order == nullptr || options_.requests == nullptr) {
        return false;
    }
    if (const auto answer = options_.requests->take_answer()) {
        delivery_.answer_request({answer->outcome, answer->reason});
        return true;
    }
    options_.requests->place(*order);
    return false;
}

bool WireThread::is_over(std::uint64_t now_ns) {
    if (delivery_.status().finished || delivery_.status().session_refused) {
        return true;
    }
    const bool is_time_over = now_ns >= deadline_ns_ ||
                              (has_fallen_back_ ? driver_->is_silent() : is_given_up_.load(std::memory_order_acquire));
    if (!has_given_up_ && is_time_over) {
        if (options_.keeps_rest) {
            has_given_up_ = true;
            return true;
        }
        if (driver_->fall_back()) {
            has_fallen_back_ = true;
            acknowledged_by_gateway_ = delivery_.status().batches_acknowledged;
            deadline_ns_ = now_ns + kFallBackNs;
            return false;
        }
        has_given_up_ = true;
        delivery_.give_up();
        deadline_ns_ = now_ns + (delivery_.status().welcomed ? kFarewellNs : 0);
        return false;  // the next step counts the losses
    }
    return has_given_up_ && now_ns >= deadline_ns_;
}

std::uint64_t WireThread::sleep_ns(std::uint64_t now_ns) const {
    if (deadline_ns_ == 0) {
        return kSleepNsMax;
    }
    if (has_given_up_ && !delivery_.status().welcomed) {
        return 0;
    }
    return std::clamp<std::uint64_t>(deadline_ns_ > now_ns ? deadline_ns_ - now_ns : 0, 1'000'000, kSleepNsMax);
}

void WireThread::report_connected() {
    std::string peer = driver_->peer();
    if (is_waiting_reported_ || (options_.reports_connection && peer != connected_reported_)) {
        log_({LogLevel::kNotice, "gateway", "connected to " + peer});
    }
    is_waiting_reported_ = false;
    connected_reported_ = std::move(peer);
}

std::string WireThread::peer() const {
    const std::lock_guard lock{peer_mutex_};
    return peer_;
}

void WireThread::report(std::uint64_t now_ns) {
    const Delivery::Status& status = delivery_.status();
    if (has_fallen_back_) {
        return;
    }
    if (status.session_refused) {
        if (!session_refused_.exchange(true, std::memory_order_relaxed)) {
            log_({LogLevel::kError, "gateway",
                  driver_->peer() + " refuses this session: " + std::string(refusal(status.refused_reason))});
        }
        return;
    }
    if (status.is_deferred) {
        last_reported_ns_ = now_ns;  // the gateway answers
        if (!is_deferral_reported_) {
            is_deferral_reported_ = true;
            deferred_at_ = status.batches_acknowledged;
            log_({LogLevel::kWarning, "gateway",
                  driver_->peer() + " doesn't take this session for now: " +
                      std::string(refusal(status.refused_reason)) + "; it is asked again every minute"});
        }
        return;
    }
    if (status.welcomed && !driver_->is_silent()) {
        report_connected();
        // A Welcome isn't enough: a batch may be deferred again.
        if (is_deferral_reported_ && status.batches_acknowledged > deferred_at_) {
            is_deferral_reported_ = false;
            log_({LogLevel::kNotice, "gateway", driver_->peer() + " takes this session now"});
        }
        last_reported_ns_ = now_ns;
        return;
    }
    const std::string trouble = driver_->trouble();
    if (is_waiting_reported_ && trouble != reported_trouble_ && !trouble.empty()) {
        reported_trouble_ = trouble;
        log_("waiting for " + driver_->peer() + ": " + trouble);
    }
    const std::uint64_t since = std::max(started_ns_, last_reported_ns_);
    if (now_ns - since < (is_waiting_reported_ ? kWordEveryNs : kFirstWordAfterNs)) {
        return;
    }
    last_reported_ns_ = now_ns;
    if (!is_waiting_reported_) {
        reported_trouble_ = trouble;
        log_("waiting for " + driver_->peer() + (trouble.empty() ? "" : ": " + trouble));
    } else {
        log_("still waiting for " + driver_->peer() + ": " + std::to_string(status.spool_used_bytes >> 10U) +
             " KiB are spooled, " + std::to_string(status.batches_dropped) + " batches were dropped" +
             (trouble.empty() ? "" : "; " + trouble));
    }
    is_waiting_reported_ = true;
}

}  // namespace perfleet
