/* Types shared by the BPF program that unwinds and the collector: elements of maps, and emitted records. C, for both.
 *
 *   processes  pid ─▶ a list in `mappings`, sorted by address
 *   mappings   address ─▶ place in its file, slot of its table
 *   files      a file ─▶ slot of its table: for processes without a list
 *   tables     slot ─▶ where the table's parts are in the arena
 *   slabs      the arena: UNWIND_SLAB_BYTES each, addressed by bytes
 *
 *   A table in the arena: u32 index[block_count + 1]   first row of each block of code (1 << UNWIND_BLOCK_SHIFT bytes)
 *                         u32 place[row_count]         offset in the file, ascending
 *                         u16 rule[row_count]
 *                         struct unwind_rule_words of each rule, aligned to its size
 */
#pragma once

#define UNWIND_PROCESSES_MAX (1u << 16)
#define UNWIND_MAPPINGS_MAX (1u << 17)
#define UNWIND_TABLES_MAX (1u << 13)
#define UNWIND_FILES_MAX (1u << 13)
#define UNWIND_SLAB_SHIFT 20
#define UNWIND_SLAB_BYTES (1u << UNWIND_SLAB_SHIFT)
#define UNWIND_SLABS_MAX 64
#define UNWIND_OUTPUTS_MAX 8192 /* CPUs by events */
#define UNWIND_BLOCK_SHIFT 8
#define UNWIND_BLOCK_STEPS_MAX 9         /* a block has at most as many rows as bytes */
#define UNWIND_PROCESS_MAPPINGS_MAX 4096 /* of one process */
#define UNWIND_MAPPING_STEPS_MAX 13
#define UNWIND_DEPTH_MAX 640
#define UNWIND_WORDS_MAX (2 * UNWIND_DEPTH_MAX) /* a frame of an interpreter takes two (python_layout.h) */
#define UNWIND_WORDS_MASK 2047                  /* so that the verifier knows the bounds */
#define UNWIND_PAGE_BYTES 4096                  /* or a part of one */
#define UNWIND_WINDOW_BYTES 512                 /* of the stack, a power of two */
#define UNWIND_KNOWN_RULES_MAX 512              /* of a CPU, a power of two: 32 KiB, as much as the kernel allows */
#define UNWIND_CODES_SEEN_MAX (1u << 14)        /* a power of two */
#define UNWIND_CODES_BYTES (1u << 20)           /* of the ring, a power of two */
#define UNWIND_TEXT_BYTES 256
#define UNWIND_LINES_BYTES 2048
#define OFF_CPU_TARGETS_MAX (1u << 16)
#define OFF_CPU_OUTPUTS_MAX 8192 /* two a CPU */
#define OFF_CPU_NAME_BYTES 16

/* The program names them itself: its compiler has no headers of this machine's C library. */
#define UNWIND_U16 unsigned short
#define UNWIND_U32 unsigned int
#define UNWIND_U64 unsigned long long

/* What is set before a program is loaded. */
struct unwind_constants {
    UNWIND_U32 first_output; /* of the event, in `outputs`; one for each CPU */
    UNWIND_U32 own_pid;
    UNWIND_U32 emits_both; /* for tests: the event's own record follows */
    UNWIND_U32 page_shift;
    UNWIND_U64 namespace_device; /* of the collector's PID namespace, whose ids it knows; both 0: the host's */
    UNWIND_U64 namespace_inode;
};

struct unwind_process {
    UNWIND_U32 first_mapping;
    UNWIND_U32 mapping_count;
    UNWIND_U64 generation; /* another one: the list has changed */
    UNWIND_U64 code_start; /* where its program's code begins: elsewhere, it runs another by now */
    UNWIND_U64 code_end;
    UNWIND_U64 python_runtime; /* where _PyRuntime of a Python 3.11 is; 0: nowhere */
};

/* A file with its content. */
struct unwind_file {
    UNWIND_U64 inode;
    UNWIND_U64 modified_ns; /* UTC */
    UNWIND_U32 device;      /* major << 20 | minor, as in the kernel */
    UNWIND_U32 generation;  /* of the inode, which may be reused */
};

