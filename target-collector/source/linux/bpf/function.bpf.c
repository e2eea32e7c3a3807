// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* How long calls of functions take: from a probe where a function begins to one where it ends.
 *
 * A call is known by its process, its function, and the stack pointer at its first instruction, which is the same at
 * its last one. No two calls that are open share these, whichever thread runs them: contexts, fibers and signal
 * handlers have stacks of their own. A call that was left without a return (longjmp, an exception) stays in the table
 * until another one begins in its place, or until the table is full and drops what is oldest.
 *
 * Go moves the stacks of goroutines: a call is known by its goroutine and its distance from the upper end of the stack.
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

struct signal_struct {
    struct {
        int counter;
    } live;
    unsigned int flags;
} __attribute__((preserve_access_index));
#define SIGNAL_GROUP_EXIT 4u /* all threads are to end: exit(), a signal */

struct task_struct {
    int pid;
    int tgid;
    struct signal_struct* signal;
} __attribute__((preserve_access_index));

DEFINE_MAP(open_calls, BPF_MAP_TYPE_LRU_HASH, FUNCTION_OPEN_CALLS_MAX, struct function_call_key,
           struct function_open_call);

DEFINE_MAP(places, BPF_MAP_TYPE_ARRAY, FUNCTION_PLACES_MAX, __u32, struct function_place);

DEFINE_MAP(counts, BPF_MAP_TYPE_PERCPU_ARRAY, FUNCTION_COUNT_MAX, __u32, struct function_counts);

DEFINE_MAP(targets, BPF_MAP_TYPE_HASH, FUNCTION_TARGETS_MAX, __u32, __u32);

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, FUNCTION_RING_BYTES);
} rows SEC(".maps");

DEFINE_MAPPED_ARRAY(session, 1, struct function_state);

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

/* In assembly, or the compiler makes one read at an address that it computes, which the kernel refuses of a context. */
#define READ_REGISTER(name)                                                          \
    ({                                                                               \
        __u64 value;                                                                 \
        asm volatile("%0 = *(u64 *)(%1 + %2)"                                        \
                     : "=r"(value)                                                   \
                     : "r"(context), "i"(__builtin_offsetof(struct pt_regs, name))); \
        value;                                                                       \
    })
#if defined(__TARGET_ARCH_arm64)
#define INSTRUCTION pc
#define EIGHT_REGISTERS(first)                                 \
    case first: return READ_REGISTER(regs[first]);             \
    case (first) + 1: return READ_REGISTER(regs[(first) + 1]); \
    case (first) + 2: return READ_REGISTER(regs[(first) + 2]); \
    case (first) + 3: return READ_REGISTER(regs[(first) + 3]); \
    case (first) + 4: return READ_REGISTER(regs[(first) + 4]); \
    case (first) + 5: return READ_REGISTER(regs[(first) + 5]); \
    case (first) + 6: return READ_REGISTER(regs[(first) + 6]); \
    case (first) + 7:                                          \
        return READ_REGISTER(regs[(first) + 7])
#else
#define INSTRUCTION ip
#endif
static __always_inline __u64 register_of(const struct pt_regs* context, __u32 number) {
    switch (number) {
#if defined(__TARGET_ARCH_arm64)
        EIGHT_REGISTERS(0);
        EIGHT_REGISTERS(8);
        EIGHT_REGISTERS(16);
        case 24: return READ_REGISTER(regs[24]);
        case 25: return READ_REGISTER(regs[25]);
        case 26: return READ_REGISTER(regs[26]);
        case 27: return READ_REGISTER(regs[27]);
        case 28: return READ_REGISTER(regs[28]);
        case 29: return READ_REGISTER(regs[29]);
        case 30: return READ_REGISTER(regs[30]);
#else
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
        case 15: return READ_REGISTER(r15);
#endif
        case FUNCTION_OWN_ADDRESS: return READ_REGISTER(INSTRUCTION);
        default: return 0;
    }
}

/* Whether the jump at which the thread stands will be taken. */
static __always_inline int is_taken(const struct pt_regs* context, __u32 condition) {
#if !defined(__TARGET_ARCH_arm64)
    const __u64 flags = context->flags;
    const __u64 carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
                overflow = flags >> 11 & 1;
    __u64 holds = 0;
    if (condition >= FUNCTION_ALWAYS) {
        return 1;
    }
    switch (condition >> 1) {
        case 0: holds = overflow; break;
        case 1: holds = carry; break;
        case 2: holds = zero; break;
        case 3: holds = carry | zero; break;
        case 4: holds = sign; break;
        case 5: holds = parity; break;
        case 6: holds = sign ^ overflow; break;
        default: holds = zero | (sign ^ overflow); break;
    }
    return holds != (condition & 1);
#else
    (void)context;
    (void)condition;
    return 1;
#endif
}

/* Whether a computed jump stays within the function: the case of a switch, not another function. */
static __always_inline int stays_inside(const struct pt_regs* context, const struct function_place* place) {
    const struct function_branch* const jump = &place->branch;
    __u64 target =
        register_of(context, jump->base) + register_of(context, jump->index) * jump->scale + jump->displacement;
    if (jump->is_loaded) {
        __u64 loaded = 0;
        if (bpf_probe_read_user(&loaded, sizeof(loaded), (const void*)target) != 0) {
            return jump->index != FUNCTION_NO_REGISTER; /* not in memory yet: a table, most likely */
        }
        target = loaded;
    }
    const __s64 distance = (__s64)(target - register_of(context, FUNCTION_OWN_ADDRESS));
    for (int i = 0; i < FUNCTION_PARTS_MAX; ++i) {
        if ((__u64)(distance - place->parts[i]) < place->part_bytes[i]) {
            return 1;
        }
    }
    return 0;
}

