// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The walk along a user's stack by the tables that the collector has put into maps, for BPF programs of this folder.
 * Each of them has maps and a walk of its own by that; the collector lets them share the maps.
 *
 * Everything of the program whose stack it is is untrusted. The rules are those of unwind/unwind_step.cpp.
 */
#pragma once

#include "target-collector/source/linux/bpf/linux_types.bpf.h"

#include "target-collector/process/python_layout.h"
#include "target-collector/source/linux/bpf/mapped_file.bpf.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

struct thread_struct {
    unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct {
    struct mm_struct* mm;
    struct thread_struct thread;
    int pid;
    int tgid;
    unsigned int __state;
    unsigned int flags;
    struct signal_struct* signal;
} __attribute__((preserve_access_index));

struct pt_regs {
#if defined(__TARGET_ARCH_arm64)
    unsigned long long regs[31];
    unsigned long long sp;
    unsigned long long pc;
    unsigned long long pstate;
#else
    unsigned long bp;
    unsigned long bx;
    unsigned long ip;
    unsigned long sp;
#endif
} __attribute__((preserve_access_index));
#if defined(__TARGET_ARCH_arm64)
#define ADDRESS_MASK ((1ull << 48) - 1)
#else
#define ADDRESS_MASK (~0ull)
#endif

/* enum CfaBase, SavedAt, UnwindEnd: tested to be the same. */
enum { CFA_NONE, CFA_OUTERMOST, CFA_SP, CFA_FP, CFA_AT_SP, CFA_AT_FP, CFA_STUB, CFA_RBX };
enum { SAVED_SAME, SAVED_CFA, SAVED_SP, SAVED_FP, SAVED_UNKNOWN };
#define BX_UNKNOWN 1     /* no place of a word */
#define BY_FILES (~0ull) /* the generation of rules that hold for a place in a file, whatever process has mapped it */
enum { END_OUTERMOST, END_NO_TABLE, END_BAD_ADDRESS, END_DEPTH, END_COPY };

const volatile struct unwind_constants constants = {};

struct walk {
    __u64 pc, sp, fp, lr;
    __u64 bx, bx_at; /* read where a rule needs it: of a caller it lies on the stack; 0: it is still in the register */
    /* the mapping at hand */
    __u64 start, size, file_offset;
    __u32 slot;
    __u32 first_mapping, mapping_count;
    __u64 generation;          /* of the list of mappings, or BY_FILES */
    __u64 tree, mm;            /* of the process's mappings in the kernel, and whose it is; without a list */
    struct mapped_place found; /* there */
    __u32 tables_epoch, clock;
    __u32 return_offset;       /* 1 where pc is a return address: it belongs to what is before it */
    __u32 is_by_frame_pointer; /* the step that found pc */
    __u32 count;               /* frames */
    __u32 word_count;
    __u64 python_cframe; /* lies in the stack of the next C frame that interprets Python; 0: there is none */
    __u64 python_frame;  /* the next frame that the C frame at hand interprets; 0: none */
    __u64 window_at;     /* where in the stack `window` was read, and how much of it */
    __u64 window_size;
    __u64 window[UNWIND_WINDOW_BYTES / 8];
    struct off_cpu_head head; /* off_cpu.bpf.c alone */
    struct unwind_sample sample;
};

DEFINE_MAP_WITH(processes, BPF_F_NO_PREALLOC, BPF_MAP_TYPE_HASH, UNWIND_PROCESSES_MAX, __u32, struct unwind_process);

DEFINE_MAPPED_ARRAY(mappings, UNWIND_MAPPINGS_MAX, struct unwind_mapping);

DEFINE_MAP_WITH(files, BPF_F_NO_PREALLOC, BPF_MAP_TYPE_HASH, UNWIND_FILES_MAX, struct unwind_file, __u32);

DEFINE_MAPPED_ARRAY(tables, UNWIND_TABLES_MAX, struct unwind_table);

DEFINE_MAPPED_ARRAY(state, 1, struct unwind_state);

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, UNWIND_SLABS_MAX);
    __type(key, __u32);
    __array(
        values, struct {
            __uint(type, BPF_MAP_TYPE_ARRAY);
            __uint(map_flags, BPF_F_MMAPABLE);
            __uint(max_entries, 1);
            __uint(key_size, sizeof(__u32));
            __uint(value_size, UNWIND_SLAB_BYTES);
        });
} slabs SEC(".maps");

