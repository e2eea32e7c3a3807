// Reads a file of frames (byte diagram in file_driver.h). The content is untrusted: frame sizes are limited here, and
// callers check the frames' content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class FrameFile : NonCopyable {
public:
    // Errors as of open(2); kInvalid (not such a file), kUnsupported (an unknown version). All name the path.
    [[nodiscard]] static Result<std::unique_ptr<FrameFile>> open(const std::string& path);

    // The next frame; empty at the end. Errors: kTooLarge, kTruncated (the file was cut short; earlier frames are
    // whole), kIo.
    [[nodiscard]] Result<std::vector<std::byte>> next();

private:
    FrameFile(std::string path, FileDescriptor fd) : path_{std::move(path)}, fd_{std::move(fd)} {}
    // Number of bytes read; fewer than requested only at the end.
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into);

    std::string path_;
    FileDescriptor fd_;
    std::uint64_t offset_bytes_ = 0;
};

}  // namespace perfleet
