// shares_load KIND COUNT AMOUNT: work whose amount the kernel counts, for shares.py. Waits for a line on its standard
// input if `SHARES_WAIT` is set, then prints what it and its children have used since, as its own events count it,
// which don't see the end of a process, and as the scheduler does: "counted_ns=… cpu_ns=… faults=… calls=…".
//
//   loop     COUNT times AMOUNT us of CPU time, with a nap behind each
//   threads  COUNT threads, each AMOUNT us
//   forks    COUNT processes at once, each AMOUNT us
//   short    COUNT processes one after the other, each AMOUNT us
//   execs    likewise, each runs this program anew
//   faults   COUNT times AMOUNT new pages, half of them in a child
//   calls    COUNT times AMOUNT calls of getppid, half of them in a thread
//   prctl    COUNT times AMOUNT new names
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long count;
static long amount;

static long long clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void burn(long us) {
    volatile unsigned long value = 1;
    for (const long long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (long long)us * 1000;
         clock_ns(CLOCK_THREAD_CPUTIME_ID) < end;) {
        for (int i = 0; i < 500; ++i) {
            value = value * 6364136223846793005UL + 1;
        }
    }
}

static void touch(void) {
    for (long i = 0; i < amount; ++i) {
        char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        page[0] = 1;
        munmap(page, 4096);
    }
}

static void call(void) {
    for (long i = 0; i < amount; ++i) {
        syscall(SYS_getppid);
    }
}

static void* burn_in_thread(void* unused) {
    burn(amount);
    return unused;
}

static void* call_in_thread(void* unused) {
    call();
    return unused;
}

static pid_t start(void (*work)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    return child;
}

static void burn_amount(void) { burn(amount); }

static void exec_self(void) {
    char text[32];
    snprintf(text, sizeof(text), "%ld", amount);
    unsetenv("SHARES_WAIT");
    execl("/proc/self/exe", "shares_load", "loop", "1", text, (char*)NULL);
    _exit(1);
}

static void work(const char* kind) {
    pthread_t threads[256];
    const long parallel = count < 256 ? count : 256;
    for (long i = 0; i < count; ++i) {
        if (strcmp(kind, "loop") == 0) {
            burn(amount);
            if (count > 1) {
                usleep(500);
            }
        } else if (strcmp(kind, "short") == 0) {
            waitpid(start(burn_amount), NULL, 0);
        } else if (strcmp(kind, "execs") == 0) {
            waitpid(start(exec_self), NULL, 0);
        } else if (strcmp(kind, "faults") == 0) {
            const pid_t child = i % 2 == 0 ? start(touch) : 0;
            child == 0 ? touch() : (void)waitpid(child, NULL, 0);
        } else if (strcmp(kind, "calls") == 0) {
            if (i % 2 == 0) {
                pthread_create(&threads[0], NULL, call_in_thread, NULL);
                pthread_join(threads[0], NULL);
            } else {
                call();
            }
        } else if (strcmp(kind, "prctl") == 0) {
            for (long k = 0; k < amount; ++k) {
                prctl(PR_SET_NAME, k % 2 == 0 ? "prctl_even" : "prctl_odd");
            }
        }
    }
    if (strcmp(kind, "threads") == 0) {
        for (long i = 0; i < parallel; ++i) {
            pthread_create(&threads[i], NULL, burn_in_thread, NULL);
        }
        for (long i = 0; i < parallel; ++i) {
            pthread_join(threads[i], NULL);
        }
    } else if (strcmp(kind, "forks") == 0) {
        for (long i = 0; i < count; ++i) {
            start(burn_amount);
        }
        while (wait(NULL) > 0) {
        }
    }
}

static long long cpu_ns_of(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (long long)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static int open_counter(unsigned long event) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = event, .inherit = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long long counted_by(int counter) {
    long long count = 0;
    return read(counter, &count, sizeof(count)) == sizeof(count) ? count : -1;
}

int main(int argc, char** argv) {
    if (argc != 4) {
        fprintf(stderr, "shares_load KIND COUNT AMOUNT\n");
        return 2;
    }
    count = atol(argv[2]);
    amount = atol(argv[3]);
    const int is_child_of_itself = strcmp(argv[1], "loop") == 0 && count == 1;
    if (getenv("SHARES_NAME") != NULL) {
        prctl(PR_SET_NAME, getenv("SHARES_NAME"));
    }
    if (getenv("SHARES_WAIT") != NULL) {
        char line[16];
        if (fgets(line, sizeof(line), stdin) == NULL) {
            return 1;
        }
    }
    const int clock = is_child_of_itself ? -1 : open_counter(PERF_COUNT_SW_TASK_CLOCK);
    const int faults = is_child_of_itself ? -1 : open_counter(PERF_COUNT_SW_PAGE_FAULTS);
    const long long before_ns = cpu_ns_of(RUSAGE_SELF);
    work(argv[1]);
    if (!is_child_of_itself) {
        const long long cpu_ns = cpu_ns_of(RUSAGE_SELF) - before_ns + cpu_ns_of(RUSAGE_CHILDREN);
        printf("counted_ns=%lld cpu_ns=%lld faults=%lld calls=%ld\n", counted_by(clock), cpu_ns, counted_by(faults),
               count * amount);
    }
    return 0;
}
