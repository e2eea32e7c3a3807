// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* How long calls of functions take: from a probe where a function begins to one where it ends.
 *
 * A thread has a list of the calls that it is within. A call is known by its function and the stack pointer when it
 * began, which is the same when it ends: nested and recursive calls are apart, and what left without a return (longjmp,
 * exceptions) is found when the call around it ends. A stack pointer in another stack (fibers) is found likewise, but
 * drops what is above it.
 */
#include "target-collector/source/linux/bpf/linux_types.bpf.h"

#include "target-collector/source/linux/bpf/function_layout.h"

/* As the kernel lays them out for programs of this type: no relocation is applied to a context. */
struct pt_regs {
#if defined(__TARGET_ARCH_arm64)
    unsigned long long regs[31];
    unsigned long long sp;
    unsigned long long pc;
#else
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
#endif
};
#if defined(__TARGET_ARCH_arm64)
#define RETURN_ADDRESS_BYTES 0
#else
#define RETURN_ADDRESS_BYTES 8
#endif

struct task_struct {
    int pid;
    int tgid;
} __attribute__((preserve_access_index));

struct call {
    __u64 stack_pointer;
    __u64 start_ns;
    __u64 function;
};

struct thread_calls {
    __u64 depth;
    struct call calls[FUNCTION_DEPTH_MAX];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread_calls);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, FUNCTION_PLACES_MAX);
    __type(key, __u32);
    __type(value, struct function_place);
} places SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, FUNCTION_COUNT_MAX);
    __type(key, __u32);
    __type(value, struct function_counts);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, FUNCTION_TARGETS_MAX);
    __type(key, __u32);
    __type(value, __u32);
} targets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, FUNCTION_RING_BYTES);
} rows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct function_state);
} session SEC(".maps");

/* A handler of a user's probe may be preempted by another one on its CPU. */
#define COUNT(counter, number) __sync_fetch_and_add(&(counter), number)

struct probe { /* what is hit */
    struct function_state* state;
    struct function_place* place;
    struct function_counts* counts;
};

static __always_inline int find_probe(void* context, struct probe* probe) {
    const __u32 zero = 0;
    const __u32 cookie = (__u32)bpf_get_attach_cookie(context);
    probe->state = bpf_map_lookup_elem(&session, &zero);
    probe->place = bpf_map_lookup_elem(&places, &cookie);
    if (!probe->state || !probe->place || !probe->state->is_enabled) {
        return 0;
    }
    const __u32 pid = bpf_get_current_pid_tgid() >> 32;
    if (pid == probe->state->own_pid || (probe->state->has_targets && !bpf_map_lookup_elem(&targets, &pid))) {
        return 0;
    }
    probe->counts = bpf_map_lookup_elem(&counts, &probe->place->function);
    return probe->counts != 0;
}

struct search {
    struct thread_calls* thread;
    __u64 function;
    __u64 stack_pointer;
    __u64 found; /* index + 1 */
};

static long is_call(__u32 index, struct search* search) {
    const __u64 at = search->thread->depth - 1 - index;
    if (at >= FUNCTION_DEPTH_MAX) {
        return 1; /* below the first */
    }
    const struct call* const call = &search->thread->calls[at];
    if (call->function != search->function || call->stack_pointer != search->stack_pointer) {
        return 0;
    }
    search->found = at + 1;
    return 1;
}

/* The last call of the list was left without a return. */
static __always_inline void drop_last(struct thread_calls* thread, __u64 at) {
    const __u32 function = (__u32)thread->calls[at].function;
    struct function_counts* const left = bpf_map_lookup_elem(&counts, &function);
    thread->depth = at;
    if (left) {
        COUNT(left->abandoned, 1);
    }
}

/* Drops what is deeper in the stack than a call that begins now. */
static long drop_deeper(__u32 index, struct search* search) {
    const __u64 at = search->thread->depth - 1;
    (void)index;
    if (at >= FUNCTION_DEPTH_MAX || search->thread->calls[at].stack_pointer > search->stack_pointer) {
        return 1;
    }
    drop_last(search->thread, at);
    return 0;
}

