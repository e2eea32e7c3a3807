// Safely opens a file that a process has written for profilers.
//
// The path is relative to the process's root. The file is opened only if it is a regular file of the process's user or
// root, and was written after the process began: pids are reused, and files remain.
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

    // Empty: no such process.
    [[nodiscard]] const std::string& path() const { return path_; }

    // None: it doesn't exist, or fails these checks. `status` is that of the open file.
    [[nodiscard]] FileDescriptor open(struct stat& status) const;

private:
    std::string path_;
    std::uint32_t uid_ = 0;
    std::int64_t process_began_s_ = 0;  // UTC
};

}  // namespace perfleet
