// Preloaded into a program, writes the addresses of the instructions that main() executes, and the program's mappings,
// to the files that STEPS_FILE and MAPPINGS_FILE name. Each instruction traps, in the program itself: fast also on a
// busy machine.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { kStepsMax = 120000, kTrapFlag = 0x100 };

static uint64_t steps[kStepsMax];
static int step_count = 0;
static int (*program_main)(int, char**, char**);

static void on_step(int signal, siginfo_t* info, void* context) {
    (void)signal;
    (void)info;
    greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
    if (step_count < kStepsMax) {
        steps[step_count++] = (uint64_t)registers[REG_RIP];
    } else {
        registers[REG_EFL] &= ~(greg_t)kTrapFlag;
    }
}

static void copy(const char* from, const char* to) {
    static char bytes[4096];
    const int in = open(from, O_RDONLY);
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t size; (size = read(in, bytes, sizeof(bytes))) > 0;) {
        if (write(out, bytes, (size_t)size) != size) {
            abort();
        }
    }
    close(in);
    close(out);
}

static int traced_main(int argc, char** argv, char** environment) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    const int status = program_main(argc, argv, environment);
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    copy("/proc/self/maps", getenv("MAPPINGS_FILE"));
    const int out = open(getenv("STEPS_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(out, steps, (size_t)step_count * sizeof(steps[0])) < 0) {
        abort();
    }
    return status;
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*linker_fini)(void), void* stack_end) {
    int (*const start)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void),
                       void*) = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = main;
    return start(traced_main, argc, argv, init, fini, linker_fini, stack_end);
}
