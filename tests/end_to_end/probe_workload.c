// A program with probes, in C11: its words choose what it does, and its log is known beforehand.
//   rules                 seL4's rules; prints how long each pair took by its own clock
//   threads N M           N threads, each with M pairs of "work"
//   fork N                N children, each with a pair; the parent has one
//   exec PROGRAM WORDS    a pair, then another program
//   killed N              N pairs, then SIGKILL to itself
//   flood N               N pairs as fast as possible
//   values                0 to 9 under "queue"
//   overhead N            N nested empty pairs
//   steady MS             prints "ready"; then it and a child have pairs of "work" for so long, one each millisecond
//   slow N                N pairs of "work" that take 1 ms in usual_step(); one of 20 spends 8 ms in rare_step(), too
//   hostile SEED          scribbles over all of the shared memory, then ends
#define _GNU_SOURCE
#include <fcntl.h>
#include <perfleet/probe.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWork, kNever, kRestarted, kOuter, kInner, kLeft, kRight, kQueue, kUnnamed = 63 };
PERFLEET_TRACE_NAME(kWork, "work");
PERFLEET_TRACE_NAME(kNever, "never");
PERFLEET_TRACE_NAME(kRestarted, "restarted");
PERFLEET_TRACE_NAME(kOuter, "outer");
PERFLEET_TRACE_NAME(kInner, "inner");
PERFLEET_TRACE_NAME(kLeft, "left");
PERFLEET_TRACE_NAME(kRight, "right");
PERFLEET_TRACE_VALUE_NAME(kQueue, "queue", "items");

static void spin_us(unsigned us) {
    const uint64_t end = perfleet_probe_now_() + us * 1000U;
    while (perfleet_probe_now_() < end) {
    }
}

__attribute__((noinline)) static void usual_step(void) {
    spin_us(1000);
    __asm__ volatile("");  // no tail call: it stays on the stack
}

__attribute__((noinline)) static void rare_step(void) {
    spin_us(8000);
    __asm__ volatile("");
}

static void do_slow(int pairs) {
    for (int i = 0; i < pairs; ++i) {
        PERFLEET_TRACE_START(kWork);
        usual_step();
        if (i % 20 == 7) {
            rare_step();
        }
        PERFLEET_TRACE_STOP(kWork);
        if (i % 20 == 13) {
            spin_us(500);  // in no operation
        }
    }
}

static void do_work(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        PERFLEET_TRACE_START(kWork);
        PERFLEET_TRACE_STOP(kWork);
    }
}

static void work_steadily(unsigned ms) {
    const uint64_t end_ns = perfleet_probe_now_() + ms * 1000000ULL;
    while (perfleet_probe_now_() < end_ns) {
        do_work(1);
        usleep(1000);
    }
}

static void do_steady(unsigned ms) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work_steadily(ms);
        _exit(0);
    }
    puts("ready");
    fflush(stdout);
    work_steadily(ms);
    waitpid(child, 0, 0);
}

static void do_rules(void) {
    PERFLEET_TRACE_STOP(kNever);  // without a start
    for (int i = 0; i < 2; ++i) {
        PERFLEET_TRACE_START(kNever);  // without a stop
    }
    PERFLEET_TRACE_START(kRestarted);
    spin_us(1000000);  // longer than a busy machine keeps the second span off the processor
    PERFLEET_TRACE_START(kRestarted);
    spin_us(100);
    PERFLEET_TRACE_STOP(kRestarted);
    PERFLEET_TRACE_STOP(kRestarted);
    PERFLEET_TRACE_START(kOuter);
    PERFLEET_TRACE_START(kInner);
    spin_us(2000);
    PERFLEET_TRACE_STOP(kInner);
    spin_us(1000);
    PERFLEET_TRACE_STOP(kOuter);
    PERFLEET_TRACE_START(kLeft);
    spin_us(1000);
    PERFLEET_TRACE_START(kRight);
    spin_us(1000);
    PERFLEET_TRACE_STOP(kLeft);
    spin_us(4000);
    PERFLEET_TRACE_STOP(kRight);
    PERFLEET_TRACE_START(kUnnamed);
    PERFLEET_TRACE_STOP(kUnnamed);
}

static void* work_in_thread(void* count) {
    do_work(*(unsigned*)count);
    return 0;
}

static void do_threads(unsigned thread_count, unsigned count) {
    for (unsigned done = 0; done < thread_count;) {
        pthread_t threads[16];
        unsigned begun = 0;
        while (begun < 16 && done < thread_count) {
            pthread_create(&threads[begun++], 0, work_in_thread, &count);
            ++done;
        }
        while (begun > 0) {
            pthread_join(threads[--begun], 0);
        }
    }
}

static void do_forks(unsigned count) {
    do_work(1);
    for (unsigned i = 0; i < count; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            do_work(1);
            _exit(0);  // without the library's own end
        }
        waitpid(child, 0, 0);
    }
}

static void scribble(unsigned seed) {
    do_work(10);
    const int file = open(getenv(PERFLEET_PROBE_ENVIRONMENT), O_RDWR);
    uint64_t* const words = mmap(0, PERFLEET_PROBE_AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || words == MAP_FAILED || ftruncate(file, 0) == 0) {
        abort();
    }
    srandom(seed);
    const size_t head_words = sizeof(struct perfleet_probe_area) / 8;
    const size_t slot_words = sizeof(struct perfleet_probe_slot) / 8;
    const uint64_t end_ns = perfleet_probe_now_() + 600000000U;
    while (perfleet_probe_now_() < end_ns) {
        for (int i = 0; i < 1000; ++i) {
            const size_t slot = head_words + ((size_t)random() % 4) * slot_words;
            const size_t at = random() % 2 ? (size_t)random() % head_words : slot + (size_t)random() % slot_words;
            const uint64_t value = random() % 3 ? (uint64_t)random() % 20000 : (uint64_t)random() << (random() % 40);
            __atomic_store_n(&words[random() % 4 ? at : slot + (size_t)random() % 80], value, __ATOMIC_RELAXED);
        }
    }
}

int main(int count, char** words) {
    const char* const what = count > 1 ? words[1] : "";
    const unsigned number = count > 2 ? (unsigned)atoi(words[2]) : 1;
    if (strcmp(what, "rules") == 0) {
        do_rules();
    } else if (strcmp(what, "threads") == 0) {
        do_threads(number, count > 3 ? (unsigned)atoi(words[3]) : 1);
    } else if (strcmp(what, "fork") == 0) {
        do_forks(number);
    } else if (strcmp(what, "exec") == 0) {
        do_work(1);
        execv(words[2], words + 2);
        return 1;
    } else if (strcmp(what, "killed") == 0) {
        do_work(number);
        kill(getpid(), SIGKILL);
    } else if (strcmp(what, "flood") == 0) {
        do_work(number);
    } else if (strcmp(what, "values") == 0) {
        for (unsigned i = 0; i < 10; ++i) {
            PERFLEET_TRACE_VALUE(kQueue, i);
        }
    } else if (strcmp(what, "overhead") == 0) {
        perfleet_trace_log_overhead(kInner, kOuter, number);
    } else if (strcmp(what, "steady") == 0) {
        do_steady(number);
    } else if (strcmp(what, "slow") == 0) {
        do_slow((int)number);
    } else if (strcmp(what, "hostile") == 0) {
        scribble(number);
    } else {
        fprintf(stderr, "probe_workload: what?\n");
        return 2;
    }
    return 0;
}
