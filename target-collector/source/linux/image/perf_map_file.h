// The file in which a process tells what code it makes at run time: found, and read as it grows.
//
// It is `/tmp/perf-PID.map` as the process sees it, by its number in its own pid namespace. Once open it is read to its
// end, also when the process has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "target-collector/source/linux/image/process_file.h"

namespace perfleet {

class PerfMapFile {
public:
    static constexpr std::size_t kReadSizeBytesMax = 1U << 20U;  // at a time: the caller has samples to take

    explicit PerfMapFile(std::uint32_t pid);

    struct News {
        bool is_anew = false;   // another file, or written anew: what was read before no longer holds
        std::string_view text;  // whole lines; valid until the next call
    };
    // What was written since the last call; empty when nothing was, or there is no such file.
    [[nodiscard]] std::optional<News> read();

private:
    [[nodiscard]] bool open_what_is_there();  // true when it is another file than before, or was written anew

    ProcessFile file_;
    FileDescriptor open_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    std::uint64_t offset_ = 0;  // of what wasn't read yet
    std::string buffer_;
    std::size_t given_size_bytes_ = 0;  // at the buffer's front, given to the caller
};

// The number of a process in the innermost of its pid namespaces, from the text of /proc/PID/status.
[[nodiscard]] std::optional<std::uint32_t> innermost_pid_in_status(std::string_view text);

}  // namespace perfleet
