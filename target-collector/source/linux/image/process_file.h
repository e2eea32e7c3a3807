// A file that a process has written for profilers, opened without harm.
//
// It is found by its path as the process sees it, within its root. Opened only where it is a regular file, the
// process's own user's or root's, and written since the process began: numbers of processes are used again, and files
// stay.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"

namespace perfleet {

class ProcessFile {
public:
    ProcessFile() = default;
    ProcessFile(std::uint32_t pid, std::string_view path);

    // Empty: there is no such process.
    [[nodiscard]] const std::string& path() const { return path_; }

    // None: it isn't there, or isn't such a file. `status` is that of the open file.
    [[nodiscard]] FileDescriptor open(struct stat& status) const;

private:
    std::string path_;
    std::uint32_t uid_ = 0;
    std::int64_t process_began_s_ = 0;  // UTC
};

}  // namespace perfleet
