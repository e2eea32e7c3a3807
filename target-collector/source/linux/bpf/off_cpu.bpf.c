// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* How long threads are off the CPU, by the stack they left it with: blocked until they are woken, then runnable until
 * they are on a CPU again.
 *
 *   sched_switch  the thread that leaves: when, and whether it blocks; the one that comes: how long it was away
 *   sched_waking  when a blocked thread was woken, and by whom; an interrupt wakes as the thread that it interrupted
 *   sched_exit_tp, the return of schedule(), or finish_task_switch(): in the thread that came, whose stack is as it was
 *                 when it left
 *
 * Time is sampled, as a period samples the events of a counter: what a thread spends blocked, or runnable, is summed,
 * and each time that the sum passes about a period the stack at hand has a record that weighs what was passed. So a
 * short block has one with a probability of its part of the period, a long one always; weights sum to the time but for
 * less than a period and a half a thread. Unwinding each switch would cost a program that switches often half its time.
 */
#include "target-collector/source/linux/bpf/unwind_walk.bpf.h"

#define TASK_WAKING 0x200
#define PF_KTHREAD 0x00200000

struct signal_struct {
    struct {
        int counter;
    } live;
} __attribute__((preserve_access_index));

struct off_cpu_task {
    __u64 left_ns;    /* 0: it is on a CPU, or wasn't followed when it left */
    __u64 woken_ns;   /* 0: not yet */
    __u64 blocked_ns; /* not in a record yet */
    __u64 runnable_ns;
    __u64 blocked_due_ns; /* above: a record */
    __u64 runnable_due_ns;
    __u32 is_blocked;
    __u32 is_due;
    __u32 waker_tid;
    char waker[OFF_CPU_NAME_BYTES];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct off_cpu_task);
} tasks SEC(".maps");

/* Processes, or threads: 0: followed once it has begun another program; 1: followed. */
DEFINE_MAP(targets, BPF_MAP_TYPE_HASH, OFF_CPU_TARGETS_MAX, __u32, __u32);

DEFINE_MAPPED_ARRAY(session, 1, struct off_cpu_state);

static __always_inline struct off_cpu_state* session_at_hand(void) {
    const __u32 zero = 0;
    return bpf_map_lookup_elem(&session, &zero);
}

static __always_inline int is_followed(const struct off_cpu_state* now, const struct task_struct* task) {
    const __u32 pid = task->tgid;
    if (!now->is_enabled || (task->flags & PF_KTHREAD) != 0 || pid == now->own_pid) {
        return 0;
    }
    if (now->is_system_wide) {
        return 1;
    }
    const __u32 key = now->by_thread ? (__u32)task->pid : pid;
    const __u32* const target = bpf_map_lookup_elem(&targets, &key);
    return target && *target == 1;
}

static __always_inline __u64 random_below(__u64 limit) { return (bpf_get_prandom_u32() * limit) >> 32; }

/* What of a sum has a record now; 0: none. Periods vary by a half to either side, so that nothing is in step with them.
 */
static __always_inline __u64 take_due(__u64* sum_ns, __u64* due_ns, __u64 period_ns) {
    if (*sum_ns < *due_ns || period_ns == 0) {
        return 0;
    }
    const __u64 weight = *due_ns + (*sum_ns - *due_ns) / period_ns * period_ns;
    *sum_ns -= weight;
    *due_ns = period_ns / 2 + random_below(period_ns);
    return weight;
}

static __always_inline void leave(struct off_cpu_state* now, struct task_struct* task, int is_preempted, __u64 time) {
    if (!is_followed(now, task)) {
        return;
    }
    struct off_cpu_task* known = bpf_task_storage_get(&tasks, task, 0, 0);
    if (!known) {
        known = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!known) {
            __sync_fetch_and_add(&now->missed, 1);
            return;
        }
        /* As if it had begun anywhere in a period. */
        known->blocked_ns = random_below(now->period_ns);
        known->runnable_ns = random_below(now->period_ns);
        known->blocked_due_ns = now->period_ns;
        known->runnable_due_ns = now->period_ns;
    }
    const __u32 task_state = task->__state;
    known->left_ns = time;
    known->woken_ns = 0;
    known->is_blocked = !is_preempted && task_state != 0 && (task_state & TASK_WAKING) == 0;
}

