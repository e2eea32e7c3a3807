// Reads a file of frames as file_driver.h writes it (the byte diagram stands there). The content is untrusted: frames
// are bounded, and what stands in them is for others to admit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class FrameFile {
public:
    // Errors as of open(2); kInvalid (not such a file), kUnsupported (a version that this build doesn't know). All name
    // the path.
    [[nodiscard]] static Result<std::unique_ptr<FrameFile>> open(const std::string& path);
    FrameFile(const FrameFile&) = delete;
    FrameFile& operator=(const FrameFile&) = delete;

    // The next frame; empty at the end. Errors: kTooLarge, kTruncated (the file was cut short: what came before is
    // whole), kIo.
    [[nodiscard]] Result<std::vector<std::byte>> next();

private:
    FrameFile(std::string path, FileDescriptor fd) : path_{std::move(path)}, fd_{std::move(fd)} {}
    // Bytes read: fewer than asked for only at the end.
    [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into);

    std::string path_;
    FileDescriptor fd_;
    std::uint64_t offset_bytes_ = 0;
};

}  // namespace perfleet
