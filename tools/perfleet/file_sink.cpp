#include "tools/perfleet/file_sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace perfleet {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr mode_t kNewFile = 0600;
constexpr unsigned kNamesTried = 100;
constexpr std::size_t kCopySizeBytes = std::size_t{64} << 10U;

bool is_file_with_content(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_size > 0; }

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// A file of the folder without a name; -1 where there is none to be had, or none that could be given a name.
int open_nameless(const std::string& folder) {
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 && ::access(path_of(descriptor).c_str(), F_OK) != 0) {
        ::close(descriptor);
        return -1;
    }
    return descriptor;
}

// Gives a nameless file this name. 0, or errno.
int link_nameless(int descriptor, const std::string& name) {
    return ::linkat(AT_FDCWD, path_of(descriptor).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

}  // namespace

Error FileSink::failure(int number) const { return error_from_errno(number, "-o " + named_); }

Error FileSink::refusal() const {
    return Error{ErrorCode::kUsage,
                 "-o " + named_ + ": the file exists; name another one, or add --force to replace it"};
}

Result<std::unique_ptr<FileSink>> FileSink::create(const std::string& path, ExistingFile existing) {
    std::unique_ptr<FileSink> sink{new FileSink{path, existing}};
    struct stat status {};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode)) {
        return Error{ErrorCode::kUsage, "-o " + path + ": is a folder; name a file"};
    }
    if (is_there && existing == ExistingFile::kRefuse && is_file_with_content(status)) {
        return sink->refusal();
    }
    Result<Done> opened = Done{};
    if (is_there && !S_ISREG(status.st_mode)) {
        opened = sink->open_through();
    } else {
        std::error_code error;
        const std::string place = is_there ? std::filesystem::canonical(path, error).string() : path;
        opened = error ? Result<Done>{sink->failure(error.value())}
                       : sink->open_beside(place, is_there && existing == ExistingFile::kReplace
                                                      ? status.st_mode & kPermissions
                                                      : kNewFile);
    }
    if (!opened.ok()) {
        return Error{opened.error()};
    }
    return sink;
}

Result<Done> FileSink::open_beside(const std::string& place, mode_t mode) {
    place_ = place;
    descriptor_ = open_nameless(std::filesystem::path{place}.parent_path().string());
    if (descriptor_ >= 0) {
        (void)::fchmod(descriptor_, mode);
        return Done{};
    }
    std::string unfinished = place + ".XXXXXX";
    descriptor_ = ::mkostemp(unfinished.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
        return failure(errno);
    }
    unfinished_path_ = std::move(unfinished);
    (void)::fchmod(descriptor_, mode);
    return Done{};
}

Result<Done> FileSink::open_through() {
    through_descriptor_ = ::open(named_.c_str(), O_WRONLY | O_CLOEXEC);
    if (through_descriptor_ < 0) {
        return failure(errno);
    }
    std::error_code error;
    std::string unfinished = (std::filesystem::temp_directory_path(error) / "perfleet.XXXXXX").string();
    descriptor_ = error ? -1 : ::mkostemp(unfinished.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
        return error_from_errno(error ? error.value() : errno, "-o " + named_ + ": a file to write first ($TMPDIR)");
    }
    ::unlink(unfinished.c_str());
    return Done{};
}

FileSink::~FileSink() {
    for (const int descriptor : {descriptor_, through_descriptor_}) {
        if (descriptor >= 0) {
            ::close(descriptor);
        }
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
            return failure(written < 0 ? errno : ENOSPC);
        }
        offset += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return Done{};
}

Result<Done> FileSink::write_through() {
    std::array<std::byte, kCopySizeBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (off_t offset = 0;;) {
        const ssize_t size = ::pread(descriptor_, buffer.data(), buffer.size(), offset);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return size == 0 ? Result<Done>{Done{}} : failure(errno);
        }
        for (ssize_t done = 0; done < size;) {
            const ssize_t written =
                ::write(through_descriptor_, buffer.data() + done, static_cast<std::size_t>(size - done));
            if (written < 0 && errno != EINTR) {
                return failure(errno);
            }
            done += written > 0 ? written : 0;
        }
        offset += size;
    }
}

Result<Done> FileSink::make_way() {
    struct stat status {};
    if (existing_ == ExistingFile::kReplace || ::stat(place_.c_str(), &status) != 0 || !is_file_with_content(status)) {
        return Done{};
    }
    if (existing_ == ExistingFile::kRefuse) {
        return refusal();
    }
    return std::rename(place_.c_str(), (place_ + ".old").c_str()) == 0 ? Result<Done>{Done{}} : failure(errno);
}

Result<Done> FileSink::put_in_place() {
    PERFLEET_TRY(make_way());
    if (unfinished_path_.empty()) {
        int error = link_nameless(descriptor_, place_);
        // A link replaces nothing: beside what is there it gets a name of this process, to be renamed.
        for (unsigned i = 0; error == EEXIST && i < kNamesTried; ++i) {
            std::string name = place_ + "." + std::to_string(::getpid()) + "." + std::to_string(i);
            error = link_nameless(descriptor_, name);
            if (error == 0) {
                unfinished_path_ = std::move(name);
            } else if (error != EEXIST) {
                break;
            }
        }
        if (error != 0) {
            return failure(error);
        }
    }
    if (::close(std::exchange(descriptor_, -1)) != 0) {
        return failure(errno);
    }
    if (!unfinished_path_.empty() && std::rename(unfinished_path_.c_str(), place_.c_str()) != 0) {
        return failure(errno);
    }
    unfinished_path_.clear();
    return Done{};
}

Result<Done> FileSink::commit(const std::optional<UtcNs>& modified) {
    if (through_descriptor_ >= 0) {
        auto written = write_through();
        if (::close(std::exchange(through_descriptor_, -1)) != 0 && written.ok()) {
            return failure(errno);
        }
        return written;
    }
    if (modified && modified->value >= 0) {
        timespec time{};
        time.tv_sec = modified->value / kNsPerSecond;
        time.tv_nsec = modified->value % kNsPerSecond;
        const std::array times{time, time};
        (void)::futimens(descriptor_, times.data());
    }
    return put_in_place();
}

Result<Done> write_file(const std::string& path, std::string_view bytes, ExistingFile existing) {
    const auto file = PERFLEET_TRY(FileSink::create(path, existing));
    PERFLEET_TRY(file->write_at(0, std::as_bytes(std::span{bytes})));
    return file->commit(std::nullopt);
}

}  // namespace perfleet