DEFINE_MAP(outputs, BPF_MAP_TYPE_PERF_EVENT_ARRAY, UNWIND_OUTPUTS_MAX, __u32, __u32);

DEFINE_MAP(walks, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct walk);

/* Of each object, as its walks: no two of its programs run on one CPU at a time. */
DEFINE_MAP(known_rules, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct unwind_known_rules);

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, UNWIND_CODES_BYTES);
} codes SEC(".maps");

/* Which code objects are in `codes`, or were: a hash of each at its place. */
DEFINE_MAP(codes_seen, BPF_MAP_TYPE_ARRAY, UNWIND_CODES_SEEN_MAX, __u32, __u64);

DEFINE_MAP(codes_at_hand, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct unwind_code);

/* Process and thread as the collector knows them; 0: it doesn't, for they are in another PID namespace. */
static __always_inline __u64 current_ids(void) {
    struct bpf_pidns_info ids = {};
    if (constants.namespace_inode == 0) {
        return bpf_get_current_pid_tgid();
    }
    if (bpf_get_ns_current_pid_tgid(constants.namespace_device, constants.namespace_inode, &ids, sizeof(ids)) != 0) {
        return 0;
    }
    return (__u64)ids.tgid << 32 | ids.pid;
}

/* The slab that holds this place of the arena; 0: there is none. */
static __always_inline char* slab_of(__u32 at) {
    const __u32 slab_index = at >> UNWIND_SLAB_SHIFT;
    void* const slab = bpf_map_lookup_elem(&slabs, &slab_index);
    if (!slab) {
        return 0;
    }
    const __u32 zero = 0;
    return bpf_map_lookup_elem(slab, &zero);
}

/* `size` bytes of the arena, which don't lie across slabs: `at` is a multiple of it. */
static __always_inline void* arena(__u32 at, __u32 size) {
    char* const bytes = slab_of(at);
    return bytes ? bytes + (at & (UNWIND_SLAB_BYTES - size)) : 0;
}

static __always_inline __u32 arena_word(__u32 at) {
    const __u32* const word = arena(at, sizeof(*word));
    return word ? *word : 0;
}

static __always_inline __u32 slab_word(const char* slab, __u32 at) {
    return *(const __u32*)(slab + (at & (UNWIND_SLAB_BYTES - sizeof(__u32))));
}

/* Searches are functions of their own for the verifier: it goes through them once. */

/* The first row whose place is greater than `offset`, of `count` from `row` on, which lie across slabs. */
__attribute__((noinline)) __u32 find_row_across(__u32 places_at, __u32 row, __u32 count, __u32 offset) {
    for (int i = 0; i < UNWIND_BLOCK_STEPS_MAX && count > 0; ++i) {
        search_on(offset, arena_word(places_at + (row + count / 2) * 4), &row, &count);
    }
    return row;
}

/* The same of rows in one slab: looking it up takes longer than a step. */
__attribute__((noinline)) __u32 find_row(__u32 places_at, __u32 row, __u32 count, __u32 offset) {
    const char* const slab = slab_of(places_at + row * 4);
    for (int i = 0; slab && i < UNWIND_BLOCK_STEPS_MAX && count > 0; ++i) {
        search_on(offset, slab_word(slab, places_at + (row + count / 2) * 4), &row, &count);
    }
    return row;
}

