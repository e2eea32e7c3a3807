// A child domain that runs forever on a stack that the collector can read: a memory region that the system description
// maps into both at the same address. Microkit's own stacks are mapped in their domain only.
#pragma once

#include <stdint.h>

extern uintptr_t stack_address;  // by `setvar_vaddr`
#define STACK_SIZE_BYTES 0x4000

static inline _Noreturn void run_on_own_stack(void (*entry)(void)) {
    // The first frame record has no caller.
    __asm__ volatile(
        "mov sp, %0\n"
        "mov x29, xzr\n"
        "mov x30, xzr\n"
        "br %1\n" ::"r"(stack_address + STACK_SIZE_BYTES),
        "r"(entry));
    __builtin_unreachable();
}
