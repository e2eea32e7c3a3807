/* What unwind.bpf.c takes from libbpf, for a build of it as plain C: maps are variables whose addresses stand for them,
 * helpers are functions of program_as_c.c.
 */
#pragma once

#define SEC(name)
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value)* name
#define __array(name, value) __typeof__(value)* name[]

void* bpf_map_lookup_elem(void* map, const void* key);
long bpf_probe_read_user(void* into, __u32 size, const void* from);
long bpf_loop(__u32 count, long (*visit)(__u32 index, void* context), void* context, __u64 flags);
__u64 bpf_get_current_pid_tgid(void);
long bpf_get_ns_current_pid_tgid(__u64 device, __u64 inode, struct bpf_pidns_info* ids, __u32 size);
void* bpf_get_current_task_btf(void);
void* bpf_task_pt_regs(void* task);
__u32 bpf_get_smp_processor_id(void);
long bpf_ringbuf_output(void* map, void* data, __u64 size, __u64 flags);
long bpf_perf_event_output(void* context, void* map, __u64 flags, const void* data, __u64 size);
