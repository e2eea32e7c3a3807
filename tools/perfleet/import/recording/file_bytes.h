// The bytes of a file, from front to back through one buffer, and pieces of it from anywhere.
//
// What can't be read twice (a pipe) is copied to a temporary file first, which has no name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// Whether first bytes are of a file that is wanted: an error where not.
using HeadCheck = std::function<Result<Done>(std::span<const std::byte> head_untrusted)>;

class FileBytes {
public:
    static constexpr std::size_t kBufferSizeBytes = 1U << 20;

    // "-": standard input. The buffer must hold what is peeked at. What is to be copied is checked first. Errors: those
    // of open(2) and read(2), naming the path; those of the check.
    [[nodiscard]] static Result<FileBytes> open(const std::string& path,
                                                std::size_t buffer_size_bytes = kBufferSizeBytes,
                                                const HeadCheck& check = {});

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] UtcNs modified() const { return modified_; }

    // Bytes from here on, at least `size_bytes` of them unless the file ends before. Valid until the next call.
    [[nodiscard]] std::span<const std::byte> peek(std::size_t size_bytes);
    void skip(std::uint64_t size_bytes) { offset_ += size_bytes; }
    void seek(std::uint64_t offset) { offset_ = offset; }
    [[nodiscard]] std::uint64_t offset() const { return offset_; }

    // What lies there; shorter where the file ends before.
    [[nodiscard]] std::vector<std::byte> piece(std::uint64_t offset, std::uint64_t size_bytes) const;

private:
    FileBytes(std::string path, FileDescriptor fd, std::uint64_t size_bytes, UtcNs modified,
              std::size_t buffer_size_bytes);
    [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) const;

    std::string path_;
    FileDescriptor fd_;
    std::uint64_t size_bytes_;
    UtcNs modified_;
    std::vector<std::byte> buffer_;
    std::uint64_t buffer_at_ = 0;
    std::size_t buffered_ = 0;
    std::uint64_t offset_ = 0;
};

// What `perf record` wrote: a file, or with --threads a folder of one with all that describes the recording (`data`),
// and one of records alone for each of its threads (`data.0`, `data.1` …).
struct RecordingFiles {
    static constexpr std::size_t kPartsMax = 512;
    static constexpr std::size_t kPartBufferSizeBytes = 128U << 10;  // records have 16 bits of size

    FileBytes file;
    std::vector<FileBytes> parts;
};

// Errors: as FileBytes::open(); kInvalid (a folder without `data`), kTooLarge (more than kPartsMax parts).
[[nodiscard]] Result<RecordingFiles> open_recording(const std::string& path, const HeadCheck& check = {});

}  // namespace perfleet