struct unwind_mapping {
    UNWIND_U64 start;
    UNWIND_U64 end;
    UNWIND_U64 file_offset;
    UNWIND_U32 slot;
    UNWIND_U32 unused;
};

enum unwind_table_state {
    UNWIND_TABLE_WANTED = 0, /* not there yet: the stack is copied, for the collector */
    UNWIND_TABLE_READY = 1,
    UNWIND_TABLE_NONE = 2, /* its image has none: frame pointers are followed */
};

struct unwind_table {
    UNWIND_U32 state;
    UNWIND_U32 used; /* the clock when it was used last */
    UNWIND_U32 index_at;
    UNWIND_U32 places_at;
    UNWIND_U32 rules_at;
    UNWIND_U32 rule_words_at;
    UNWIND_U32 first_block;
    UNWIND_U32 block_count;
};

struct unwind_rule_words { /* UnwindRule, unwind/unwind_rule.h */
    unsigned char cfa_base;
    unsigned char return_address;
    unsigned char frame_pointer;
    unsigned char is_signal_frame;
    int cfa_offset;
    int cfa_addend;
    int return_address_offset;
    int frame_pointer_offset;
    int rbx_offset;
    unsigned char rbx;
    unsigned char unused[7];
};

struct unwind_state {
    UNWIND_U32 tables_epoch; /* another one: a table is gone */
    UNWIND_U32 clock;
};

/* A rule that a walk on this CPU has found. It holds for one list of mappings and one epoch of tables. */
struct unwind_known_rule {
    UNWIND_U64 address;
    UNWIND_U64 generation;
    UNWIND_U32 tables_epoch;
    UNWIND_U32 slot;
    UNWIND_U32 used; /* what the table's `used` was set to by it */
    UNWIND_U32 unused;
    struct unwind_rule_words rule;
};

struct unwind_known_rules {
    struct unwind_known_rule at[UNWIND_KNOWN_RULES_MAX];
};

/* A sample, as raw data of a record: the words behind `status` are aligned there. */
struct unwind_sample {
    UNWIND_U32 unused;
    UNWIND_U32 status; /* UnwindEnd, unwind/unwind_step.h */
    UNWIND_U64 period;
    UNWIND_U64 words[UNWIND_WORDS_MASK + 1];
};

/* A str object of Python, with the end of its content. */
struct unwind_text {
    UNWIND_U32 state; /* at PYTHON_TEXT_STATE */
    UNWIND_U32 size;  /* bytes of `content` */
    char content[UNWIND_TEXT_BYTES];
};

/* A code object of Python as it was when its first frame was met, in the ring `codes`: its process may end at once. */
struct unwind_code {
    UNWIND_U64 address;
    UNWIND_U32 pid;
    UNWIND_U32 check; /* python_check() */
    int first_line;
    UNWIND_U32 lines_size; /* bytes of `lines`; 0: there are more than it has space for, or they can't be read */
    struct unwind_text name;
    struct unwind_text file_name;
    char lines[UNWIND_LINES_BYTES];
};

/* What a thread's way back to a CPU adds, before its unwind_sample (off_cpu.bpf.c). Raw data begin behind `unused`. */
struct off_cpu_head {
    UNWIND_U32 unused;
    UNWIND_U32 waker_tid;
    UNWIND_U64 blocked_ns; /* weight of this stack, see off_cpu.bpf.c; 0: no row */
    UNWIND_U64 runnable_ns;
    char waker[OFF_CPU_NAME_BYTES];
};

/* How a session's threads are followed off the CPU: set before the programs are attached. */
struct off_cpu_state {
    UNWIND_U32 is_enabled;
    UNWIND_U32 own_pid; /* never followed */
    UNWIND_U32 is_system_wide;
    UNWIND_U32 by_thread; /* targets are threads, else processes */
    UNWIND_U32 is_inherited;
    UNWIND_U32 cpu_count;      /* outputs of one kind */
    UNWIND_U64 period_ns;      /* about so much time off the CPU has one record */
    UNWIND_U64 missed;         /* times that a thread went off the CPU and there was no memory to note it */
    UNWIND_U64 targets_missed; /* forked processes for which the targets have no space */
};