/* Where in the arena the rule is; 0: the table says nothing of this place. */
__attribute__((noinline)) __u32 find_rule(__u32 slot, __u32 offset) {
    const struct unwind_table* const table = bpf_map_lookup_elem(&tables, &slot);
    if (!table) {
        return 0;
    }
    const __u32 block = (offset >> UNWIND_BLOCK_SHIFT) - table->first_block;
    if (block >= table->block_count) {
        return 0;
    }
    __u32 row = arena_word(table->index_at + block * 4);
    const __u32 count = arena_word(table->index_at + block * 4 + 4) - row;
    const __u32 places_at = table->places_at;
    const __u32 first_at = places_at + row * 4;
    const int is_across = (first_at ^ (first_at + count * 4)) >> UNWIND_SLAB_SHIFT != 0;
    row = is_across ? find_row_across(places_at, row, count, offset) : find_row(places_at, row, count, offset);
    if (row == 0) {
        return 0;
    }
    const __u16* const rule = arena(table->rules_at + (row - 1) * 2, sizeof(*rule));
    return rule ? table->rule_words_at + *rule * sizeof(struct unwind_rule_words) : 0;
}

/* Makes the mapping that holds `address` the walk's. 0: there is none. */
__attribute__((noinline)) int find_mapping(__u64 address) {
    const __u32 zero = 0;
    struct walk* const walk = bpf_map_lookup_elem(&walks, &zero);
    if (!walk) {
        return 0;
    }
    __u32 place = walk->first_mapping;
    __u32 count = walk->mapping_count;
    for (int i = 0; i < UNWIND_MAPPING_STEPS_MAX && count > 0; ++i) {
        const __u32 middle = place + count / 2;
        const struct unwind_mapping* const mapping = bpf_map_lookup_elem(&mappings, &middle);
        search_on(address, mapping ? mapping->start : 0, &place, &count);
    }
    --place;
    const struct unwind_mapping* const mapping = bpf_map_lookup_elem(&mappings, &place);
    if (!mapping || place - walk->first_mapping >= walk->mapping_count ||
        address - mapping->start >= mapping->end - mapping->start) {
        return 0;
    }
    walk->start = mapping->start;
    walk->size = mapping->end - mapping->start;
    walk->file_offset = mapping->file_offset;
    walk->slot = mapping->slot;
    return 1;
}

/* The same by the kernel's data, if it is code of a file whose table's slot is known. */
__attribute__((noinline)) int find_mapped_file(__u64 address) {
    const __u32 zero = 0;
    struct walk* const walk = bpf_map_lookup_elem(&walks, &zero);
    if (!walk || !read_mapped_place(walk->tree, walk->mm, address, &walk->found)) {
        return 0;
    }
    const __u32* slot = bpf_map_lookup_elem(&files, &walk->found.file);
    if (!slot && walk->found.shown_inode && read_identity(walk->found.shown_inode, &walk->found.file)) {
        slot = bpf_map_lookup_elem(&files, &walk->found.file);
    }
    if (!slot) {
        return 0;
    }
    walk->start = walk->found.start;
    walk->size = walk->found.size;
    walk->file_offset = walk->found.page << (constants.page_shift & 63);
    walk->slot = *slot;
    return 1;
}

static __always_inline int is_mapped(const struct walk* walk, __u64 address) {
    return address - walk->start < walk->size || (walk->tree ? find_mapped_file(address) : find_mapping(address));
}

static __always_inline int read_word(__u64 at, __u64* value) {
    return (at & 7) == 0 && bpf_probe_read_user(value, sizeof(*value), (const void*)at) == 0;
}

