// Empties the kernel's rings on a thread of its own when they signal: a small ring fills much faster than a batch is
// sealed.
//
// The thread only copies. If permitted it runs with real-time priority (SCHED_FIFO), because waiting some milliseconds
// for another thread's time slice would fill a small ring. It returns to ordinary scheduling if it uses more than a
// quarter of a CPU.
//
// A resource: the destructor ends the thread. The rings are borrowed; only this class calls their fetch() and show().
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/source/linux/opening/kernel_ring.h"

namespace perfleet {

class RingReader : NonCopyable {
public:
    // `calls_at_once`: each wake-up by the kernel also wakes the thread that processes records.
    explicit RingReader(std::span<const std::unique_ptr<KernelRing>> rings, bool calls_at_once = false);
    ~RingReader();

    // Starts the thread. Errors: kFull and the like, if the system has no descriptors left.
    [[nodiscard]] Result<Done> start();
    // Ends the thread. From now on only show() empties the rings.
    void stop();

    // Readable (EPOLLIN) when waiting records should be processed soon.
    [[nodiscard]] int wake_fd() const { return wake_event_.fd(); }

    // Fetches and shows the rings' records, in order. For the thread that processes records.
    void show();

private:
    // A mutex with priority inheritance.
    class Mutex : NonCopyable {
    public:
        Mutex();
        ~Mutex();
        void lock();
        void unlock();

    private:
        pthread_mutex_t mutex_{};
    };

    void run();
    void fetch(std::size_t ring_index);
    void call();  // with the lock held

    std::span<const std::unique_ptr<KernelRing>> rings_;
    bool calls_at_once_;
    Mutex mutex_;
    bool has_called_ = false;  // since the last show()
    std::atomic<bool> is_stopping_{false};
    FileDescriptor epoll_fd_;
    WakeEvent stop_event_;
    WakeEvent wake_event_;
    std::thread thread_;
};

}  // namespace perfleet
