/* What the BPF program that times functions and its loader share. C, for both.
 *
 *   places     cookie of a probe ─▶ what it is: where which function begins or ends
 *   counts     function ─▶ its counts, a copy a CPU
 *   targets    process ─▶ followed; empty: all of the machine. What they start is added where `follows` is set
 *   rows       a ring of struct function_row: one for each call, at its end
 */
#pragma once

#define FUNCTION_COUNT_MAX 64
#define FUNCTION_PLACES_MAX 4096
#define FUNCTION_TARGETS_MAX 16384
#define FUNCTION_DEPTH_MAX 128      /* calls of these functions that a thread is within */
#define FUNCTION_TRAMPOLINES_MAX 64 /* of which the kernel follows to their return (MAX_URETPROBE_DEPTH) */
#define FUNCTION_BUCKETS 64
#define FUNCTION_RING_BYTES (16u << 20)

/* The program names them itself: its compiler has no headers of this machine's C library. */
#define FUNCTION_U32 unsigned int
#define FUNCTION_S64 long long
#define FUNCTION_U64 unsigned long long

enum function_place_kind {
    FUNCTION_ENTRY = 0,
    FUNCTION_RETURN = 1,    /* behind the return: the kernel's trampoline */
    FUNCTION_EXIT = 2,      /* at an instruction that ends the call */
    FUNCTION_EXIT_JUMP = 3, /* at a jump to where a register points: ends the call if that is elsewhere */
};

struct function_place {
    FUNCTION_U32 function;
    FUNCTION_U32 kind;
    FUNCTION_U32 jump_register;  /* as the processor numbers them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … */
    FUNCTION_U32 is_begun_again; /* entry: the function jumps back to its first instruction */
    FUNCTION_U32 depth_max;      /* entry */
    FUNCTION_U32 unused;
    FUNCTION_S64 body[2]; /* FUNCTION_EXIT_JUMP: parts of the function, as distances from the jump */
    FUNCTION_U64 body_bytes[2];
};

struct function_counts {
    FUNCTION_U64 entered;
    FUNCTION_U64 returned;       /* have a time */
    FUNCTION_U64 abandoned;      /* left without a return: longjmp, an exception */
    FUNCTION_U64 too_deep;       /* no room in the thread's list */
    FUNCTION_U64 without_memory; /* for the thread's list */
    FUNCTION_U64 unmatched;      /* returns of calls that weren't seen to begin */
    FUNCTION_U64 rows_lost;      /* of `returned`: the ring was full */
    FUNCTION_U64 sum_ns;
    FUNCTION_U64 buckets[FUNCTION_BUCKETS]; /* k: 2^k to 2^(k+1) − 1 ns; the first 0 and 1 */
};

struct function_row {
    FUNCTION_U64 end_ns; /* CLOCK_MONOTONIC */
    FUNCTION_U64 duration_ns;
    FUNCTION_U32 pid;
    FUNCTION_U32 tid;
    FUNCTION_U32 cpu;
    FUNCTION_U32 function;
};

struct function_state { /* in memory that both have */
    FUNCTION_U32 is_enabled;
    FUNCTION_U32 has_rows;
    FUNCTION_U32 own_pid; /* never followed */
    FUNCTION_U32 has_targets;
    FUNCTION_U32 follows; /* what followed processes start, too */
    FUNCTION_U32 unused;
    FUNCTION_U64 forked; /* processes that followed ones have started, and that aren't followed */
};