/* Drops what began later than the call that was found. */
static long drop_later(__u32 index, struct search* search) {
    const __u64 at = search->thread->depth - 1;
    (void)index;
    if (at >= FUNCTION_DEPTH_MAX || at < search->found) {
        return 1;
    }
    drop_last(search->thread, at);
    return 0;
}

SEC("kprobe")
int on_entry(struct pt_regs* context) {
    struct probe probe;
    if (!find_probe(context, &probe)) {
        return 0;
    }
    struct thread_calls* const thread =
        bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    const __u64 function = probe.place->function;
    const __u64 stack_pointer = context->sp;
    if (thread && thread->depth > 0 && thread->depth <= FUNCTION_DEPTH_MAX) {
        struct call* const last = &thread->calls[thread->depth - 1];
        if (last->function == function && last->stack_pointer == stack_pointer) {
            if (probe.place->is_begun_again) {
                return 0;
            }
            COUNT(probe.counts->abandoned, 1);
            --thread->depth;
        }
    }
    COUNT(probe.counts->entered, 1);
    if (!thread) {
        COUNT(probe.counts->without_memory, 1);
        return 0;
    }
    if (thread->depth >= probe.place->depth_max) {
        struct search search = {.thread = thread, .stack_pointer = stack_pointer};
        bpf_loop(FUNCTION_DEPTH_MAX, drop_deeper, &search, 0);
    }
    const __u64 depth = thread->depth;
    if (depth >= probe.place->depth_max || depth >= FUNCTION_DEPTH_MAX) {
        COUNT(probe.counts->too_deep, 1);
        return 0;
    }
    struct call* const call = &thread->calls[depth];
    call->function = function;
    call->stack_pointer = stack_pointer;
    thread->depth = depth + 1;
    call->start_ns = bpf_ktime_get_ns();
    return 0;
}

static __always_inline __u32 bucket_of(__u64 value) {
    __u32 bucket = 0;
    for (__u32 step = 32; step > 0; step /= 2) {
        if (value >> step) {
            value >>= step;
            bucket += step;
        }
    }
    return bucket;
}