/* A word of the stack. A read takes as long as copying a few lines: those that follow within the page come with it. */
static __always_inline int read_stack(struct walk* walk, __u64 at, __u64* value) {
    __u64 offset = at - walk->window_at;
    if ((at & 7) != 0) {
        return 0;
    }
    if (offset >= walk->window_size) {
        const __u64 in_page = UNWIND_PAGE_BYTES - (at & (UNWIND_PAGE_BYTES - 1));
        const __u64 size = in_page < UNWIND_WINDOW_BYTES ? in_page : UNWIND_WINDOW_BYTES;
        walk->window_size = 0;
        if (bpf_probe_read_user(walk->window, size, (const void*)at) != 0) {
            return 0;
        }
        walk->window_at = at;
        walk->window_size = size;
        offset = 0;
    }
    *value = walk->window[offset / 8 & (UNWIND_WINDOW_BYTES / 8 - 1)];
    return 1;
}

/* -1: it can't be read. */
static __always_inline int saved(unsigned char place, int offset, __u64 cfa, struct walk* walk, __u64 same,
                                 __u64* value) {
    if (place == SAVED_SAME) {
        *value = same;
        return 0;
    }
    const __u64 base = place == SAVED_CFA ? cfa : place == SAVED_SP ? walk->sp : walk->fp;
    return read_stack(walk, base + (__s64)offset, value) ? 0 : -1;
}

/* The caller's registers; else why there is none. */
static __always_inline int step_by_rule(struct walk* walk, const struct unwind_rule_words* rule) {
    const unsigned char base = rule->cfa_base;
    __u64 cfa = 0;
    if (base == CFA_OUTERMOST) {
        return END_OUTERMOST;
    }
    if (base == CFA_STUB) {
        cfa = walk->sp + 8 + ((walk->pc & 15) >= (__u64)rule->cfa_offset ? 8 : 0);
    } else if (base == CFA_RBX) {
        cfa = walk->bx;
        if (walk->bx_at && !read_stack(walk, walk->bx_at, &cfa)) {
            return END_BAD_ADDRESS;
        }
        cfa += (__s64)rule->cfa_offset;
    } else {
        cfa = (base == CFA_SP || base == CFA_AT_SP ? walk->sp : walk->fp) + (__s64)rule->cfa_offset;
        if (base == CFA_AT_SP || base == CFA_AT_FP) {
            if (!read_stack(walk, cfa, &cfa)) {
                return END_BAD_ADDRESS;
            }
            cfa += (__s64)rule->cfa_addend;
        }
    }
    __u64 pc = 0;
    __u64 fp = 0;
    /* The frame pointer lies below the return address, and is read first. */
    if (saved(rule->frame_pointer, rule->frame_pointer_offset, cfa, walk, walk->fp, &fp) ||
        saved(rule->return_address, rule->return_address_offset, cfa, walk, walk->lr, &pc)) {
        return END_BAD_ADDRESS;
    }
    pc &= ADDRESS_MASK;
    const int is_signal_frame = rule->is_signal_frame;
    const int moves_on =
        cfa > walk->sp || is_signal_frame || (cfa == walk->sp && rule->return_address == SAVED_SAME && pc != walk->pc);
    if (!moves_on || (cfa & 7) != 0) {
        return END_BAD_ADDRESS;
    }
    if (pc == 0) {
        return END_OUTERMOST;
    }
    if (rule->rbx != SAVED_SAME) {
        const __u64 from = rule->rbx == SAVED_CFA ? cfa : rule->rbx == SAVED_SP ? walk->sp : walk->fp;
        walk->bx_at = rule->rbx == SAVED_UNKNOWN ? BX_UNKNOWN : from + (__s64)rule->rbx_offset;
    }
    walk->pc = pc;
    walk->lr = pc;
    walk->sp = cfa;
    walk->fp = fp;
    walk->return_offset = is_signal_frame ? 0 : 1;
    walk->is_by_frame_pointer = 0;
    return -1;
}

