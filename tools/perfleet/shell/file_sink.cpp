#include "tools/perfleet/shell/file_sink.h"

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

#include "schemas/host/file_io.h"

namespace perfleet {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr mode_t kNewFile = 0600;
constexpr unsigned kNamesTried = 100;
constexpr std::size_t kCopySizeBytes = std::size_t{64} << 10U;

bool is_file_with_content(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_size > 0; }

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// Opens a nameless file in the folder; none if the system can't, or couldn't name it later.
FileDescriptor open_nameless(const std::string& folder) {
    FileDescriptor descriptor{::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (descriptor && ::access(path_of(descriptor.get()).c_str(), F_OK) != 0) {
        descriptor.reset();
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
        const Result<std::string> place = is_there ? follow_own_links(path) : path;
        const bool keeps_mode = is_there && existing == ExistingFile::kReplace && status.st_uid == ::geteuid();
        opened = place.ok() ? sink->open_beside(*place, keeps_mode ? status.st_mode & kPermissions : kNewFile)
                            : Result<Done>{Error{place.error().code, "-o " + place.error().message}};
    }
    if (!opened.ok()) {
        return Error{opened.error()};
    }
    return sink;
}

Result<Done> FileSink::open_beside(const std::string& place, mode_t mode) {
    place_ = place;
    descriptor_ = open_nameless(std::filesystem::path{place}.parent_path().string());
    if (!descriptor_) {
        std::string unfinished = place + ".XXXXXX";
        descriptor_.reset(::mkostemp(unfinished.data(), O_CLOEXEC));
        if (!descriptor_) {
            return failure(errno);
        }
        unfinished_path_ = std::move(unfinished);
    }
    (void)::fchmod(descriptor_.get(), mode);
    return Done{};
}

Result<Done> FileSink::open_through() {
    through_descriptor_.reset(::open(named_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!through_descriptor_) {
        return failure(errno);
    }
    std::error_code error;
    std::string unfinished = (std::filesystem::temp_directory_path(error) / "perfleet.XXXXXX").string();
    descriptor_.reset(error ? -1 : ::mkostemp(unfinished.data(), O_CLOEXEC));
    if (!descriptor_) {
        return error_from_errno(error ? error.value() : errno, "-o " + named_ + ": a file to write first ($TMPDIR)");
    }
    ::unlink(unfinished.c_str());
    return Done{};
}

FileSink::~FileSink() {
    if (!unfinished_path_.empty()) {
        ::unlink(unfinished_path_.c_str());
    }
}

Result<Done> FileSink::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    return write_all_at(descriptor_.get(), offset, bytes) ? Result<Done>{Done{}} : failure(errno);
}

Result<Done> FileSink::write_through() {
    std::array<std::byte, kCopySizeBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (std::uint64_t offset = 0;; offset += buffer.size()) {
        const std::size_t size = read_all_at(descriptor_.get(), offset, buffer);
        const bool is_end = size < buffer.size();
        if ((is_end && errno != 0) || !write_all(through_descriptor_.get(), std::span{buffer}.first(size))) {
            return failure(errno);
        }
        if (is_end) {
            return Done{};
        }
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
        int error = link_nameless(descriptor_.get(), place_);
        // A link can't replace a file: if there is one, the link gets a name of this process, and is renamed later.
        for (unsigned i = 0; error == EEXIST && i < kNamesTried; ++i) {
            std::string name = place_ + "." + std::to_string(::getpid()) + "." + std::to_string(i);
            error = link_nameless(descriptor_.get(), name);
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
    if (::close(descriptor_.release()) != 0) {
        return failure(errno);
    }
    if (!unfinished_path_.empty() && std::rename(unfinished_path_.c_str(), place_.c_str()) != 0) {
        return failure(errno);
    }
    unfinished_path_.clear();
    return Done{};
}

Result<Done> FileSink::commit(const std::optional<UtcNs>& modified) {
    if (through_descriptor_) {
        auto written = write_through();
        if (::close(through_descriptor_.release()) != 0 && written.ok()) {
            return failure(errno);
        }
        return written;
    }
    if (modified && modified->value >= 0) {
        timespec time{};
        time.tv_sec = modified->value / kNsPerSecond;
        time.tv_nsec = modified->value % kNsPerSecond;
        const std::array times{time, time};
        (void)::futimens(descriptor_.get(), times.data());
    }
    return put_in_place();
}

Result<Done> write_file(const std::string& path, std::string_view bytes, ExistingFile existing) {
    const auto file = PERFLEET_TRY(FileSink::create(path, existing));
    PERFLEET_TRY(file->write_at(0, std::as_bytes(std::span{bytes})));
    return file->commit(std::nullopt);
}

}  // namespace perfleet
