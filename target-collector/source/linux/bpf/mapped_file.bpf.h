// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Finds the file that the running process has mapped at an address, in the kernel's own data: for processes whose
 * mappings the collector hasn't published, such as those that have just begun.
 *
 * The mappings of a process are in a tree (maple tree, Linux 6.1). Here it is read without a lock, so what it leads to
 * is used only if it is a mapping of this process that holds the address. Earlier kernels have no such tree: then
 * nothing is found.
 */
#pragma once

#include "target-collector/source/linux/bpf/linux_types.bpf.h"

#include "target-collector/source/linux/bpf/search.bpf.h"
#include "target-collector/source/linux/bpf/unwind_layout.h"

struct maple_tree {
    void* ma_root;
} __attribute__((preserve_access_index));

struct mm_struct {
    unsigned long start_code;
    struct maple_tree mm_mt;
} __attribute__((preserve_access_index));

struct mapped_place {
    __u64 start, size;
    __u64 page; /* of the file, at `start` */
    struct unwind_file file;
    __u64 shown_inode; /* another one by which its mappings are known; 0: none */
};

#if defined(__bpf__)
#include <bpf/bpf_core_read.h>

#define MAPPING_IS_CODE 4         /* VM_EXEC */
#define MAY_BE_BENEATH (3u << 24) /* FMODE_BACKING: bit 25 from Linux 6.5 on, bit 24 since 6.14 */
#define TREE_NODE_WORDS 32
#define TREE_LEVELS_MAX 6
#define TREE_STEPS_MAX 4
#define TREE_PIVOTS_MAX 15
/* Of struct maple_range_64 and maple_arange_64, in words: the pivots begin at 1, the slots behind them. */
#define TREE_LEAF 1
#define TREE_RANGE_WITH_GAPS 3
#define TREE_PIVOTS_WITH_GAPS 9
#define TREE_END_AT 31 /* its lowest byte is the index of the last slot in use, if the last pivot isn't in use */
#define TREE_END_WITH_GAPS_AT 30

struct super_block {
    __u32 s_dev;
} __attribute__((preserve_access_index));

struct timespec64 {
    __s64 tv_sec;
    long tv_nsec;
} __attribute__((preserve_access_index));

struct inode {
    struct super_block* i_sb;
    unsigned long i_ino;
    __u32 i_generation;
    struct timespec64 i_mtime;
} __attribute__((preserve_access_index));

/* The same time in Linux 6.6, and in 6.11. */
struct inode___renamed {
    struct timespec64 __i_mtime;
} __attribute__((preserve_access_index));
struct inode___split {
    __s64 i_mtime_sec;
    __u32 i_mtime_nsec;
} __attribute__((preserve_access_index));

struct file {
    __u32 f_mode;
    struct inode* f_inode;
} __attribute__((preserve_access_index));

struct dentry {
    struct inode* d_inode;
} __attribute__((preserve_access_index));

struct path {
    struct dentry* dentry;
} __attribute__((preserve_access_index));

struct backing_file {
    struct path user_path;
} __attribute__((preserve_access_index));

struct vm_area_struct {
    unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
    struct mm_struct* vm_mm;
    struct file* vm_file;
} __attribute__((preserve_access_index));

#define READ_KERNEL(into, from) (bpf_probe_read_kernel(&(into), sizeof(into), &(from)) == 0)

static __always_inline int read_modified(const struct inode* inode, __u64* modified_ns) {
    const struct inode___renamed* const renamed = (const void*)inode;
    const struct inode___split* const split = (const void*)inode;
    struct timespec64 time = {};
    __s64 seconds = 0;
    __u32 nanoseconds = 0;
    if (bpf_core_field_exists(split->i_mtime_sec)) {
        if (!READ_KERNEL(seconds, split->i_mtime_sec) || !READ_KERNEL(nanoseconds, split->i_mtime_nsec)) {
            return 0;
        }
    } else if (bpf_core_field_exists(renamed->__i_mtime)) {
        if (!READ_KERNEL(time, renamed->__i_mtime)) {
            return 0;
        }
    } else if (!READ_KERNEL(time, inode->i_mtime)) {
        return 0;
    }
    *modified_ns = (time.tv_sec + seconds) * 1000000000ull + time.tv_nsec + nanoseconds;
    return 1;
}

/* The overlay's inode of a file that a process has mapped through an overlay; 0: there is none. The kernel maps the
 * file beneath, and since Linux 6.17 it reports the overlay's inode in /proc and in records. The bits of the mode don't
 * prove that there is an overlay: an inode that was read wrongly isn't in `files`.
 */
