// Redirects standard output, or another standard descriptor, during its lifetime, also for programs that are started
// meanwhile.
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
    explicit RedirectedOutput(int to, int descriptor = STDOUT_FILENO)
        : descriptor_{descriptor}, kept_{::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)} {
        (void)::dup2(to, descriptor_);
    }
    RedirectedOutput(const RedirectedOutput&) = delete;
    RedirectedOutput& operator=(const RedirectedOutput&) = delete;
    ~RedirectedOutput() {
        if (kept_) {
            (void)::dup2(kept_.get(), descriptor_);
        }
    }

private:
    int descriptor_;
    FileDescriptor kept_;
};

}  // namespace perfleet
