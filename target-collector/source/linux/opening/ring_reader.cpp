#include "target-collector/source/linux/opening/ring_reader.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <mutex>

#include "schemas/host/host_clock.h"

namespace perfleet {
namespace {

constexpr std::size_t kCallAboveBytes = 256U << 10U;  // waiting in a ring
constexpr std::uint64_t kShareCheckedEveryNs = 100'000'000;
constexpr std::uint64_t kShareDivisorMax = 4;

// False: not permitted.
bool set_scheduling(int policy, int priority) {
    sched_param parameters{};
    parameters.sched_priority = priority;
    return ::sched_setscheduler(0, policy, &parameters) == 0;
}

// First version of struct sched_attr in linux/sched/types.h, which conflicts with glibc's sched.h.
struct SchedulingAttributes {
    std::uint32_t size = 48;
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

// A thread with a short slice is scheduled before other ordinary threads (Linux 6.12), without more CPU time.
void ask_for_short_slices() {
    constexpr std::uint64_t kSliceNs = 100'000;  // the minimum
    SchedulingAttributes attr;
    if (::syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) == 0 && attr.policy == SCHED_OTHER) {
        attr.runtime_ns = kSliceNs;
        (void)::syscall(SYS_sched_setattr, 0, &attr, 0);
    }
}

// The scheduling class of the calling thread.
class Precedence {
public:
    Precedence() : is_real_time_{set_scheduling(SCHED_FIFO, ::sched_get_priority_min(SCHED_FIFO))} {
        if (!is_real_time_) {
            ask_for_short_slices();
        }
    }

    // Gives up real-time priority if the thread uses too much CPU time.
    void check() {
        if (!is_real_time_) {
            return;
        }
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (now - checked_ns_ < kShareCheckedEveryNs) {
            return;
        }
        const std::uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if ((cpu - cpu_ns_) * kShareDivisorMax > now - checked_ns_) {
            is_real_time_ = !set_scheduling(SCHED_OTHER, 0);
            ask_for_short_slices();
        }
        checked_ns_ = now;
        cpu_ns_ = cpu;
    }

private:
    bool is_real_time_;
    std::uint64_t checked_ns_ = clock_ns(CLOCK_MONOTONIC);
    std::uint64_t cpu_ns_ = 0;
};

}  // namespace

RingReader::Mutex::Mutex() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    (void)::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    ::pthread_mutex_init(&mutex_, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
}

RingReader::Mutex::~Mutex() { ::pthread_mutex_destroy(&mutex_); }
void RingReader::Mutex::lock() { ::pthread_mutex_lock(&mutex_); }
void RingReader::Mutex::unlock() { ::pthread_mutex_unlock(&mutex_); }

RingReader::RingReader(std::span<const std::unique_ptr<KernelRing>> rings, bool calls_at_once)
    : rings_{rings}, calls_at_once_{calls_at_once}, epoll_fd_{::epoll_create1(EPOLL_CLOEXEC)} {}

RingReader::~RingReader() { stop(); }

Result<Done> RingReader::start() {
    const auto watch = [this](int fd, std::size_t index) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = index;
        return ::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
    };
    bool watches = wake_event_ && watch(stop_event_.fd(), rings_.size());
    for (std::size_t i = 0; i < rings_.size() && watches; ++i) {
        watches = watch(rings_[i]->fd(), i);
    }
    if (!watches) {
        return error_from_errno(errno, "can't wait for the kernel's rings");
    }
    thread_ = std::thread([this] { run(); });
    return Done{};
}

void RingReader::stop() {
    if (thread_.joinable()) {
        is_stopping_.store(true, std::memory_order_relaxed);
        stop_event_.signal();
        thread_.join();
    }
}

void RingReader::show() {
    wake_event_.clear();
    const std::lock_guard lock{mutex_};
    has_called_ = false;
    for (const auto& ring : rings_) {
        ring->show();
        // Later records may have found no space, and a full ring doesn't wake the source.
        if (ring->waiting_bytes() > ring->waiting_bytes_max() / 2) {
            call();
        }
    }
}

void RingReader::call() {
    if (!has_called_) {
        has_called_ = true;
        wake_event_.signal();
    }
}

void RingReader::fetch(std::size_t ring_index) {
    const std::lock_guard lock{mutex_};
    (void)rings_[ring_index]->fetch();
    if (calls_at_once_ || rings_[ring_index]->waiting_bytes() > kCallAboveBytes) {
        call();
    }
}

void RingReader::run() {
    Precedence precedence;
    std::array<epoll_event, 16> events{};
    while (!is_stopping_.load(std::memory_order_relaxed)) {
        const int count = ::epoll_wait(epoll_fd_.get(), events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < count; ++i) {
            if (const auto index = static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64);
                index < rings_.size()) {
                fetch(index);
            }
        }
        precedence.check();
    }
}

}  // namespace perfleet
