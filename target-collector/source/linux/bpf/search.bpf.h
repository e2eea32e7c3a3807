// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Searches of BPF programs. */
#pragma once

#include "target-collector/source/linux/bpf/linux_types.bpf.h"

/* One step of a search for the first element that is greater than `wanted`, without a branch: the verifier would follow
 * both ways of each step. The elements searched are `count` from `first` on; `at_middle` is that at first + count / 2.
 */
static __always_inline void search_on(__u64 wanted, __u64 at_middle, __u32* first, __u32* count) {
    const __u32 half = *count / 2;
    const __u32 is_greater = (__u32)((__s64)(wanted - at_middle) >> 63);
    *first += (half + 1) & ~is_greater;
    *count = (half & is_greater) | ((*count - half - 1) & ~is_greater);
}
