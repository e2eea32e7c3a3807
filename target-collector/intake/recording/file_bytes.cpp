#include "target-collector/intake/recording/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "schemas/host/file_io.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {
namespace {

constexpr unsigned kDiskPartLeft = 20;  // the divisor: a twentieth of a disk stays free

// Ctrl-C is for the program that writes into the pipe: it prints what it has left, and ends.
class IgnoredInterrupt : NonCopyable {
public:
    explicit IgnoredInterrupt(bool is_ignored) : is_ignored_{is_ignored} {
        if (is_ignored_) {
            before_ = ::signal(SIGINT, SIG_IGN);
        }
    }
    ~IgnoredInterrupt() {
        if (is_ignored_) {
            ::signal(SIGINT, before_);
        }
    }

private:
    bool is_ignored_;
    sighandler_t before_ = SIG_DFL;
};

bool is_gzip(std::span<const std::byte> head) {
    return head.size() >= 2 && head[0] == std::byte{0x1f} && head[1] == std::byte{0x8b};
}

// Reads from the descriptor's place on; gzip data are unpacked.
class Unpacked {
public:
    Unpacked(const FileDescriptor& from, std::string path)
        : path_{std::move(path)}, file_{::gzdopen(::fcntl(from.get(), F_DUPFD_CLOEXEC, 3), "rb"), &::gzclose_r} {}

    // More than any honest file, which would fill the disk.
    [[nodiscard]] bool is_bomb(std::uint64_t size_bytes) const {
        constexpr std::uint64_t kUnpackedBytesMin = 1ULL << 30U;
        constexpr std::uint64_t kRatioMax = 200;
        const auto packed = static_cast<std::uint64_t>(std::max<z_off_t>(::gzoffset(file_.get()), 1));
        return ::gzdirect(file_.get()) == 0 && size_bytes > kUnpackedBytesMin && size_bytes / kRatioMax > packed;
    }

    // Fewer bytes than fit: the end.
    Result<std::size_t> read(std::span<std::byte> into) {
        if (file_ == nullptr) {
            return error_from_errno(errno, path_);
        }
        std::size_t used = 0;
        while (used < into.size()) {
            const int got = ::gzread(file_.get(), into.data() + used, static_cast<unsigned>(into.size() - used));
            int outcome = Z_OK;
            const std::string text = ::gzerror(file_.get(), &outcome);
            if (outcome == Z_ERRNO) {
                return error_from_errno(errno, path_);
            }
            if (got < 0 || outcome < 0) {
                return Error{ErrorCode::kCorrupt, path_ + ": its gzip data is damaged or ends too early"};
            }
            if (got == 0) {
                break;
            }
            used += static_cast<std::size_t>(got);
        }
        return used;
    }

private:
    std::string path_;
    std::unique_ptr<gzFile_s, decltype(&::gzclose_r)> file_;
};

Result<FileDescriptor> copy_to_temporary(const FileDescriptor& from, const std::string& path, const HeadCheck& check) {
    const char* const named = std::getenv("TMPDIR");
    std::string name = std::string{named != nullptr && *named != '\0' ? named : "/tmp"} + "/perfleet-import-XXXXXX";
    FileDescriptor to{::mkostemp(name.data(), O_CLOEXEC)};
    if (!to) {
        return error_from_errno(errno, name);
    }
    ::unlink(name.c_str());
    Unpacked unpacked{from, path};
    std::vector<std::byte> buffer(FileBytes::kBufferSizeBytes);
    std::uint64_t size_bytes = 0;
    for (bool is_first = true;; is_first = false) {
        const std::size_t got = PERFLEET_TRY(unpacked.read(buffer));
        size_bytes += got;
        if (unpacked.is_bomb(size_bytes)) {
            return Error{ErrorCode::kTooLarge, path + ": more than 200 times its size when gzip unpacks it"};
        }
        if (is_first && check) {
            PERFLEET_TRY(check(std::span{buffer}.first(got)));
        }
        if (!write_all(to.get(), std::span{buffer}.first(got))) {
            return error_from_errno(errno, name + ": a temporary copy of " + path + " (TMPDIR names another folder)");
        }
        if (got < buffer.size()) {
            return to;
        }
        struct statvfs disk {};
        if (::fstatvfs(to.get(), &disk) == 0 && disk.f_bavail < disk.f_blocks / kDiskPartLeft) {
            return Error{ErrorCode::kFull,
                         name + ": a temporary copy of " + path + " would fill the disk (TMPDIR names another folder)"};
        }
    }
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path, std::size_t buffer_size_bytes, const HeadCheck& check) {
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
        return Error{ErrorCode::kUnsupported, path + ": a folder, where a file is expected"};
    }
    UtcNs modified{(status.st_mtim.tv_sec * kNsPerSecond) + status.st_mtim.tv_nsec};
    const bool is_file = S_ISREG(status.st_mode);
    std::array<std::byte, 2> head{};
    if (!is_file || is_gzip(std::span{head}.first(read_all_at(fd.get(), 0, head)))) {
        const IgnoredInterrupt interrupt{is_input && S_ISFIFO(status.st_mode)};
        fd = PERFLEET_TRY(copy_to_temporary(fd, path, check));
        if (is_input) {
            (void)::dup2(fd.get(), STDIN_FILENO);  // a later open of "-" reads the copy
        }
        if (::fstat(fd.get(), &status) != 0) {
            return error_from_errno(errno, path);
        }
        modified = is_file ? modified : UtcNs{(status.st_mtim.tv_sec * kNsPerSecond) + status.st_mtim.tv_nsec};
    }
    return FileBytes{path, std::move(fd), static_cast<std::uint64_t>(status.st_size), modified, buffer_size_bytes};
}

FileBytes::FileBytes(std::string path, FileDescriptor fd, std::uint64_t size_bytes, UtcNs modified,
                     std::size_t buffer_size_bytes)
    : path_{std::move(path)},
      fd_{std::move(fd)},
      size_bytes_{size_bytes},
      modified_{modified},
      buffer_(buffer_size_bytes) {}

std::size_t FileBytes::read_at(std::uint64_t offset, std::span<std::byte> into) const {
    return read_all_at(fd_.get(), offset, into);
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

Result<RecordingFiles> open_recording(const std::string& path, const HeadCheck& check) {
    std::error_code ignored;
    if (path == "-" || !std::filesystem::is_directory(path, ignored)) {
        return RecordingFiles{PERFLEET_TRY(FileBytes::open(path, FileBytes::kBufferSizeBytes, check)), {}};
    }
    const std::string main = path + "/data";
    if (!std::filesystem::exists(main, ignored)) {
        return Error{ErrorCode::kInvalid,
                     path + ": a folder without the file `data`, which one of `perf record --threads` has"};
    }
    RecordingFiles files{PERFLEET_TRY(FileBytes::open(main)), {}};
    for (std::size_t number = 0;; ++number) {
        const std::string part = main + "." + std::to_string(number);
        if (!std::filesystem::exists(part, ignored)) {
            return files;
        }
        if (number == RecordingFiles::kPartsMax) {
            return Error{ErrorCode::kTooLarge,
                         path + ": more than " + std::to_string(RecordingFiles::kPartsMax) + " files of records"};
        }
        files.parts.push_back(PERFLEET_TRY(FileBytes::open(part, RecordingFiles::kPartBufferSizeBytes)));
    }
}

}  // namespace perfleet
