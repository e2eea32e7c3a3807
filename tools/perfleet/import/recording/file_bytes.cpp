#include "tools/perfleet/import/recording/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace perfleet {
namespace {

Result<FileDescriptor> copy_to_temporary(const FileDescriptor& from, const std::string& path) {
    const char* const named = std::getenv("TMPDIR");
    std::string name = std::string{named != nullptr && *named != '\0' ? named : "/tmp"} + "/perfleet-import-XXXXXX";
    FileDescriptor to{::mkostemp(name.data(), O_CLOEXEC)};
    if (!to) {
        return error_from_errno(errno, name);
    }
    ::unlink(name.c_str());
    std::vector<char> buffer(FileBytes::kBufferSizeBytes);
    for (;;) {
        const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_from_errno(errno, path);
        }
        if (got == 0) {
            return to;
        }
        for (ssize_t written = 0; written < got;) {
            const ssize_t put = ::write(to.get(), buffer.data() + written, static_cast<std::size_t>(got - written));
            if (put < 0 && errno != EINTR) {
                return error_from_errno(errno,
                                        name + ": a temporary copy of " + path + " (TMPDIR names another folder)");
            }
            written += std::max<ssize_t>(put, 0);
        }
    }
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path) {
    const bool is_input = path == "-";
    FileDescriptor fd{is_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                               : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) {
        return error_from_errno(errno, path);
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
        return error_from_errno(errno, path);
    }
    if (S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::kUnsupported, path +
                                                  ": a folder; perf.data files of `perf record --threads` can't be "
                                                  "imported (record without it)"};
    }
    UtcNs modified{(status.st_mtim.tv_sec * kNsPerSecond) + status.st_mtim.tv_nsec};
    if (!S_ISREG(status.st_mode)) {
        fd = PERFLEET_TRY(copy_to_temporary(fd, path));
        if (::fstat(fd.get(), &status) != 0) {
            return error_from_errno(errno, path);
        }
        modified = UtcNs{(status.st_mtim.tv_sec * kNsPerSecond) + status.st_mtim.tv_nsec};
    }
    return FileBytes{path, std::move(fd), static_cast<std::uint64_t>(status.st_size), modified};
}

FileBytes::FileBytes(std::string path, FileDescriptor fd, std::uint64_t size_bytes, UtcNs modified)
    : path_{std::move(path)},
      fd_{std::move(fd)},
      size_bytes_{size_bytes},
      modified_{modified},
      buffer_(kBufferSizeBytes) {}

std::size_t FileBytes::read_at(std::uint64_t offset, std::span<std::byte> into) const {
    std::size_t have = 0;
    while (have < into.size()) {
        const ssize_t got =
            ::pread(fd_.get(), into.data() + have, into.size() - have, static_cast<off_t>(offset + have));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        have += static_cast<std::size_t>(got);
    }
    return have;
}

std::span<const std::byte> FileBytes::peek(std::size_t size_bytes) {
    if (offset_ < buffer_at_ || offset_ + size_bytes > buffer_at_ + buffered_) {
        buffer_at_ = offset_;
        buffered_ = offset_ < size_bytes_ ? read_at(offset_, buffer_) : 0;
    }
    return std::span<const std::byte>{buffer_}.first(buffered_).subspan(static_cast<std::size_t>(offset_ - buffer_at_));
}

std::vector<std::byte> FileBytes::piece(std::uint64_t offset, std::uint64_t size_bytes) const {
    if (offset >= size_bytes_) {
        return {};
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size_bytes, size_bytes_ - offset)));
    bytes.resize(read_at(offset, bytes));
    return bytes;
}

}  // namespace perfleet
