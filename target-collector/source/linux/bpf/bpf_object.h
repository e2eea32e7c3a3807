// Common parts of loaders of BPF programs: libbpf's objects and maps as resources, and its errors.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "schemas/vocabulary/error.h"

namespace perfleet {

inline Error bpf_error(int error, const std::string& what) {
    if (error == EPERM || error == EACCES) {
        return Error{ErrorCode::kPermission,
                     what + " isn't permitted: it needs root (sudo), or CAP_BPF and CAP_PERFMON"};
    }
    return Error{ErrorCode::kUnsupported, what + " isn't possible with this kernel (" + std::strerror(error) +
                                              "); it takes Linux 5.17 with BTF"};
}

// The error of bpf_object__load(), which returns EPERM for missing rights.
inline Error bpf_load_error(int error, const std::string& what) {
    return error == EACCES
               ? Error{ErrorCode::kUnsupported, what + " isn't possible: this kernel's verifier refuses the program"}
               : bpf_error(error, what);
}

// A device as in the kernel.
inline std::uint64_t kernel_device(std::uint64_t major, std::uint64_t minor) {
    constexpr unsigned kMinorBits = 20;
    return major << kMinorBits | minor;
}

// The PID namespace of this process, as BPF programs compare it.
struct PidNamespace {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    [[nodiscard]] static PidNamespace own() {
        struct stat file {};
        return ::stat("/proc/self/ns/pid", &file) == 0
                   ? PidNamespace{kernel_device(major(file.st_dev), minor(file.st_dev)), file.st_ino}
                   : PidNamespace{};
    }
    [[nodiscard]] bool is_hosts() const { return inode == 0xeffffffc; }  // PROC_PID_INIT_INO
};

struct BpfObjectCloser {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using BpfObject = std::unique_ptr<bpf_object, BpfObjectCloser>;

struct BpfRuns {
    std::uint64_t time_ns = 0;  // as measured by the kernel
    std::uint64_t not_run = 0;  // runs skipped by the kernel, because another program or the same one was running
};

// The sum over the object's programs.
inline BpfRuns bpf_runs(const BpfObject& object) {
    BpfRuns sum;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object.get()) {
        bpf_prog_info info{};
        std::uint32_t size_bytes = sizeof(info);
        if (const int fd = bpf_program__fd(program); fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size_bytes) == 0) {
            sum.time_ns += info.run_time_ns;
            sum.not_run += info.recursion_misses;
        }
    }
    return sum;
}

// Shared memory of a map; a resource.
class MappedMap {
public:
    MappedMap() = default;
    MappedMap(MappedMap&& other) noexcept
        : bytes_{std::exchange(other.bytes_, nullptr)}, size_bytes_{other.size_bytes_} {}
    MappedMap& operator=(MappedMap&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(size_bytes_, other.size_bytes_);
        return *this;
    }
    ~MappedMap() {
        if (bytes_ != nullptr) {
            ::munmap(bytes_, size_bytes_);
        }
    }
    // False on failure, with errno.
    bool map(int fd, std::size_t size_bytes) {
        void* const bytes = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED) {
            return false;
        }
        bytes_ = static_cast<std::byte*>(bytes);
        size_bytes_ = size_bytes;
        return true;
    }
    [[nodiscard]] std::byte* bytes() const { return bytes_; }

private:
    std::byte* bytes_ = nullptr;
    std::size_t size_bytes_ = 0;
};

}  // namespace perfleet
