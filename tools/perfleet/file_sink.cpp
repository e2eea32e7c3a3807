#include "tools/perfleet/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace perfleet {

Result<std::unique_ptr<FileSink>> FileSink::create(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::kUsage, "-o " + path + ": is a folder; name a file"};
    }
    std::string unfinished_path = path + ".XXXXXX";
    const int descriptor = ::mkostemp(unfinished_path.data(), O_CLOEXEC);
    if (descriptor < 0) {
        return error_from_errno(errno, "-o " + path);
    }
    // As an ordinary new file: what the user's mask leaves of rw-rw-rw-.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    (void)::fchmod(descriptor, 0666 & ~mask);
    return std::unique_ptr<FileSink>{new FileSink{descriptor, path, std::move(unfinished_path)}};
}

FileSink::~FileSink() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
    if (!unfinished_path_.empty()) {
        ::unlink(unfinished_path_.c_str());
    }
}

Result<Done> FileSink::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return error_from_errno(written < 0 ? errno : ENOSPC, "-o " + path_);
        }
        offset += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return Done{};
}

Result<Done> FileSink::commit(const std::optional<UtcNs>& modified) {
    if (modified && modified->value >= 0) {
        timespec time{};
        time.tv_sec = modified->value / kNsPerSecond;
        time.tv_nsec = modified->value % kNsPerSecond;
        const std::array times{time, time};
        (void)::futimens(descriptor_, times.data());
    }
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0 || std::rename(unfinished_path_.c_str(), path_.c_str()) != 0) {
        return error_from_errno(errno, "-o " + path_);
    }
    unfinished_path_.clear();
    return Done{};
}

}  // namespace perfleet
