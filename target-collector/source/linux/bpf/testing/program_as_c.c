#include "target-collector/source/linux/bpf/testing/program_as_c.h"

#include "target-collector/source/linux/bpf/unwind.bpf.c"

#define PROGRAM_PID 7

static const struct program_input* at_hand;
static struct unwind_sample* emitted;
static int emitted_count;
static struct walk the_walk;
static struct unwind_known_rules the_known_rules;
static struct mm_struct the_mm;
static struct task_struct the_task = {.mm = &the_mm};
static struct pt_regs user_registers;

static void copy(void* into, const void* from, __u64 size) {
    for (__u64 i = 0; i < size; ++i) {
        ((char*)into)[i] = ((const char*)from)[i];
    }
}

void* bpf_map_lookup_elem(void* map, const void* key) {
    const __u32 index = *(const __u32*)key;
    if (map == &walks) {
        return &the_walk;
    }
    if (map == &state) {
        return (void*)&at_hand->state;
    }
    if (map == &known_rules) {
        return &the_known_rules;
    }
    if (map == &processes) {
        return index == PROGRAM_PID ? (void*)&at_hand->process : 0;
    }
    if (map == &mappings) {
        return index < at_hand->process.mapping_count ? (void*)&at_hand->mappings[index] : 0;
    }
    if (map == &tables) {
        return index < at_hand->table_count ? &at_hand->tables[index] : 0;
    }
    if (map == &slabs) {
        return index < at_hand->slab_count ? at_hand->slabs[index] : 0;
    }
    return map == &codes_at_hand || map == &codes_seen ? 0 : map; /* a slab, of one element */
}

long bpf_probe_read_user(void* into, __u32 size, const void* from) {
    const __u64 at = (__u64)from;
    for (int i = 0; i < 2; ++i) {
        if (at >= at_hand->readable[i].begin && at <= at_hand->readable[i].end &&
            size <= at_hand->readable[i].end - at) {
            copy(into, from, size);
            return 0;
        }
    }
    return -1;
}

long bpf_ringbuf_output(__attribute__((unused)) void* map, __attribute__((unused)) void* data,
                        __attribute__((unused)) __u64 size, __attribute__((unused)) __u64 flags) {
    return 0;
}

long bpf_loop(__u32 count, long (*visit)(__u32 index, void* context), void* context, __u64 flags) {
    __u32 i = 0;
    (void)flags;
    while (i < count && visit(i++, context) == 0) {
    }
    return i;
}

__u64 bpf_get_current_pid_tgid(void) { return (__u64)PROGRAM_PID << 32 | PROGRAM_PID; }
long bpf_get_ns_current_pid_tgid(__u64 device, __u64 inode, struct bpf_pidns_info* ids, __u32 size) {
    (void)device;
    (void)inode;
    (void)ids;
    (void)size;
    return -1;
}
void* bpf_get_current_task_btf(void) { return &the_task; }
void* bpf_task_pt_regs(void* task) { return task ? &user_registers : 0; }
__u32 bpf_get_smp_processor_id(void) { return 0; }

long bpf_perf_event_output(void* context, void* map, __u64 flags, const void* data, __u64 size) {
    (void)context;
    (void)map;
    (void)flags;
    copy(&emitted->status, data, size);
    emitted_count = (int)((size - sizeof(emitted->status) - sizeof(emitted->period)) / sizeof(__u64));
    return 0;
}

int run_unwind_program(const struct program_input* input, struct unwind_sample* sample) {
    struct context context = {};
    at_hand = input;
    emitted = sample;
    emitted_count = -1;
    the_mm.start_code = input->process.code_start;
    context.sample_period = 1;
#if defined(__TARGET_ARCH_arm64)
    user_registers.pc = input->pc;
    user_registers.sp = input->sp;
    user_registers.regs[29] = input->fp;
    user_registers.regs[30] = input->lr;
    if (input->is_in_kernel) {
        context.pstate = 5; /* EL1h */
    } else {
        context.pc = input->pc;
        context.sp = input->sp;
        context.regs[29] = input->fp;
        context.regs[30] = input->lr;
    }
#else
    user_registers.ip = input->pc;
    user_registers.sp = input->sp;
    user_registers.bp = input->fp;
    user_registers.bx = input->bx;
    if (input->is_in_kernel) {
        context.cs = 0x10;
    } else {
        context.cs = 0x33;
        context.ip = input->pc;
        context.sp = input->sp;
        context.bp = input->fp;
        context.bx = input->bx;
    }
#endif
    return unwind_sample(&context) == 0 ? emitted_count : -1;
}