#if !defined(__TARGET_ARCH_arm64)
/* Whether the instruction that ends at `pc` is a call: E8, or FF with 2 as its operation (Intel's manual, CALL). */
static __always_inline int is_behind_call(__u64 pc) {
    __u64 code = 0; /* the byte before pc is the highest */
    if (bpf_probe_read_user(&code, sizeof(code), (const void*)(pc - 8)) != 0) {
        return 0;
    }
    const __u32 last = code >> 56;
    const __u32 last2 = (code >> 48) & 0xff;
    const __u32 last3 = (code >> 40) & 0xff;
    const __u32 last5 = (code >> 24) & 0xff;
    const __u32 last6 = (code >> 16) & 0xff;
    return last5 == 0xe8 || (last2 == 0xff && ((last & 0xf8) == 0xd0 || (last & 0xf8) == 0x10)) ||
           (last3 == 0xff && (last2 & 0xf8) == 0x50) || (last6 == 0xff && (last5 == 0x15 || (last5 & 0xf8) == 0x90));
}

/* A leaf without a rule that has pushed nothing, as much of musl: its return address is at the top of the stack. */
static __always_inline int step_by_stack_top(struct walk* walk) {
    __u64 pc = 0;
    if (walk->return_offset != 0 || !read_stack(walk, walk->sp, &pc) || !is_behind_call(pc) ||
        !is_mapped(walk, pc - 1)) {
        return 0;
    }
    walk->pc = pc;
    walk->sp += 8;
    walk->return_offset = 1;
    return 1;
}
#else
static __always_inline int step_by_stack_top(__attribute__((unused)) struct walk* walk) { return 0; }
#endif

static __always_inline int step_by_frame_pointer(struct walk* walk) {
    __u64 fp = 0;
    __u64 pc = 0;
    if (walk->fp == 0 && walk->is_by_frame_pointer) {
        return END_OUTERMOST;
    }
    /* Among frames that have pointers another stack may follow, as in Go, whose run time has one of its own. */
    const int is_other_stack = walk->fp < walk->sp;
    const __u32 slot = walk->slot;
    if ((is_other_stack && !walk->is_by_frame_pointer) || !read_stack(walk, walk->fp, &fp) ||
        !read_stack(walk, walk->fp + 8, &pc)) {
        return END_NO_TABLE;
    }
    pc &= ADDRESS_MASK;
    if (pc == 0) {
        return END_OUTERMOST;
    }
    if (!is_mapped(walk, pc - 1)) {
        return END_COPY; /* code that was made since, as by V8 */
    }
    if (is_other_stack && walk->slot != slot) {
        return END_NO_TABLE;
    }
    walk->sp = walk->fp + 16;
    walk->bx_at = BX_UNKNOWN;
    walk->pc = pc;
    walk->lr = pc;
    walk->fp = fp;
    walk->return_offset = 1;
    walk->is_by_frame_pointer = 1;
    return -1;
}

static __always_inline void push(struct walk* walk, __u64 word) {
    walk->sample.words[walk->word_count++ & UNWIND_WORDS_MASK] = word;
}

static __always_inline int read_text(__u64 at, struct unwind_text* text) {
    __u64 length = 0; /* characters */
    if (at == 0 || bpf_probe_read_user(&length, sizeof(length), (const void*)(at + PYTHON_TEXT_LENGTH)) ||
        bpf_probe_read_user(&text->state, sizeof(text->state), (const void*)(at + PYTHON_TEXT_STATE))) {
        return 0;
    }
    const __u64 all = length * PYTHON_TEXT_KIND(text->state);
    const __u64 size = all < UNWIND_TEXT_BYTES ? all : UNWIND_TEXT_BYTES;
    text->size = size;
    const __u64 content = at + (PYTHON_TEXT_IS_ASCII(text->state) ? PYTHON_TEXT_ASCII_CONTENT : PYTHON_TEXT_CONTENT);
    return size <= UNWIND_TEXT_BYTES &&
           bpf_probe_read_user(text->content, size, (const void*)(content + all - size)) == 0;
}

