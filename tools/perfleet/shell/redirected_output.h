// Standard output leads elsewhere as long as this is there: programs that are started meanwhile print there.
//
// One thread; nothing else may print meanwhile.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

class RedirectedOutput {
public:
    // To where `to` leads; it isn't needed afterwards.
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
