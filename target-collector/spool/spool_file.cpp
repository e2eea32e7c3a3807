#include "target-collector/spool/spool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "schemas/columns/crc32c.h"
#include "schemas/host/file_io.h"

namespace perfleet {
namespace {

// Reserves disk space. Returns 0, or an errno.
int reserve(int fd, std::uint64_t size_bytes) {
    int error = 0;
    do {
        error = ::posix_fallocate(fd, 0, static_cast<off_t>(size_bytes));
    } while (error == EINTR);
    return error;
}

Error no_room(int errno_value, const std::string& path, std::uint64_t size_bytes) {
    Error error = error_from_errno(
        errno_value, "spool file '" + path + "': can't reserve " + std::to_string(size_bytes >> 20U) + " MiB");
    error.message += "; free space, or use a smaller --spool-size";
    return error;
}

Error unreadable(const Fault& fault, const std::string& path) {
    const std::string name = "spool file '" + path + "'";
    if (fault.code == ErrorCode::kInvalid) {
        return {fault.code, name + " is no spool file"};
    }
    if (fault.code == ErrorCode::kUnsupported) {
        return {fault.code, name + " has version " + std::to_string(fault.value) +
                                " of the format, and this perfleet knows " + std::to_string(kSpoolVersion) +
                                ": deliver it with the perfleet that wrote it, or move it out of the folder"};
    }
    return error_from_fault(fault, name);
}

}  // namespace

std::string spool_file_name(SessionId session) {
    std::array<char, 48> name{};
    std::snprintf(name.data(), name.size(), "%016" PRIx64 "%016" PRIx64 ".spool", session.high, session.low);
    return name.data();
}

Result<std::unique_ptr<SpoolFile>> SpoolFile::create(const std::string& folder, SpoolHead head,
                                                     std::span<const std::byte> hello) {
    head.hello_size_bytes = hello.size();
    head.hello_checksum = crc32c(0, hello);
    const std::string path = folder + "/" + spool_file_name(head.session);
    const std::string unfinished = path + ".new";
    FileDescriptor fd{::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kSpoolFileMode)};
    if (!fd) {
        return error_from_errno(errno, "can't make the spool file '" + unfinished + "'");
    }
    std::unique_ptr<SpoolFile> file(new SpoolFile(path, std::move(fd)));
    file->head_ = head;
    if (const int error = reserve(file->fd_.get(), head.file_size_bytes()); error != 0) {
        ::unlink(unfinished.c_str());
        return no_room(error, path, head.file_size_bytes());
    }
    if (auto done = file->map(); !done.ok()) {
        ::unlink(unfinished.c_str());
        return std::move(done).error();
    }
    for (const std::uint64_t offset : {std::uint64_t{kSpoolHelloOffset}, head.hello_copy_offset()}) {
        std::copy(hello.begin(), hello.end(), file->bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    DeliveryJournal(file->journal()).write({});
    file->write_heads();
    if (::fdatasync(file->fd_.get()) != 0 || ::rename(unfinished.c_str(), path.c_str()) != 0 || !sync_folder(folder)) {
        const int error = errno;
        ::unlink(unfinished.c_str());
        ::unlink(path.c_str());
        return error_from_errno(error, "can't make the spool file '" + path + "'");
    }
    return file;
}

Result<std::unique_ptr<SpoolFile>> SpoolFile::open(const std::string& path) {
    FileDescriptor fd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (!fd) {
        return error_from_errno(errno, "can't open the spool file '" + path + "'");
    }
    std::unique_ptr<SpoolFile> file(new SpoolFile(path, std::move(fd)));
    struct stat status {};
    if (::fstat(file->fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return Error{ErrorCode::kInvalid, "spool file '" + path + "' is no ordinary file"};
    }
    std::array<std::byte, kSpoolHeadSizeBytes> bytes{};
    std::array<std::byte, kSpoolHeadSizeBytes> copy{};
    const ssize_t got = ::pread(file->fd_.get(), bytes.data(), bytes.size(), 0);
    const ssize_t got_copy = ::pread(file->fd_.get(), copy.data(), copy.size(), kSpoolHeadCopyOffset);
    if (got < 0 || got_copy < 0) {
        return error_from_errno(errno, "can't read the spool file '" + path + "'");
    }
    const auto head = read_spool_head(std::span{bytes}.first(static_cast<std::size_t>(got)),
                                      std::span{copy}.first(static_cast<std::size_t>(got_copy)));
    if (!head.ok()) {
        return unreadable(head.error(), path);
    }
    file->head_ = *head;
    if (static_cast<std::uint64_t>(status.st_size) < head->file_size_bytes()) {
        if (const int error = reserve(file->fd_.get(), head->file_size_bytes()); error != 0) {
            return no_room(error, path, head->file_size_bytes());
        }
    }
    PERFLEET_TRY(file->map());
    file->write_heads();
    return file;
}

void SpoolFile::write_heads() const {
    write_spool_head(head_, bytes_.first(kSpoolHeadSizeBytes));
    write_spool_head(head_, bytes_.subspan(kSpoolHeadCopyOffset, kSpoolHeadSizeBytes));
}

SpoolFile::~SpoolFile() {
    if (bytes_.data() != nullptr) {
        ::munmap(bytes_.data(), bytes_.size());
    }
}

Result<Done> SpoolFile::map() {
    const std::size_t size_bytes = head_.file_size_bytes();
    void* const memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) {
        return error_from_errno(errno, "can't map the spool file '" + path_ + "'");
    }
    bytes_ = {static_cast<std::byte*>(memory), size_bytes};
    return Done{};
}

Result<Done> SpoolFile::sync() const {
    if (::fdatasync(fd_.get()) != 0) {  // includes writes through the mapping
        return error_from_errno(errno, "can't bring the spool file '" + path_ + "' to the disk");
    }
    return Done{};
}

void SpoolFile::punch(std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t first = (begin + kSpoolPageSizeBytes - 1) / kSpoolPageSizeBytes * kSpoolPageSizeBytes;
    const std::uint64_t last = end / kSpoolPageSizeBytes * kSpoolPageSizeBytes;
    if (first < last) {
        // File systems without this call keep the space until the file is deleted.
        (void)::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                          static_cast<off_t>(head_.records_offset() + first), static_cast<off_t>(last - first));
    }
}

void SpoolFile::give_back_around(const DeliverySpool::Places& places) const {
    const std::uint64_t end = head_.records_size_bytes;
    if (places.used_bytes == 0) {
        punch(0, end);
    } else if (places.is_wrapped) {
        punch(places.head, places.tail);
        punch(places.wrap_end, end);
    } else {
        punch(0, places.tail);
        punch(places.head, end);
    }
}

Result<Done> SpoolFile::remove() const {
    if (::unlink(path_.c_str()) != 0) {
        return error_from_errno(errno, "can't remove the spool file '" + path_ + "'");
    }
    return Done{};
}

}  // namespace perfleet
