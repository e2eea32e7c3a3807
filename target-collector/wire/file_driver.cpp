#include "target-collector/wire/file_driver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "schemas/host/file_io.h"
#include "target-collector/wire/frame_file_layout.h"

namespace perfleet {
namespace {

// A collector that ended before it recorded leaves a file with only a header.
bool is_file_with_content(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
        return false;
    }
    const auto header = frame_file::header();
    std::vector<char> content(header.size() + 1);
    std::ifstream{path, std::ios::binary}.read(content.data(), static_cast<std::streamsize>(content.size()));
    return static_cast<std::size_t>(status.st_size) != header.size() ||
           std::memcmp(content.data(), header.data(), header.size()) != 0;
}

// Replaces an existing file by a new one, so that its other links and its owner have no effect.
Result<FileDescriptor> open_output(const std::string& path) {
    struct stat status {};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    FileDescriptor fd;
    if (is_there && !S_ISREG(status.st_mode)) {
        fd.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    } else if (!is_there) {
        fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    } else {
        const std::string place = PERFLEET_TRY(follow_own_links(path));
        std::string made = place + ".XXXXXX";
        fd.reset(::mkostemp(made.data(), O_CLOEXEC));
        if (fd && std::rename(made.c_str(), place.c_str()) != 0) {
            const int error = errno;
            ::unlink(made.c_str());
            return error_from_errno(error, path);
        }
    }
    return fd ? Result<FileDescriptor>{std::move(fd)} : error_from_errno(errno, path);
}

}  // namespace

Result<std::unique_ptr<FileDriver>> FileDriver::create(const std::string& path, bool is_forced) {
    if (!is_forced && is_file_with_content(path)) {
        return Error{ErrorCode::kUsage, path + ": the file exists; name another one, or add --force to replace it"};
    }
    FileDescriptor fd = PERFLEET_TRY(open_output(path));
    std::unique_ptr<FileDriver> driver{new FileDriver{path, std::move(fd)}};
    const auto header = frame_file::header();
    if (!driver->append(header)) {
        return *driver->error();
    }
    driver->size_bytes_ = header.size();
    return driver;
}

bool FileDriver::append(std::span<const std::byte> bytes) {
    const bool is_written = write_all(fd_.get(), bytes);
    if (!is_written) {
        fail(error_from_errno(errno, path_));
    }
    return is_written;
}

bool FileDriver::keep(std::span<const std::byte> frame) {
    std::array<std::byte, frame_file::kFrameHeaderSizeBytes> header{};
    store_little_endian(header.data(), static_cast<std::uint32_t>(frame.size()));
    if (append(header) && append(frame)) {
        size_bytes_ += header.size() + frame.size();
        return true;
    }
    // Removes the partial frame, since it is sent again. If this fails, too, the file ends with a truncated frame.
    if (::ftruncate(fd_.get(), static_cast<off_t>(size_bytes_)) == 0) {
        ::lseek(fd_.get(), static_cast<off_t>(size_bytes_), SEEK_SET);
    }
    return false;
}

bool FileDriver::sync() {
    if (::fsync(fd_.get()) == 0 || errno == EINVAL || errno == EROFS) {  // pipes and devices can't be synced
        return true;
    }
    fail(error_from_errno(errno, path_));
    return false;
}

}  // namespace perfleet
