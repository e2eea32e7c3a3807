#include "target-collector/wire/frame_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "schemas/host/file_io.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/message/little_endian.h"
#include "target-collector/wire/frame_file_layout.h"

namespace perfleet {

Result<std::unique_ptr<FrameFile>> FrameFile::open(const std::string& path) {
    FileDescriptor fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) {
        return error_from_errno(errno, path);
    }
    std::unique_ptr<FrameFile> file{new FrameFile{path, std::move(fd)}};
    std::array<std::byte, frame_file::kHeaderSizeBytes> header{};
    auto size = PERFLEET_TRY(file->read(header));
    if (size != header.size() ||
        std::memcmp(header.data(), frame_file::kMagic.data(), frame_file::kMagic.size()) != 0) {
        return Error{ErrorCode::kInvalid,
                     path + ": not a file of frames, as perfleet-collector --output or a target's file sink writes it"};
    }
    const auto version = load_little_endian<std::uint32_t>(header.data() + frame_file::kMagic.size());
    if (version != frame_file::kVersion) {
        return Error{ErrorCode::kUnsupported, path + ": version " + std::to_string(version) +
                                                  ", this build reads version " + std::to_string(frame_file::kVersion)};
    }
    return file;
}

Result<std::size_t> FrameFile::read(std::span<std::byte> into) {
    const std::size_t done = read_all(fd_.get(), into);
    if (done < into.size() && errno != 0) {
        return error_from_errno(errno, path_);
    }
    offset_bytes_ += done;
    return done;
}

Result<std::vector<std::byte>> FrameFile::next() {
    const std::uint64_t at = offset_bytes_;
    const auto truncated = [&] {
        return Error{ErrorCode::kTruncated, path_ + ": cut short in the frame at byte " + std::to_string(at)};
    };
    std::array<std::byte, frame_file::kFrameHeaderSizeBytes> header{};
    auto size = read(header);
    if (!size.ok()) {
        return std::move(size).error();
    }
    if (*size == 0) {
        return std::vector<std::byte>{};
    }
    if (*size < header.size()) {
        return truncated();
    }
    const auto frame_size = load_little_endian<std::uint32_t>(header.data());
    if (frame_size == 0 || frame_size > limits::kBatchSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, path_ + ": a frame of " + std::to_string(frame_size) + " bytes at byte " +
                                               std::to_string(at) + "; no message is so large or so small"};
    }
    std::vector<std::byte> frame(frame_size);
    size = read(frame);
    if (!size.ok()) {
        return std::move(size).error();
    }
    if (*size < frame.size()) {
        return truncated();
    }
    return frame;
}

}  // namespace perfleet
