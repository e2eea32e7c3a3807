#include "target-collector/source/linux/probe_area.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace perfleet {
namespace {

// If a program could shrink the file, readers beyond its end would be killed by SIGBUS.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<std::unique_ptr<ProbeArea>> ProbeArea::create() {
    std::unique_ptr<ProbeArea> area{new ProbeArea};
    area->fd_.reset(::memfd_create("perfleet-probes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!area->fd_ || ::ftruncate(area->fd_.get(), static_cast<off_t>(PERFLEET_PROBE_AREA_SIZE)) != 0 ||
        ::fcntl(area->fd_.get(), F_ADD_SEALS, kSeals) != 0 || !area->map()) {
        return error_from_errno(errno, "can't make the memory that probes are shared in");
    }
    area->head_->size_bytes = PERFLEET_PROBE_AREA_SIZE;
    area->head_->collector = static_cast<std::uint64_t>(::getpid());
    area->head_->magic = PERFLEET_PROBE_MAGIC;
    return area;
}

Result<std::unique_ptr<ProbeArea>> ProbeArea::take(std::uint32_t pid, int its_fd) {
    const std::string what = "can't take the probes' memory of process " + std::to_string(pid);
    const FileDescriptor process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    std::unique_ptr<ProbeArea> area{new ProbeArea};
    // Not open(): opening a path in /proc may have side effects on the file.
    area->fd_.reset(process ? static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), its_fd, 0)) : -1);
    if (!area->fd_) {
        return error_from_errno(errno, what);
    }
    struct statfs system {};
    struct stat status {};
    const int seals = ::fcntl(area->fd_.get(), F_GET_SEALS);
    // A file on huge pages may have no free page when it is touched.
    if (::fstatfs(area->fd_.get(), &system) != 0 || system.f_type != TMPFS_MAGIC ||
        ::fstat(area->fd_.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_size) != PERFLEET_PROBE_AREA_SIZE || seals < 0 ||
        (seals & (kSeals | F_SEAL_WRITE)) != kSeals) {
        return Error{ErrorCode::kInvalid,
                     what + ": its descriptor " + std::to_string(its_fd) + " isn't that memory, or of another version"};
    }
    if (!area->map()) {
        return error_from_errno(errno, what);
    }
    if (area->head_->magic != PERFLEET_PROBE_MAGIC) {
        return Error{ErrorCode::kInvalid, what + ": it is of another version of perfleet/probe.h"};
    }
    return area;
}

bool ProbeArea::map() {
    struct stat status {};
    void* const bytes =
        ::mmap(nullptr, PERFLEET_PROBE_AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
    if (bytes == MAP_FAILED || ::fstat(fd_.get(), &status) != 0) {
        return false;
    }
    inode_ = status.st_ino;
    head_ = static_cast<perfleet_probe_area*>(bytes);
    slots_ = reinterpret_cast<perfleet_probe_slot*>(head_ + 1);
    return true;
}

ProbeArea::~ProbeArea() {
    if (head_ != nullptr) {
        ::munmap(head_, PERFLEET_PROBE_AREA_SIZE);
    }
}

std::string ProbeArea::variable() const {
    return PERFLEET_PROBE_ENVIRONMENT "=/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
}

}  // namespace perfleet
