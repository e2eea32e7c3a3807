/* Types shared by the BPF program that times functions and its loader. C, for both.
 *
 *   places      cookie of a probe ─▶ what it is: where which function begins or ends
 *   open_calls  process, function and stack pointer ─▶ when the call began
 *   counts      function ─▶ its counts, a copy a CPU
 *   targets     process ─▶ followed; empty: all of the machine. What they start is added where `follows` is set
 *   rows        a ring of struct function_row: one for each call, at its end
 */
#pragma once

#define FUNCTION_COUNT_MAX 64
#define FUNCTION_PLACES_MAX 4096
#define FUNCTION_TARGETS_MAX 16384
#define FUNCTION_OPEN_CALLS_MAX 65536 /* of all functions, processes and threads */
#define FUNCTION_PARTS_MAX 4
#define FUNCTION_BUCKETS 64
#define FUNCTION_RING_BYTES (16u << 20)

/* The program names them itself: its compiler has no headers of this machine's C library. */
#define FUNCTION_U32 unsigned int
#define FUNCTION_S64 long long
#define FUNCTION_U64 unsigned long long

enum function_place_kind {
    FUNCTION_ENTRY = 0,
    FUNCTION_RETURN = 1, /* behind the return: the kernel's return probe */
    FUNCTION_EXIT = 2,   /* at an instruction that ends the call */
    FUNCTION_AGAIN = 3,  /* at a jump to the function's first instruction: the entry that follows is no call */
};

/* Conditions of jumps: 0 to 15 as x86-64 encodes them (Jcc). */
#define FUNCTION_ALWAYS 16
#define FUNCTION_SOMETIMES 17 /* by registers: not evaluated */

/* Registers are numbered as the processor does: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 …; x0, x1 … */
#define FUNCTION_NO_REGISTER 32
#define FUNCTION_OWN_ADDRESS 33 /* of the jump itself */

/* An instruction that ends a call or begins it again: whether it is taken, and where it leads. */
struct function_branch {
    FUNCTION_U32 is_return;
    FUNCTION_U32 condition;
    FUNCTION_U32 is_computed; /* leads to base + index * scale + displacement; it may stay in the function */
    FUNCTION_U32 is_loaded;   /* that is where the address of the target lies */
    FUNCTION_U32 base;
    FUNCTION_U32 index;
    FUNCTION_U32 scale;
    FUNCTION_U32 unused;
    FUNCTION_S64 displacement;
};

struct function_place {
    FUNCTION_U32 function;
    FUNCTION_U32 kind;
    FUNCTION_U32 has_goroutines; /* calls are of goroutines, whose stacks move, and not of threads */
    FUNCTION_U32 unused;
    struct function_branch branch;          /* FUNCTION_EXIT, FUNCTION_AGAIN */
    FUNCTION_S64 parts[FUNCTION_PARTS_MAX]; /* of the function, as distances from a computed jump */
    FUNCTION_U64 part_bytes[FUNCTION_PARTS_MAX];
};

struct function_call_key {      /* no two calls that are open at a time have the same */
    FUNCTION_U64 stack_pointer; /* where the call began; of goroutines the distance from the stack's upper end */
    FUNCTION_U64 goroutine;
    FUNCTION_U32 pid;
    FUNCTION_U32 function;
};

struct function_open_call {
    FUNCTION_U64 start_ns;
    FUNCTION_U64 begins_again; /* its first instruction comes next, without a call */
};

struct function_counts {
    FUNCTION_U64 entered;
    FUNCTION_U64 returned;       /* have a time */
    FUNCTION_U64 jumped;         /* of `returned`: ended with a jump to another function */
    FUNCTION_U64 abandoned;      /* another call began in their place: longjmp, an exception */
    FUNCTION_U64 without_memory; /* the table of open calls refused them */
    FUNCTION_U64 elsewhere;      /* of a Go function, but not on a goroutine's stack */
    FUNCTION_U64 unmatched;      /* returns of calls that weren't seen to begin, or that the table has dropped */
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
    FUNCTION_U64 forked;   /* processes that followed ones have started, and that aren't followed */
    FUNCTION_U64 unprobed; /* followed processes that go on without the thread that their probes are tied to */
};
