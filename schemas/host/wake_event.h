// An event that a thread or signal handler sets, and another thread waits for with poll() or epoll. Hosts only.
#pragma once

#include <sys/eventfd.h>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

class WakeEvent {
public:
    WakeEvent() : fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

    // False: the constructor could not get a descriptor; errno says why until it is overwritten.
    explicit operator bool() const { return static_cast<bool>(fd_); }
    // Readable (POLLIN) from signal() until clear().
    [[nodiscard]] int fd() const { return fd_.get(); }
    void signal() const { (void)::eventfd_write(fd_.get(), 1); }
    void clear() const {
        eventfd_t count = 0;
        (void)::eventfd_read(fd_.get(), &count);
    }

private:
    FileDescriptor fd_;
};

}  // namespace perfleet