/* Puts a code object into `codes`. 0: not all of it can be read now, or there is no space. */
__attribute__((noinline)) int emit_code(__u64 address) {
    const __u32 zero = 0;
    struct unwind_code* const code = bpf_map_lookup_elem(&codes_at_hand, &zero);
    struct python_code fields;
    __u64 lines = 0;
    __u64 lines_size = 0;
    if (!code || bpf_probe_read_user(&fields, sizeof(fields), (const void*)(address + PYTHON_CODE_FIRST_LINE)) != 0 ||
        !read_text(fields.qualified_name, &code->name) || !read_text(fields.file_name, &code->file_name)) {
        return 0;
    }
    code->address = address;
    code->pid = current_ids() >> 32;
    code->check = python_check(&fields);
    code->first_line = fields.first_line;
    if (bpf_probe_read_user(&lines, sizeof(lines), (const void*)(address + PYTHON_CODE_LINE_TABLE)) != 0 ||
        bpf_probe_read_user(&lines_size, sizeof(lines_size), (const void*)(lines + PYTHON_OBJECT_SIZE)) != 0 ||
        lines_size > UNWIND_LINES_BYTES ||
        bpf_probe_read_user(code->lines, lines_size, (const void*)(lines + PYTHON_BYTES_CONTENT)) != 0) {
        lines_size = 0;
    }
    code->lines_size = lines_size;
    return lines_size <= UNWIND_LINES_BYTES &&
           bpf_ringbuf_output(&codes, code, sizeof(*code) - UNWIND_LINES_BYTES + lines_size, BPF_RB_NO_WAKEUP) == 0;
}

/* Each once, as far as it can be: what is emitted twice is known already. */
static __always_inline void emit_new_code(__u64 address, __u32 check) {
    const __u64 pid = current_ids() >> 32;
    const __u64 hash = ((address >> 4 ^ pid << 44) * 0x9e3779b97f4a7c15ull ^ check) | 1;
    const __u32 place = hash >> 50 & (UNWIND_CODES_SEEN_MAX - 1);
    __u64* const seen = bpf_map_lookup_elem(&codes_seen, &place);
    if (seen && *seen != hash && emit_code(address)) {
        *seen = hash;
    }
}

/* One frame of Python, of those that the C frame at hand interprets. 1: the walk has ended. */
static __always_inline long visit_python_frame(struct walk* walk) {
    struct python_frame frame;
    struct python_code code;
    const __u32 count = walk->count;
    if (count >= UNWIND_DEPTH_MAX) {
        walk->sample.status = END_DEPTH;
        return 1;
    }
    const __u64 at = walk->python_frame;
    walk->python_frame = 0;
    if (bpf_probe_read_user(&frame, sizeof(frame), (const void*)(at + PYTHON_FRAME_CODE)) != 0 ||
        bpf_probe_read_user(&code, sizeof(code), (const void*)(frame.code + PYTHON_CODE_FIRST_LINE)) != 0) {
        return 0;
    }
    const __u64 index = (frame.instruction - frame.code - PYTHON_CODE_INSTRUCTIONS) >> 1;
    push(walk, PYTHON_WORD | (frame.code & (PYTHON_WORD / 2 - 1)));
    const __u32 check = python_check(&code);
    push(walk, index << 32 | check);
    emit_new_code(frame.code, check);
    walk->count = count + 1;
    walk->python_frame = frame.is_entry ? 0 : frame.previous;
    return 0;
}

struct thread_search {
    __u64 thread; /* PyThreadState */
    __u64 id;
    __u64 cframe;
};

static __always_inline __u64 read_or_0(__u64 at) {
    __u64 value = 0;
    return read_word(at, &value) ? value : 0;
}

#if defined(__TARGET_ARCH_arm64)
#define PYTHON_ID PYTHON_THREAD_NATIVE_ID
#else
#define PYTHON_ID PYTHON_THREAD_ID
#endif

