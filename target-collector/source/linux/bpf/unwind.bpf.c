// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Unwinds the user's stack of a sample by the tables that the collector has put into maps, and emits the whole sample.
 *
 * Attached to sampling events, which ask for a copy of the stack. Where the stack could be unwound the program emits
 * a record of its own to the event's ring and suppresses the event's; else it lets the event emit its own, with the
 * copy, which the collector unwinds. So each sample has one record either way, in its place and with its time.
 */
#include "target-collector/source/linux/bpf/unwind_walk.bpf.h"

/* The context: registers first, the period behind them. */
#if defined(__TARGET_ARCH_arm64)
struct context {
    __u64 regs[31];
    __u64 sp;
    __u64 pc;
    __u64 pstate;
    __u64 sample_period;
};
#else
struct context {
    __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
    __u64 sample_period;
};
#endif

/* False: it has none, or isn't of 64 bits. */
static __always_inline int set_out(struct walk* walk, struct context* context, struct task_struct* task) {
#if defined(__TARGET_ARCH_arm64)
    if ((*(volatile __u64*)&context->pstate & 0x1f) == 0) {
        walk->pc = context->pc;
        walk->sp = context->sp;
        walk->fp = context->regs[29];
        walk->lr = context->regs[30];
        /* Or the compiler shares these reads with those of the task's registers, at an address that it computes: the
         * verifier refuses that of a context. */
        asm volatile("" ::: "memory");
        return 1;
    }
#else
    if ((*(volatile __u64*)&context->cs & 3) == 3) {
        walk->pc = context->ip;
        walk->sp = context->sp;
        walk->fp = context->bp;
        walk->bx = context->bx;
        return (*(volatile __u64*)&context->cs & 0xffff) == 0x33;
    }
#endif
    set_out_from_kernel(walk, task);
    return 1;
}

SEC("perf_event")
int unwind_sample(struct context* context) {
    const __u32 zero = 0;
    struct walk* const walk = bpf_map_lookup_elem(&walks, &zero);
    if (!walk) {
        return 1;
    }
    struct task_struct* const task = (struct task_struct*)bpf_get_current_task_btf();
    struct mm_struct* const mm = task->mm;
    walk->word_count = 0;
    walk->sample.status = END_OUTERMOST;
    walk->sample.period = context->sample_period;
    const int has_user_part =
        has_user_stack(mm) && (constants.own_pid == 0 || current_ids() >> 32 != constants.own_pid);
    if (has_user_part && (!set_out(walk, context, task) || !unwind(walk, task, mm))) {
        return 1;
    }
    const __u32 count = walk->word_count;
    if (count > UNWIND_WORDS_MAX) {
        return 1;
    }
    const __u32 output = constants.first_output + bpf_get_smp_processor_id();
    const __u32 size = (sizeof(walk->sample.status) + sizeof(walk->sample.period) + count * 8) & 0x3fff;
    const long done = bpf_perf_event_output(context, &outputs, output, &walk->sample.status, size);
    /* What doesn't fit the ring the kernel has counted as lost; without a way to its ring the event emits its own. */
    return constants.emits_both || (done != 0 && done != -ENOSPC) ? 1 : 0;
}

char LICENSE[] SEC("license") = "GPL";