static __always_inline __u64 shown_inode_of(const struct file* file) {
    const struct backing_file* const beneath = (const void*)file;
    __u32 mode = 0;
    const struct dentry* entry = 0;
    const struct inode* inode = 0;
    return bpf_core_field_exists(beneath->user_path) && READ_KERNEL(mode, file->f_mode) &&
                   (mode & MAY_BE_BENEATH) != 0 && READ_KERNEL(entry, beneath->user_path.dentry) &&
                   READ_KERNEL(inode, entry->d_inode)
               ? (__u64)inode
               : 0;
}

/* All but `modified_ns`. */
static __always_inline int read_identity(__u64 at, struct unwind_file* file) {
    const struct inode* const inode = (const void*)at;
    const struct super_block* file_system = 0;
    return READ_KERNEL(file_system, inode->i_sb) && READ_KERNEL(file->device, file_system->s_dev) &&
           READ_KERNEL(file->inode, inode->i_ino) && READ_KERNEL(file->generation, inode->i_generation);
}

struct tree_node {
    __u64 words[TREE_NODE_WORDS];
};
DEFINE_MAP(tree_nodes, BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct tree_node);

/* The slot of a node for the page that ends before `page_end`. 0: it has none. */
__attribute__((noinline)) __u64 slot_in_node(__u64 node, __u64 page_end) {
    const __u32 zero = 0;
    struct tree_node* const read = bpf_map_lookup_elem(&tree_nodes, &zero);
    if (!read || bpf_probe_read_kernel(read, sizeof(*read), (const void*)(node & ~0xffull)) != 0) {
        return 0;
    }
    const int has_gaps = (node >> 3 & 15) == TREE_RANGE_WITH_GAPS;
    const __u32 pivots_max = has_gaps ? TREE_PIVOTS_WITH_GAPS : TREE_PIVOTS_MAX;
    const __u64 end_word = read->words[has_gaps ? TREE_END_WITH_GAPS_AT : TREE_END_AT];
    __u32 count = !has_gaps && read->words[TREE_PIVOTS_MAX] ? TREE_PIVOTS_MAX : end_word & 0xff;
    __u32 index = 0;
    if (count > pivots_max) {
        return 0;
    }
    /* A pivot is the last address of its slot; the search compares signed numbers, so halves. */
    for (int i = 0; i < TREE_STEPS_MAX && count > 0; ++i) {
        search_on((page_end >> 1) - 2, read->words[(1 + index + count / 2) % TREE_NODE_WORDS] >> 1, &index, &count);
    }
    return read->words[(1 + pivots_max + index) % TREE_NODE_WORDS];
}

static __always_inline void* mappings_tree_of(struct mm_struct* mm) {
    return bpf_core_field_exists(mm->mm_mt) ? mm->mm_mt.ma_root : 0;
}

/* 0: there is no code of a file. */
static __always_inline int read_mapped_place(__u64 tree, __u64 mm, __u64 address, struct mapped_place* place) {
    const __u64 page_end = (address | (UNWIND_PAGE_BYTES - 1)) + 1;
    __u64 entry = tree;
    __u32 type = 0;
    for (int level = 0; level < TREE_LEVELS_MAX && entry != 0 && type != TREE_LEAF; ++level) {
        type = entry >> 3 & 15;
        entry = slot_in_node(entry, page_end);
    }
    const struct vm_area_struct* const mapping = (const void*)entry;
    unsigned long start = 0;
    unsigned long end = 0;
    unsigned long flags = 0;
    unsigned long page = 0;
    const struct mm_struct* owner = 0;
    const struct file* file = 0;
    const struct inode* inode = 0;
    if (type != TREE_LEAF || !READ_KERNEL(start, mapping->vm_start) || !READ_KERNEL(end, mapping->vm_end) ||
        address - start >= end - start || !READ_KERNEL(owner, mapping->vm_mm) || (__u64)owner != mm ||
        !READ_KERNEL(flags, mapping->vm_flags) || (flags & MAPPING_IS_CODE) == 0 ||
        !READ_KERNEL(page, mapping->vm_pgoff) || !READ_KERNEL(file, mapping->vm_file) || file == 0 ||
        !READ_KERNEL(inode, file->f_inode)) {
        return 0;
    }
    place->start = start;
    place->size = end - start;
    place->page = page;
    place->shown_inode = shown_inode_of(file);
    return read_identity((__u64)inode, &place->file) && read_modified(inode, &place->file.modified_ns);
}
#else
/* The programs as C, for tests. */
static inline void* mappings_tree_of(struct mm_struct* mm) { return mm->mm_mt.ma_root; }
static inline int read_mapped_place(__u64 tree, __u64 mm, __u64 address, struct mapped_place* place) {
    return tree != 0 && mm != 0 && address != 0 && place == 0;
}
static inline int read_identity(__u64 at, struct unwind_file* file) { return at != 0 && file == 0; }
#endif
