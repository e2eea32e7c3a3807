// Empties the kernel's rings on a thread of its own, as often as they call: a small ring is full in a fraction of the
// time that a batch takes to be sealed.
//
// The thread only copies. Where the system allows it, it runs before all ordinary threads (SCHED_FIFO): who waits for
// the end of another thread's time slice, some milliseconds, finds a small ring full. It goes back to ordinary
// scheduling when it needs more than a quarter of a processor.
//
// A resource: its thread ends with it. The rings are borrowed; nobody else fetches from them or shows what was fetched.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/opening/kernel_ring.h"

namespace perfleet {

class RingReader {
public:
    // With `calls_at_once` each wake-up by the kernel goes on to who takes the records.
    explicit RingReader(std::span<const std::unique_ptr<KernelRing>> rings, bool calls_at_once = false);
    ~RingReader();
    RingReader(const RingReader&) = delete;
    RingReader& operator=(const RingReader&) = delete;

    // Starts the thread. Errors: kFull and the like, when the system has no descriptors left.
    [[nodiscard]] Result<Done> start();
    // Ends it. Rings are emptied by show() alone from now on.
    void stop();

    // Readable (EPOLLIN) when the records that wait should be taken soon.
    [[nodiscard]] int wake_fd() const { return wake_event_.fd(); }

    // Fetches and shows what is in the rings, in their order. The thread that takes the records.
    void show();

private:
    // Whoever holds it runs with the priority of the one that waits for it.
    class Mutex {
    public:
        Mutex();
        ~Mutex();
        Mutex(const Mutex&) = delete;
        Mutex& operator=(const Mutex&) = delete;
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
