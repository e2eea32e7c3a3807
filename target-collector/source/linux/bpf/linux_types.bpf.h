// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The parts of linux/types.h and linux/bpf.h that BPF programs of this folder need: those headers include headers of
 * one machine's C library.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum bpf_map_type {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
};
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE (1u << 10)
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_ANY 0
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0
#define ENOSPC 28

struct bpf_pidns_info {
    __u32 pid;
    __u32 tgid;
};

#include <bpf/bpf_helpers.h>

#define DEFINE_MAP_WITH(name, flags, map_type, entries_max, key_type, value_type) \
    struct {                                                                      \
        __uint(type, map_type);                                                   \
        __uint(map_flags, flags);                                                 \
        __uint(max_entries, entries_max);                                         \
        __type(key, key_type);                                                    \
        __type(value, value_type);                                                \
    } name SEC(".maps")
#define DEFINE_MAP(name, ...) DEFINE_MAP_WITH(name, 0, __VA_ARGS__)
/* An array that the collector maps into its memory. */
#define DEFINE_MAPPED_ARRAY(name, entries_max, value_type) \
    DEFINE_MAP_WITH(name, BPF_F_MMAPABLE, BPF_MAP_TYPE_ARRAY, entries_max, __u32, value_type)
