// Finds the file in which a process describes its JIT code, and reads it as it grows.
//
// The path is `/tmp/perf-PID.map` in the process's root, with its pid in its own namespace. Once open, the file is read
// to its end, even after the process has ended.
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
    static constexpr std::size_t kReadSizeBytesMax = 1U << 20U;  // at a time, because samples are waiting

    explicit PerfMapFile(std::uint32_t pid);

    struct News {
        bool is_anew = false;   // another file, or rewritten: drop earlier content
        std::string_view text;  // whole lines; valid until the next call
    };
    // The text written since the last call; empty if there is none, or no such file.
    [[nodiscard]] std::optional<News> read();

private:
    [[nodiscard]] bool open_what_is_there();  // true if it is another file, or was rewritten

    ProcessFile file_;
    FileDescriptor open_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    std::uint64_t offset_ = 0;  // of unread data
    std::string buffer_;
    std::size_t given_size_bytes_ = 0;  // at the buffer's front, passed to the caller
};

}  // namespace perfleet
