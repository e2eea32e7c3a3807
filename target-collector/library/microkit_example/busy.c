// The profiled load: a child domain with three functions that take 70, 20 and 10 % of its time. Aligned, because QEMU runs
// a loop that lies on two pages more slowly.
#include <microkit.h>

#include "own_stack.h"

uintptr_t stack_address = 1;  // by the system description
static volatile unsigned long sum;

static __attribute__((noinline, aligned(64))) void heavy(void) {
    for (int i = 0; i < 70000; ++i) {
        sum = sum + 1;
    }
}

static __attribute__((noinline, aligned(64))) void medium(void) {
    for (int i = 0; i < 20000; ++i) {
        sum = sum + 1;
    }
}

static __attribute__((noinline, aligned(64))) void light(void) {
    for (int i = 0; i < 10000; ++i) {
        sum = sum + 1;
    }
}

static void work(void) {
    for (;;) {
        heavy();
        medium();
        light();
    }
}

void init(void) { run_on_own_stack(work); }

void notified(microkit_channel channel) { (void)channel; }
