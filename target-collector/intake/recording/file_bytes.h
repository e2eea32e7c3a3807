// The bytes of a file, read front to back through one buffer, and pieces of it at any offset.
//
// Input that can't be read twice (a pipe), or that gzip has compressed (in one part or several), is first copied to a
// nameless temporary file, unpacked.
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

// Checks a file's first bytes: an error if its format isn't wanted.
using HeadCheck = std::function<Result<Done>(std::span<const std::byte> head_untrusted)>;

class FileBytes {
public:
    static constexpr std::size_t kBufferSizeBytes = 1U << 20;

    // "-": standard input. The buffer must hold whatever is peeked at. Input that must be copied is checked first.
    // Errors: those of open(2) and read(2), naming the path; kCorrupt (damaged gzip data); those of the check.
    [[nodiscard]] static Result<FileBytes> open(const std::string& path,
                                                std::size_t buffer_size_bytes = kBufferSizeBytes,
                                                const HeadCheck& check = {});

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] UtcNs modified() const { return modified_; }

    // The bytes from here on, at least `size_bytes` of them unless the file ends earlier. Valid until the next call.
    [[nodiscard]] std::span<const std::byte> peek(std::size_t size_bytes);
    void skip(std::uint64_t size_bytes) { offset_ += size_bytes; }
    void seek(std::uint64_t offset) { offset_ = offset; }
    [[nodiscard]] std::uint64_t offset() const { return offset_; }

    // The bytes at `offset`; fewer if the file ends earlier.
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

// The output of `perf record`: a file; or with --threads a folder with one file that describes the recording (`data`),
// and one of records only for each of its threads (`data.0`, `data.1` …).
struct RecordingFiles {
    static constexpr std::size_t kPartsMax = 512;
    static constexpr std::size_t kPartBufferSizeBytes = 128U << 10;  // records have 16 bits of size

    FileBytes file;
    std::vector<FileBytes> parts;
};

// Errors: those of FileBytes::open(); kInvalid (a folder without `data`), kTooLarge (more than kPartsMax parts).
[[nodiscard]] Result<RecordingFiles> open_recording(const std::string& path, const HeadCheck& check = {});

}  // namespace perfleet
