#include "gateway/admission/image_checker.h"

#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Image checks may be late, acknowledgements may not.
constexpr int kNiceness = 10;

std::uint64_t thread_cpu_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

CheckedImage checked(ReceivedImage image, const std::atomic<bool>* is_stopping) {
    const std::uint64_t began_ns = thread_cpu_ns();
    const ImageVerdict verdict = check_image(image.build_id, image.content, is_stopping);
    return {std::move(image), verdict.refusal, {verdict.unpacked_bytes, thread_cpu_ns() - began_ns}};
}

ImageChecker::ImageChecker() {
    PERFLEET_ASSERT(done_event_);
    thread_ = std::thread{[this] { run(); }};
}

ImageChecker::~ImageChecker() {
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void ImageChecker::begin(ReceivedImage image) { begin(Work{std::move(image)}); }

void ImageChecker::begin(std::uint64_t ticket, OperatorCommand order) { begin(Work{Order{ticket, std::move(order)}}); }

void ImageChecker::begin(Work work) {
    {
        const std::lock_guard lock{mutex_};
        waiting_.push_back(std::move(work));
    }
    changed_.notify_all();
}

std::optional<ImageChecker::Outcome> ImageChecker::take() {
    std::optional<Outcome> done;
    {
        const std::lock_guard lock{mutex_};
        done = std::exchange(done_, std::nullopt);
        if (done.has_value()) {
            done_event_.clear();
        }
    }
    if (done.has_value()) {
        changed_.notify_all();
    }
    return done;
}

bool ImageChecker::wait(std::uint64_t timeout_ns) {
    std::unique_lock lock{mutex_};
    (void)changed_.wait_for(lock, std::chrono::nanoseconds{timeout_ns},
                            [&] { return done_.has_value() || (waiting_.empty() && !is_working_); });
    return done_.has_value();
}

void ImageChecker::run() {
    // Linux applies it to this thread alone.
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceness);
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [&] { return is_stopping_ || (!waiting_.empty() && !done_.has_value()); });
        if (is_stopping_) {
            return;
        }
        Work work = std::move(waiting_.front());
        waiting_.pop_front();
        is_working_ = true;
        lock.unlock();
        std::optional<Outcome> done;
        if (auto* image = std::get_if<ReceivedImage>(&work)) {
            done.emplace(checked(std::move(*image), &is_stopping_));
        } else {
            const Order& order = std::get<Order>(work);
            done.emplace(CheckedOrder{order.ticket, read_ordered_symbols(order.order)});
        }
        lock.lock();
        is_working_ = false;
        done_ = std::move(done);
        done_event_.signal();
        changed_.notify_all();
    }
}

}  // namespace perfleet