static long visit_python_thread(__attribute__((unused)) __u32 index, void* context) {
    struct thread_search* const search = context;
    if (search->thread == 0) {
        return 1;
    }
    if (read_or_0(search->thread + PYTHON_ID) == search->id) {
        search->cframe = read_or_0(search->thread + PYTHON_THREAD_CFRAME);
        return 1;
    }
    search->thread = read_or_0(search->thread + PYTHON_THREAD_NEXT);
    return 0;
}

/* The innermost _PyCFrame of the thread that runs; 0: it has none. */
static __always_inline __u64 python_cframe_of(__u64 runtime, __attribute__((unused)) struct task_struct* task) {
    struct thread_search search = {};
#if defined(__TARGET_ARCH_arm64)
    search.id = (__u32)current_ids();
#else
    search.id = task->thread.fsbase;
#endif
    const __u64 current = read_or_0(runtime + PYTHON_RUNTIME_CURRENT); /* most samples are of the one with the GIL */
    if (current != 0 && read_or_0(current + PYTHON_ID) == search.id) {
        return read_or_0(current + PYTHON_THREAD_CFRAME);
    }
    search.thread = read_or_0(read_or_0(runtime + PYTHON_RUNTIME_MAIN) + PYTHON_INTERPRETER_THREADS);
    bpf_loop(PYTHON_THREADS_MAX, visit_python_thread, &search, 0);
    return search.cframe;
}

struct visit {
    struct walk* walk;
    struct unwind_known_rules* known_rules;
};

/* Makes the rule of this place a known one. 0: there is none; -1: the table isn't there yet. */
static __always_inline int learn_rule(struct unwind_known_rule* known, const struct walk* walk, __u64 place,
                                      __u64 key) {
    const __u32 slot = walk->slot;
    struct unwind_table* const table = bpf_map_lookup_elem(&tables, &slot);
    if (!table || table->state == UNWIND_TABLE_WANTED) {
        return -1;
    }
    if (table->state != UNWIND_TABLE_READY) {
        return 0;
    }
    if (table->used != walk->clock) {
        table->used = walk->clock;
    }
    const __u32 rule_at = find_rule(slot, place - walk->start + walk->file_offset);
    const struct unwind_rule_words* const rule = rule_at ? arena(rule_at, sizeof(*rule)) : 0;
    if (!rule || rule->cfa_base == CFA_NONE) {
        return 0;
    }
    known->address = key;
    known->generation = walk->generation;
    known->tables_epoch = walk->tables_epoch;
    known->slot = slot;
    known->used = walk->clock;
    known->rule = *rule;
    return 1;
}

/* A table whose rules are known is in use, too. */
static __always_inline void note_use(struct unwind_known_rule* known, __u32 clock) {
    if (known->used != clock) {
        const __u32 slot = known->slot;
        struct unwind_table* const table = bpf_map_lookup_elem(&tables, &slot);
        known->used = clock;
        if (table) {
            table->used = clock;
        }
    }
}

/* One frame. 1: the walk has ended. */
static long visit_frame(__attribute__((unused)) __u32 index, void* context) {
    const struct visit* const visit = context;
    struct walk* const walk = visit->walk;
    if (walk->python_frame) {
        return visit_python_frame(walk);
    }
    const __u64 place = walk->pc - walk->return_offset;
    const __u64 sp = walk->sp;
    if (walk->tree && !is_mapped(walk, place)) {
        walk->sample.status = END_COPY;
        return 1;
    }
    const __u64 key = walk->tree ? (__u64)walk->slot << 48 | (place - walk->start + walk->file_offset) : place;
    const __u64 hash = key * 0x9e3779b97f4a7c15ull;
    struct unwind_known_rule* const known = &visit->known_rules->at[hash >> 32 & (UNWIND_KNOWN_RULES_MAX - 1)];
    int has_rule =
        known->address == key && known->generation == walk->generation && known->tables_epoch == walk->tables_epoch;
    if (!has_rule && !is_mapped(walk, place)) {
        walk->sample.status = END_COPY; /* the collector may know more by now */
        return 1;
    }
    const __u32 count = walk->count;
    if (count >= UNWIND_DEPTH_MAX) {
        walk->sample.status = END_DEPTH;
        return 1;
    }
    push(walk, walk->pc);
    walk->count = count + 1;
    if (has_rule) {
        note_use(known, walk->clock);
    } else {
        has_rule = learn_rule(known, walk, place, key);
        if (has_rule < 0) {
            walk->sample.status = END_COPY;
            return 1;
        }
    }
    const int end = has_rule                  ? step_by_rule(walk, &known->rule)
                    : step_by_stack_top(walk) ? -1
                                              : step_by_frame_pointer(walk);
    if (end >= 0) {
        walk->sample.status = end;
        return 1;
    }
    if (walk->sp > sp && walk->python_cframe - sp < walk->sp - sp) {
        struct python_cframe cframe;
        const void* const at = (const void*)(walk->python_cframe + PYTHON_CFRAME_CURRENT);
        walk->python_cframe = 0;
        if (bpf_probe_read_user(&cframe, sizeof(cframe), at) == 0) {
            walk->python_frame = cframe.current_frame;
            walk->python_cframe = cframe.previous;
        }
    }
    return 0;
}

