// A network driver that writes frames to a file instead of a gateway, for `--output FILE`; frame_file.h reads it.
//
//   byte 0    "PERFLEET"  magic
//   byte 8    u32 1       version of this format
//   byte 12   u32 0       reserved
//   byte 16   frames to the file's end, each: u32 size_bytes | size_bytes bytes: an Envelope as it would be sent
//             (the Hello first, batches in the order of seq, Image chunks in between, the Bye last)
//
// All integers little-endian. A file that ends within a frame was cut short. Offsets of magic and version must never
// change.
//
// One thread. A failed write leaves the file as it was before that frame; the frame isn't taken and can be sent again,
// and error() gives the reason. Frames are written without sync; the Bye syncs the file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/wire/sink_driver.h"

namespace perfleet {

class FileDriver final : public SinkDriver {
public:
    // Creates `path` with access for its owner only. A file with content is replaced only if `is_forced`; otherwise
    // kUsage. Another user's link isn't followed: kPermission. Errors as of open(2), naming the path.
    [[nodiscard]] static Result<std::unique_ptr<FileDriver>> create(const std::string& path, bool is_forced);

private:
    FileDriver(const std::string& path, FileDescriptor fd) : SinkDriver{path}, path_{path}, fd_{std::move(fd)} {}

    [[nodiscard]] bool keep(std::span<const std::byte> frame) override;
    [[nodiscard]] bool sync() override;
    [[nodiscard]] bool append(std::span<const std::byte> bytes);

    std::string path_;
    FileDescriptor fd_;
    std::uint64_t size_bytes_ = 0;  // of whole frames
};

}  // namespace perfleet