static __always_inline void come(struct task_struct* task, __u64 time) {
    struct off_cpu_task* const known = (task->flags & PF_KTHREAD) != 0 ? 0 : bpf_task_storage_get(&tasks, task, 0, 0);
    if (!known || known->left_ns == 0 || time < known->left_ns) {
        return;
    }
    const __u64 woken_ns = known->is_blocked && known->woken_ns > known->left_ns ? known->woken_ns : known->left_ns;
    const __u64 runnable_from = woken_ns < time ? woken_ns : time;
    known->blocked_ns += runnable_from - known->left_ns;
    known->runnable_ns += time - runnable_from;
    known->left_ns = 0;
    known->is_due = known->blocked_ns >= known->blocked_due_ns || known->runnable_ns >= known->runnable_due_ns;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64* context) {
    struct off_cpu_state* const now = session_at_hand();
    struct task_struct* const leaving = (struct task_struct*)context[1];
    struct task_struct* const coming = (struct task_struct*)context[2];
    const __u64 time = bpf_ktime_get_ns();
    if (now) {
        leave(now, leaving, (context[0] & 1) != 0, time);
        come(coming, time);
    }
    return 0;
}

SEC("tp_btf/sched_waking")
int on_waking(__u64* context) {
    struct task_struct* const task = (struct task_struct*)context[0];
    struct off_cpu_task* const known = (task->flags & PF_KTHREAD) != 0 ? 0 : bpf_task_storage_get(&tasks, task, 0, 0);
    if (known && known->left_ns != 0 && known->is_blocked && known->woken_ns == 0) {
        known->woken_ns = bpf_ktime_get_ns();
        known->waker_tid = (__u32)bpf_get_current_pid_tgid();
        bpf_get_current_comm(known->waker, sizeof(known->waker));
    }
    return 0;
}

static __always_inline int on_return(void* context) {
    const __u32 zero = 0;
    struct task_struct* const task = (struct task_struct*)bpf_get_current_task_btf();
    if ((task->flags & PF_KTHREAD) != 0) {
        return 0;
    }
    struct off_cpu_task* const known = bpf_task_storage_get(&tasks, task, 0, 0);
    if (!known || !known->is_due) {
        return 0;
    }
    known->is_due = 0;
    struct off_cpu_state* const now = session_at_hand();
    struct walk* const walk = bpf_map_lookup_elem(&walks, &zero);
    struct mm_struct* const mm = task->mm;
    if (!now || !now->is_enabled || !walk || !mm) {
        return 0;
    }
    walk->head.blocked_ns = take_due(&known->blocked_ns, &known->blocked_due_ns, now->period_ns);
    walk->head.runnable_ns = take_due(&known->runnable_ns, &known->runnable_due_ns, now->period_ns);
    walk->head.waker_tid = known->waker_tid;
    __builtin_memcpy(walk->head.waker, known->waker, sizeof(walk->head.waker));
    walk->sample.status = END_COPY;
    walk->sample.period = 0;
    set_out_from_kernel(walk, task);
    __u32 output = bpf_get_smp_processor_id();
    if (!unwind(walk, task, mm)) {
        walk->word_count = 0;
        walk->sample.status = END_COPY;
        output += now->cpu_count;
    }
    const __u32 size = sizeof(walk->head) - sizeof(walk->head.unused) + 16 + (walk->word_count & UNWIND_WORDS_MASK) * 8;
    /* What doesn't fit the ring the kernel counts as lost. Another way to fail is a CPU that isn't recorded. */
    bpf_perf_event_output(context, &outputs, output, &walk->head.waker_tid, size);
    return 0;
}

/* The first is there from Linux 6.17 on, else one of the others is attached: on AArch64 the second isn't before 6.4. */
SEC("tp_btf/sched_exit_tp")
int on_schedule_exit(__u64* context) { return on_return(context); }

SEC("fexit/schedule")
int on_schedule_return(__u64* context) { return on_return(context); }

/* finish_task_switch(), which the thread that comes calls first. */
SEC("kprobe")
int on_switched(void* context) { return on_return(context); }

SEC("tp_btf/sched_process_fork")
int on_fork(__u64* context) {
    struct off_cpu_state* const now = session_at_hand();
    const struct task_struct* const parent = (const struct task_struct*)context[0];
    const struct task_struct* const child = (const struct task_struct*)context[1];
    const __u32 parent_pid = parent->tgid;
    const __u32 pid = child->tgid;
    if (!now || now->is_system_wide || now->by_thread || !now->is_inherited || pid == parent_pid) {
        return 0;
    }
    const __u32* const target = bpf_map_lookup_elem(&targets, &parent_pid);
    if (target) {
        const __u32 value = *target;
        if (bpf_map_update_elem(&targets, &pid, &value, 0) != 0) {
            __sync_fetch_and_add(&now->targets_missed, 1);
        }
    }
    return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64* context) {
    const struct task_struct* const task = (const struct task_struct*)context[0];
    const __u32 pid = task->tgid;
    __u32* const target = bpf_map_lookup_elem(&targets, &pid);
    if (target) {
        *target = 1;
    }
    return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64* context) {
    const struct task_struct* const task = (const struct task_struct*)context[0];
    const __u32 pid = task->tgid;
    if (task->signal->live.counter == 0) {
        bpf_map_delete_elem(&targets, &pid);
    }
    return 0;
}

char LICENSE[] SEC("license") = "GPL";