/* False within execve(), too: the stack that its caller had is gone, and the next program has none yet. */
static __always_inline int has_user_stack(struct mm_struct* mm) { return mm != 0 && mm->start_code != 0; }

/* Where the task was in user space when it entered the kernel. */
static __always_inline void set_out_from_kernel(struct walk* walk, struct task_struct* task) {
    const struct pt_regs* const user = (const struct pt_regs*)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
    walk->pc = user->pc;
    walk->sp = user->sp;
    walk->fp = user->regs[29];
    walk->lr = user->regs[30];
#else
    walk->pc = user->ip;
    walk->sp = user->sp;
    walk->fp = user->bp;
    walk->bx = user->bx;
#endif
}

/* False: what it needs isn't known yet. The walk stands where it begins. */
static __always_inline int unwind(struct walk* walk, struct task_struct* task, struct mm_struct* mm) {
    const __u32 zero = 0;
    const __u32 pid = current_ids() >> 32;
    walk->count = 0;
    walk->word_count = 0;
    const struct unwind_process* const process = bpf_map_lookup_elem(&processes, &pid);
    const struct unwind_state* const now = bpf_map_lookup_elem(&state, &zero);
    if (!now) {
        return 0;
    }
    struct visit visit = {walk, bpf_map_lookup_elem(&known_rules, &zero)};
    if (!visit.known_rules) {
        return 0;
    }
    walk->tables_epoch = *(volatile const __u32*)&now->tables_epoch;
    walk->clock = now->clock;
    const __u64 start_code = mm->start_code;
    walk->python_cframe = 0;
    if (process && start_code >= process->code_start && start_code < process->code_end) {
        walk->tree = 0;
        walk->generation = process->generation;
        walk->first_mapping = process->first_mapping;
        walk->mapping_count = process->mapping_count;
        walk->python_cframe = process->python_runtime ? python_cframe_of(process->python_runtime, task) : 0;
    } else {
        walk->tree = (__u64)mappings_tree_of(mm);
        walk->mm = (__u64)mm;
        walk->generation = BY_FILES;
        if (!walk->tree) {
            return 0;
        }
    }
    walk->size = 0;
    walk->window_size = 0;
    walk->bx_at = 0;
    walk->return_offset = 0;
    walk->is_by_frame_pointer = 0;
    walk->python_frame = 0;
    walk->sample.status = END_DEPTH;
    bpf_loop(UNWIND_DEPTH_MAX + 1, visit_frame, &visit, 0);
    const struct unwind_process* const after = walk->tree ? 0 : bpf_map_lookup_elem(&processes, &pid);
    return walk->sample.status != END_COPY && (walk->tree || (after && after->generation == walk->generation)) &&
           *(volatile const __u32*)&now->tables_epoch == walk->tables_epoch;
}
