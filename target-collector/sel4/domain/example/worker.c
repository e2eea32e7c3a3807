// A child domain that burns time in three functions of known shares: 70, 20 and 10 %.
#include <microkit.h>

#include "own_stack.h"

#define TURNS 2000

uintptr_t stack_address = 1;

static inline __attribute__((always_inline)) void turn(unsigned long turns) {
    for (unsigned long i = 0; i < turns; ++i) {
        __asm__ volatile("nop\n nop\n nop\n nop" ::: "memory");
    }
}

__attribute__((noinline, noclone)) void heavy(void) { turn(14 * TURNS); }
__attribute__((noinline, noclone)) void medium(void) { turn(4 * TURNS); }
__attribute__((noinline, noclone)) void light(void) { turn(2 * TURNS); }

static void work(void) {
    for (;;) {
        heavy();
        medium();
        light();
    }
}

void init(void) { run_on_own_stack(work); }

void notified(microkit_channel channel) { (void)channel; }
