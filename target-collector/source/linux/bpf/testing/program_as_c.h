/* unwind.bpf.c as a function: what the kernel and the collector give it, and what it emits. */
#pragma once

#include "target-collector/source/linux/bpf/unwind_layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct program_range {
    UNWIND_U64 begin, end;
};

struct program_input {
    struct unwind_process process;
    struct unwind_state state;
    const struct unwind_mapping* mappings;
    struct unwind_table* tables;
    unsigned table_count;
    char* const* slabs;
    unsigned slab_count;
    struct program_range readable[2]; /* of memory */
    UNWIND_U64 pc, sp, fp, lr, bx;
    int is_in_kernel; /* the registers are those with which the task entered the kernel */
};

/* The number of words that it emits, with why they end; -1: none, the event emits its own record. One thread. */
int run_unwind_program(const struct program_input* input, struct unwind_sample* sample);

#ifdef __cplusplus
}
#endif