static __always_inline void emit(struct probe* probe, __u64 end_ns, __u64 duration_ns) {
    struct function_row* const row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
    if (!row) {
        COUNT(probe->counts->rows_lost, 1);
        return;
    }
    const __u64 ids = bpf_get_current_pid_tgid();
    row->end_ns = end_ns;
    row->duration_ns = duration_ns;
    row->pid = ids >> 32;
    row->tid = (__u32)ids;
    row->cpu = bpf_get_smp_processor_id();
    row->function = probe->place->function;
    /* The reader comes by itself from time to time; each eighth of the ring wakes it, too. */
    const __u64 waiting_bytes = bpf_ringbuf_query(&rows, BPF_RB_AVAIL_DATA);
    const int is_wake_up = waiting_bytes % (FUNCTION_RING_BYTES / 8) < sizeof(*row) && waiting_bytes > sizeof(*row);
    bpf_ringbuf_submit(row, is_wake_up ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* A call of this function that began with this stack pointer ends now. */
static __always_inline void end_call(struct probe* probe, __u64 stack_pointer, __u64 now_ns) {
    struct thread_calls* const thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
    struct search search = {.thread = thread, .function = probe->place->function, .stack_pointer = stack_pointer};
    if (thread) {
        if (is_call(0, &search) == 0) {
            bpf_loop(FUNCTION_DEPTH_MAX, is_call, &search, 0);
        }
    }
    const __u64 at = search.found - 1;
    if (!thread || at >= FUNCTION_DEPTH_MAX) {
        if (probe->place->kind != FUNCTION_EXIT_JUMP) {
            COUNT(probe->counts->unmatched, 1);
        }
        return;
    }
    if (thread->depth > search.found) {
        bpf_loop(FUNCTION_DEPTH_MAX, drop_later, &search, 0);
    }
    thread->depth = at;
    const __u64 duration_ns = now_ns - thread->calls[at].start_ns;
    COUNT(probe->counts->returned, 1);
    COUNT(probe->counts->sum_ns, duration_ns);
    COUNT(probe->counts->buckets[bucket_of(duration_ns) & (FUNCTION_BUCKETS - 1)], 1);
    if (probe->state->has_rows) {
        emit(probe, now_ns, duration_ns);
    }
}

SEC("kprobe")
int on_return(struct pt_regs* context) {
    const __u64 now_ns = bpf_ktime_get_ns();
    struct probe probe;
    if (find_probe(context, &probe)) {
        end_call(&probe, context->sp - RETURN_ADDRESS_BYTES, now_ns);
    }
    return 0;
}

#if !defined(__TARGET_ARCH_arm64)
/* In assembly, or the compiler makes one read at an address that it computes, which the kernel refuses of a context. */
#define READ_REGISTER(name)                                                          \
    ({                                                                               \
        __u64 value;                                                                 \
        asm volatile("%0 = *(u64 *)(%1 + %2)"                                        \
                     : "=r"(value)                                                   \
                     : "r"(context), "i"(__builtin_offsetof(struct pt_regs, name))); \
        value;                                                                       \
    })
static __always_inline __u64 register_of(const struct pt_regs* context, __u32 number) {
    switch (number) {
        case 0: return READ_REGISTER(ax);
        case 1: return READ_REGISTER(cx);
        case 2: return READ_REGISTER(dx);
        case 3: return READ_REGISTER(bx);
        case 4: return READ_REGISTER(sp);
        case 5: return READ_REGISTER(bp);
        case 6: return READ_REGISTER(si);
        case 7: return READ_REGISTER(di);
        case 8: return READ_REGISTER(r8);
        case 9: return READ_REGISTER(r9);
        case 10: return READ_REGISTER(r10);
        case 11: return READ_REGISTER(r11);
        case 12: return READ_REGISTER(r12);
        case 13: return READ_REGISTER(r13);
        case 14: return READ_REGISTER(r14);
        default: return READ_REGISTER(r15);
    }
}
#endif

/* At the instruction: the stack is as it was when the function began. */
SEC("kprobe")
int on_exit(struct pt_regs* context) {
    const __u64 now_ns = bpf_ktime_get_ns();
    struct probe probe;
    if (!find_probe(context, &probe)) {
        return 0;
    }
#if !defined(__TARGET_ARCH_arm64)
    if (probe.place->kind == FUNCTION_EXIT_JUMP) {
        const __s64 jumps = (__s64)(register_of(context, probe.place->jump_register) - context->ip);
        const __u64 into_first = (__u64)(jumps - probe.place->body[0]);
        const __u64 into_second = (__u64)(jumps - probe.place->body[1]);
        if (into_first < probe.place->body_bytes[0] || into_second < probe.place->body_bytes[1]) {
            return 0;
        }
    }
#endif
    end_call(&probe, context->sp, now_ns);
    return 0;
}

SEC("tp_btf/sched_process_fork")
int on_fork(__u64* context) {
    const __u32 zero = 0;
    struct function_state* const state = bpf_map_lookup_elem(&session, &zero);
    const struct task_struct* const parent = (const struct task_struct*)context[0];
    const struct task_struct* const child = (const struct task_struct*)context[1];
    const __u32 parent_pid = parent->tgid;
    const __u32 child_pid = child->tgid;
    if (!state || !state->is_enabled || parent_pid == child_pid || !bpf_map_lookup_elem(&targets, &parent_pid)) {
        return 0;
    }
    const __u32 followed = 1;
    if (!state->follows || bpf_map_update_elem(&targets, &child_pid, &followed, BPF_ANY) != 0) {
        COUNT(state->forked, 1);
    }
    return 0;
}

/* Its number is another process's soon. */
SEC("tp_btf/sched_process_exit")
int on_process_exit(__u64* context) {
    const struct task_struct* const task = (const struct task_struct*)context[0];
    const __u32 pid = task->tgid;
    if ((__u32)task->pid == pid) {
        bpf_map_delete_elem(&targets, &pid);
    }
    return 0;
}

char LICENSE[] SEC("license") = "GPL";
