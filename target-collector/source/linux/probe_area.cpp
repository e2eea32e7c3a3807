#include "target-collector/source/linux/probe_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace perfleet {

Result<std::unique_ptr<ProbeArea>> ProbeArea::create() {
    const std::string what = "can't make the memory that probes are shared in";
    std::unique_ptr<ProbeArea> area{new ProbeArea};
    area->fd_ = ::memfd_create("perfleet-probes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // Sealed: a program that could shorten it would end whoever reads behind its end.
    if (area->fd_ < 0 || ::ftruncate(area->fd_, static_cast<off_t>(PERFLEET_PROBE_AREA_SIZE)) != 0 ||
        ::fcntl(area->fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return error_from_errno(errno, what);
    }
    void* const bytes =
        ::mmap(nullptr, PERFLEET_PROBE_AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, area->fd_, 0);
    if (bytes == MAP_FAILED) {
        return error_from_errno(errno, what);
    }
    area->head_ = static_cast<perfleet_probe_area*>(bytes);
    area->slots_ = reinterpret_cast<perfleet_probe_slot*>(area->head_ + 1);
    area->head_->size_bytes = PERFLEET_PROBE_AREA_SIZE;
    area->head_->magic = PERFLEET_PROBE_MAGIC;
    return area;
}

ProbeArea::~ProbeArea() {
    if (head_ != nullptr) {
        ::munmap(head_, PERFLEET_PROBE_AREA_SIZE);
    }
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

std::string ProbeArea::variable() const {
    return PERFLEET_PROBE_ENVIRONMENT "=/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
}

}  // namespace perfleet
