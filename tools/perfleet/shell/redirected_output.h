// Redirects standard output during its lifetime, also for programs that are started meanwhile.
//
// One thread; nothing else may print meanwhile.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

class RedirectedOutput {
public:
    // Redirects to the file of descriptor `to`, which may be closed afterwards.
    explicit RedirectedOutput(int to) : kept_{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)} {
        (void)::dup2(to, STDOUT_FILENO);
    }
    RedirectedOutput(const RedirectedOutput&) = delete;
    RedirectedOutput& operator=(const RedirectedOutput&) = delete;
    ~RedirectedOutput() {
        if (kept_) {
            (void)::dup2(kept_.get(), STDOUT_FILENO);
        }
    }

private:
    FileDescriptor kept_;
};

}  // namespace perfleet
