#include "target-collector/linux/symbols/system_call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfleet {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EPERM;

constexpr std::array kAllowed {
    SYS_read, SYS_pread64, SYS_write, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_close, SYS_ftruncate, SYS_recvmsg,
        SYS_sendmsg,
#if defined(SYS_poll)
        SYS_poll,
#endif
        SYS_ppoll, SYS_memfd_create, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_futex, SYS_getrusage,
        SYS_getrandom, SYS_clock_gettime, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall,
};

class Filter {
public:
    Filter() {
        load(offsetof(seccomp_data, arch));
        add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
        give(kRefused);
        load(offsetof(seccomp_data, nr));
    }

    void allow(long call) {
        add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
        give(SECCOMP_RET_ALLOW);
    }
    // Allows the call if the low half of the argument has none of these bits.
    void allow_without(long call, unsigned argument, std::uint32_t bits) {
        add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
        // Little-endian: the low half comes first.
        load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
        add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
        give(SECCOMP_RET_ALLOW);
        give(kRefused);
    }

    bool install() {
        give(kRefused);
        const sock_fprog program{static_cast<unsigned short>(steps_.size()), steps_.data()};
        return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
    }

private:
    void add(int code, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
        steps_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
    }
    void load(std::size_t at) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at), 0, 0); }
    void give(std::uint32_t action) { add(BPF_RET | BPF_K, action, 0, 0); }

    std::vector<sock_filter> steps_;
};

}  // namespace

bool filter_system_calls() {
    Filter filter;
    for (const long call : kAllowed) {
        filter.allow(call);
    }
    filter.allow_without(SYS_mmap, 2, PROT_EXEC);
    filter.allow_without(SYS_mprotect, 2, PROT_EXEC);
    filter.allow_without(SYS_prlimit64, 0, ~std::uint32_t{0});  // only for its own limits
    return filter.install();
}

}  // namespace perfleet
