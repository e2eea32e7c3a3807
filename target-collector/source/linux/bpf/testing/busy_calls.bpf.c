// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Takes time in each getppid() of one process, as tracers of system calls do: a sample that hits meanwhile finds a BPF
 * program running on its CPU.
 */
#include "target-collector/source/linux/bpf/linux_types.bpf.h"

struct busy_constants {
    __u32 pid;
    __u32 round_count;
};
volatile const struct busy_constants constants = {0, 0};

static long one_round(__u32 index, void* sum) {
    *(volatile __u64*)sum += index;
    return 0;
}

SEC("tracepoint/syscalls/sys_enter_getppid")
int busy_call(__attribute__((unused)) void* context) {
    __u64 sum = 0;
    if (bpf_get_current_pid_tgid() >> 32 == constants.pid) {
        bpf_loop(constants.round_count, one_round, &sum, 0);
    }
    return 1; /* or the kernel hides the tracepoint from everybody's events */
}

char LICENSE[] SEC("license") = "GPL";
