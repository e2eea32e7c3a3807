// Two contexts in turns through one function. Each has two stacks' frames open at a time: a probe that depends on the
// thread's order of calls finds the wrong one. Prints how often it was called, and how long each call took at least.
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

enum { kTurns = 300 };

static ucontext_t main_context;
static ucontext_t contexts[2];
static char stacks[2][64 << 10];
static uint64_t turns;
static uint64_t inside_ns;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) void turn(int own) {
    const uint64_t start_ns = now_ns();
    swapcontext(&contexts[own], &contexts[1 - own]);
    ++turns;
    inside_ns += now_ns() - start_ns;
}

static void run(int own) {
    for (int i = 0; i < kTurns; ++i) {
        turn(own);
    }
}

int main(void) {
    for (int i = 0; i < 2; ++i) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
        contexts[i].uc_link = i == 0 ? &contexts[1] : &main_context; /* the first ends within a turn of the second */
        makecontext(&contexts[i], (void (*)(void))run, 1, i);
    }
    swapcontext(&main_context, &contexts[0]);
    printf("turns=%llu inside_ns=%llu\n", (unsigned long long)turns, (unsigned long long)inside_ns);
    return 5;
}
