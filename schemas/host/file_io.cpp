#include "schemas/host/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "schemas/host/file_descriptor.h"

namespace perfleet {
namespace {

// Repeats `step(done)` until all bytes are done; sets errno to `nothing_done_errno` if a step does nothing.
template <class Step>
std::size_t in_steps(std::size_t size_bytes, int nothing_done_errno, Step step) {
    std::size_t done = 0;
    while (done < size_bytes) {
        const ssize_t size = step(done);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            errno = size == 0 ? nothing_done_errno : errno;
            break;
        }
        done += static_cast<std::size_t>(size);
    }
    return done;
}

}  // namespace

std::size_t read_all(int fd, std::span<std::byte> into) {
    return in_steps(into.size(), 0,
                    [&](std::size_t done) { return ::read(fd, into.data() + done, into.size() - done); });
}

std::size_t read_all_at(int fd, std::uint64_t offset, std::span<std::byte> into) {
    return in_steps(into.size(), 0, [&](std::size_t done) {
        return ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    });
}

bool write_all(int fd, std::span<const std::byte> bytes) {
    return in_steps(bytes.size(), ENOSPC, [&](std::size_t done) {
               return ::write(fd, bytes.data() + done, bytes.size() - done);
           }) == bytes.size();
}

bool write_all_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
    return in_steps(bytes.size(), ENOSPC, [&](std::size_t done) {
               return ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
           }) == bytes.size();
}

std::optional<std::string> read_rest(int fd, std::size_t size_bytes_max) {
    constexpr std::size_t kFirstSizeBytes = 16U << 10U;
    std::string text;
    for (std::size_t size_bytes = 0;;) {
        text.resize(std::min(std::max(size_bytes * 2, kFirstSizeBytes), size_bytes_max + 1));
        const auto room = std::as_writable_bytes(std::span{text}).subspan(size_bytes);
        const std::size_t got = read_all(fd, room);
        size_bytes += got;
        if (got == room.size() && size_bytes <= size_bytes_max) {
            continue;
        }
        text.resize(size_bytes);
        return got == room.size() || errno == 0 ? std::optional{std::move(text)} : std::nullopt;
    }
}

Result<std::string> follow_own_links(const std::string& path) {
    constexpr int kLinksMax = 40;  // the kernel's limit
    std::string place = path;
    for (int i = 0; i < kLinksMax; ++i) {
        struct stat status {};
        if (::lstat(place.c_str(), &status) != 0) {
            return errno == ENOENT ? Result<std::string>{std::move(place)} : error_from_errno(errno, place);
        }
        if (!S_ISLNK(status.st_mode)) {
            return place;
        }
        if (status.st_uid != ::geteuid() && status.st_uid != 0) {
            return Error{ErrorCode::kPermission, place + ": is a symbolic link of another user (" +
                                                     std::to_string(status.st_uid) +
                                                     "), which isn't followed; remove it, or name another file"};
        }
        std::array<char, PATH_MAX> target{};
        const ssize_t size = ::readlink(place.c_str(), target.data(), target.size());
        if (size < 0) {
            return error_from_errno(errno, place);
        }
        const std::string_view to{target.data(), static_cast<std::size_t>(size)};
        place = to.starts_with('/') ? std::string{to} : place.substr(0, place.rfind('/') + 1) + std::string{to};
    }
    return error_from_errno(ELOOP, path);
}

Result<Done> sync_folder(const std::string& path) {
    const FileDescriptor folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder || ::fsync(folder.get()) != 0) {
        return error_from_errno(errno, path);
    }
    return Done{};
}

}  // namespace perfleet