/* Go on x86-64 has its goroutine in r14, and the bounds of the stack at its begin (runtime.g). */
static __always_inline int find_goroutine(const struct pt_regs* context, struct function_call_key* key) {
#if !defined(__TARGET_ARCH_arm64)
    struct {
        __u64 low, high;
    } stack = {0, 0};
    const __u64 goroutine = context->r14;
    if (bpf_probe_read_user(&stack, sizeof(stack), (const void*)goroutine) != 0 || key->stack_pointer <= stack.low ||
        key->stack_pointer > stack.high) {
        return 0;
    }
    key->goroutine = goroutine;
    key->stack_pointer = stack.high - key->stack_pointer;
    return 1;
#else
    (void)context;
    (void)key;
    return 0;
#endif
}

static __always_inline int find_key(const struct pt_regs* context, const struct function_place* place,
                                    __u64 stack_pointer, struct function_call_key* key) {
    key->stack_pointer = stack_pointer;
    key->goroutine = 0;
    key->pid = bpf_get_current_pid_tgid() >> 32;
    key->function = place->function;
    return !place->has_goroutines || find_goroutine(context, key);
}

SEC("kprobe")
int on_entry(struct pt_regs* context) {
    struct probe probe;
    struct function_call_key key;
    if (!find_probe(context, &probe)) {
        return 0;
    }
    const int has_key = find_key(context, probe.place, context->sp, &key);
    struct function_open_call* const open = has_key ? bpf_map_lookup_elem(&open_calls, &key) : 0;
    if (open && open->begins_again) {
        open->begins_again = 0;
        return 0;
    }
    COUNT(probe.counts->entered, 1);
    if (!has_key) {
        COUNT(probe.counts->elsewhere, 1);
    } else if (open) {
        COUNT(probe.counts->abandoned, 1);
        open->start_ns = bpf_ktime_get_ns();
    } else {
        const struct function_open_call call = {.start_ns = bpf_ktime_get_ns()};
        if (bpf_map_update_elem(&open_calls, &key, &call, BPF_ANY) != 0) {
            COUNT(probe.counts->without_memory, 1);
        }
    }
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
static __always_inline void end_call(const struct pt_regs* context, struct probe* probe, __u64 stack_pointer,
                                     __u64 now_ns) {
    struct function_call_key key;
    if (!find_key(context, probe->place, stack_pointer, &key)) {
        return; /* counted when it began */
    }
    struct function_open_call* const open = bpf_map_lookup_elem(&open_calls, &key);
    const __u64 start_ns = open ? open->start_ns : 0;
    /* Another processor may have dropped it meanwhile. */
    if (!open || bpf_map_delete_elem(&open_calls, &key) != 0) {
        if (!probe->place->branch.is_computed) {
            COUNT(probe->counts->unmatched, 1);
        }
        return;
    }
    const __u64 duration_ns = now_ns - start_ns;
    COUNT(probe->counts->returned, 1);
    if (probe->place->kind == FUNCTION_EXIT && !probe->place->branch.is_return) {
        COUNT(probe->counts->jumped, 1);
    }
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
        end_call(context, &probe, context->sp - RETURN_ADDRESS_BYTES, now_ns);
    }
    return 0;
}

/* At the instruction: the stack is as it was when the function began. */
SEC("kprobe")
int on_exit(struct pt_regs* context) {
    const __u64 now_ns = bpf_ktime_get_ns();
    struct probe probe;
    if (find_probe(context, &probe) && is_taken(context, probe.place->branch.condition) &&
        !(probe.place->branch.is_computed && stays_inside(context, probe.place))) {
        end_call(context, &probe, context->sp, now_ns);
    }
    return 0;
}

/* A loop to the first instruction, or Go's: it enters a function again once the stack has grown. */
SEC("kprobe")
int on_again(struct pt_regs* context) {
    struct probe probe;
    struct function_call_key key;
    if (find_probe(context, &probe) && is_taken(context, probe.place->branch.condition) &&
        find_key(context, probe.place, context->sp, &key)) {
        struct function_open_call* const open = bpf_map_lookup_elem(&open_calls, &key);
        if (open) {
            open->begins_again = 1;
        }
    }
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

/* The number of a process that has ended is another one's soon. Probes of one process stand in the memory of its first
 * thread: the kernel removes them where that ends alone, or another thread calls exec(), which ends all others.
 */
SEC("tp_btf/sched_process_exit")
int on_process_exit(__u64* context) {
    const __u32 zero = 0;
    struct function_state* const state = bpf_map_lookup_elem(&session, &zero);
    const struct task_struct* const task = (const struct task_struct*)context[0];
    const __u32 pid = task->tgid;
    if (task->signal->live.counter == 0) { /* its last thread */
        bpf_map_delete_elem(&targets, &pid);
    } else if (state && state->is_enabled && !state->follows && task->pid == task->tgid &&
               !(task->signal->flags & SIGNAL_GROUP_EXIT) && bpf_map_lookup_elem(&targets, &pid)) {
        COUNT(state->unprobed, 1);
    }
    return 0;
}

char LICENSE[] SEC("license") = "GPL";
