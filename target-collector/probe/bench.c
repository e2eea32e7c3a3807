// Runs a benchmark's loops: warm-up, threads that begin together, and the result.
#define _GNU_SOURCE
#include "target-collector/probe/perfleet/bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBenchmarksMax = 256, kThreadsMax = PERFLEET_PROBE_SLOTS };

static struct perfleet_benchmark* benchmarks[kBenchmarksMax];
static unsigned benchmark_count = 0;

struct parameters {
    char name[64];
    int is_circle;
    uint64_t loops;
    uint64_t warmup;
    uint64_t seed;
    uint64_t initial;
    uint64_t delta;
    uint64_t groups;
    uint64_t tests;
    unsigned cpus[kThreadsMax];
    unsigned thread_count;
};

struct worker {
    pthread_t thread;
    const struct parameters* parameters;
    const struct perfleet_benchmark* benchmark;
    unsigned* ready_count;  // shared by all
    unsigned index;
    int error;
    const char* why;
    struct perfleet_probe_slot* own_slot;  // without a collector
    uint64_t sum_ns;
};

void perfleet_bench_add_(struct perfleet_benchmark* benchmark) {
    if (benchmark_count < kBenchmarksMax) {
        benchmarks[benchmark_count++] = benchmark;
    }
}

void perfleet_bench_wait_for_room_(struct perfleet_probe_thread* thread) {
    const struct timespec pause = {0, 200000};
    for (;;) {
        thread->tail_seen = __atomic_load_n(&thread->slot->tail, __ATOMIC_ACQUIRE);
        if (thread->head - thread->tail_seen < PERFLEET_PROBE_RING_RECORDS) {
            return;
        }
        nanosleep(&pause, 0);
    }
}

static int fail(struct worker* worker, const char* why) {
    worker->why = why;
    worker->error = 1;
    return 1;
}

// Also of one that failed, so that the others don't wait forever.
static void get_ready(struct worker* worker, struct perfleet_bench_run* run) {
    __atomic_fetch_add(worker->ready_count, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(worker->ready_count, __ATOMIC_ACQUIRE) < worker->parameters->thread_count) {
        if (worker->error == 0) {
            worker->error |= worker->benchmark->circle(run, 1);
        }
    }
}

static void run_circles(struct worker* worker, struct perfleet_bench_run* run) {
    const struct parameters* const parameters = worker->parameters;
    for (uint64_t group = 0; group < parameters->groups; ++group) {
        const uint64_t size = parameters->initial + group * parameters->delta;
        for (uint64_t test = 0; test < parameters->tests; ++test) {
            const uint64_t begin_ns = perfleet_probe_now_();
            worker->error |= worker->benchmark->circle(run, size);
            const uint64_t end_ns = perfleet_probe_now_();
            perfleet_bench_write_(run, end_ns, end_ns - begin_ns,
                                  PERFLEET_BENCH_ID | PERFLEET_PROBE_INFO_ACCUMULATED | size << 16U |
                                      (group + 1) << 36U | (test + 1) << 48U);
        }
    }
}

static void* work(void* pointer) {
    struct worker* const worker = pointer;
    const struct parameters* const parameters = worker->parameters;
    const struct perfleet_benchmark* const benchmark = worker->benchmark;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(parameters->cpus[worker->index], &cpus);
    if (worker->own_slot == 0 && sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {
        fail(worker, "the thread can't be bound to its CPU");
    }
    struct perfleet_probe_thread own = {.slot = worker->own_slot};
    struct perfleet_bench_run run = {.random_state = parameters->seed + worker->index,
                                     .thread_index = worker->index,
                                     .thread_count = parameters->thread_count,
                                     .thread = worker->own_slot != 0 ? &own : perfleet_probe_begin_thread_(0)};
    if (run.thread == 0) {
        fail(worker, "the thread has no ring");
    }
    if (worker->error == 0 && benchmark->set_up != 0 && benchmark->set_up(&run) != 0) {
        fail(worker, run.error != 0 ? run.error : "set-up failed");
    }
    if (worker->error == 0) {
        worker->error |= benchmark->circle(&run, parameters->warmup);
    }
    get_ready(worker, &run);
    const int is_set_up = worker->why == 0;
    if (is_set_up && parameters->is_circle) {
        run_circles(worker, &run);
    } else if (is_set_up) {
        worker->error |= benchmark->each(&run, parameters->loops, PERFLEET_BENCH_ID);
    }
    if (worker->error != 0 && worker->why == 0) {
        worker->why = run.error != 0 ? run.error : "an iteration failed";
    }
    if (is_set_up && benchmark->tear_down != 0) {
        benchmark->tear_down(&run);
    }
    return 0;
}

// The exit status.
static int run_benchmark(const struct perfleet_benchmark* benchmark, const struct parameters* parameters,
                         struct perfleet_probe_slot* own_slot) {
    struct worker* const workers = calloc(parameters->thread_count, sizeof(*workers));
    unsigned ready_count = 0;
    int status = workers == 0 ? PERFLEET_BENCH_EXIT_FAILED : 0;
    unsigned begun = 0;
    for (; status == 0 && begun < parameters->thread_count; ++begun) {
        workers[begun] = (struct worker){.parameters = parameters,
                                         .benchmark = benchmark,
                                         .ready_count = &ready_count,
                                         .index = begun,
                                         .own_slot = own_slot};
        if (pthread_create(&workers[begun].thread, 0, work, &workers[begun]) != 0) {
            fprintf(stderr, "%s: no thread could be made\n", benchmark->name);
            exit(PERFLEET_BENCH_EXIT_FAILED);
        }
    }
    for (unsigned i = 0; i < begun; ++i) {
        pthread_join(workers[i].thread, 0);
        if (workers[i].error != 0) {
            fprintf(stderr, "%s: %s (error %d)\n", benchmark->name, workers[i].why, workers[i].error);
            status = PERFLEET_BENCH_EXIT_FAILED;
        }
    }
    free(workers);
    return status;
}

static const struct perfleet_benchmark* find_benchmark(const char* name) {
    for (unsigned i = 0; i < benchmark_count; ++i) {
        if (strcmp(benchmarks[i]->name, name) == 0) {
            return benchmarks[i];
        }
    }
    return 0;
}

static int read_parameters(const char* text, struct parameters* parameters) {
    char kind[8];
    char cpus[1024];
    unsigned long long numbers[7];
    if (sscanf(text, "%63s %7s %llu %llu %llu %llu %llu %llu %llu %1023s", parameters->name, kind, &numbers[0],
               &numbers[1], &numbers[2], &numbers[3], &numbers[4], &numbers[5], &numbers[6], cpus) != 10) {
        return 0;
    }
    parameters->is_circle = strcmp(kind, "circle") == 0;
    parameters->loops = numbers[0];
    parameters->warmup = numbers[1];
    parameters->seed = numbers[2];
    parameters->initial = numbers[3];
    parameters->delta = numbers[4];
    parameters->groups = numbers[5];
    parameters->tests = numbers[6];
    char* rest = 0;
    for (char* one = strtok_r(cpus, ",", &rest); one != 0 && parameters->thread_count < kThreadsMax;
         one = strtok_r(0, ",", &rest)) {
        parameters->cpus[parameters->thread_count++] = (unsigned)atoi(one);
    }
    return parameters->thread_count > 0;
}

static int compare_ns(const void* left, const void* right) {
    const uint64_t a = *(const uint64_t*)left;
    const uint64_t b = *(const uint64_t*)right;
    return a < b ? -1 : a > b;
}

// Without `perfleet bench`: a first look.
static int show_alone(const struct perfleet_benchmark* benchmark) {
    struct parameters parameters = {.loops = 5000, .warmup = 5000, .seed = 1, .thread_count = 1};
    struct perfleet_probe_slot* const slot = aligned_alloc(4096, sizeof(*slot));
    if (slot == 0) {
        return PERFLEET_BENCH_EXIT_FAILED;
    }
    memset(slot, 0, sizeof(*slot));
    const int status = run_benchmark(benchmark, &parameters, slot);
    const size_t count = slot->head;
    uint64_t* const values_ns = calloc(count + 1, sizeof(*values_ns));
    for (size_t i = 0; values_ns != 0 && i < count; ++i) {
        values_ns[i] = slot->records[i].value;
    }
    if (status == 0 && values_ns != 0 && count > 0) {
        qsort(values_ns, count, sizeof(*values_ns), compare_ns);
        printf("%s: min=%llu 50th=%llu 90th=%llu 99th=%llu max=%llu count=%zu (ns)\n", benchmark->name,
               (unsigned long long)values_ns[0], (unsigned long long)values_ns[count / 2],
               (unsigned long long)values_ns[count * 9 / 10], (unsigned long long)values_ns[count * 99 / 100],
               (unsigned long long)values_ns[count - 1], count);
    }
    free(values_ns);
    free(slot);
    return status;
}

int perfleet_bench_main(int count, char** words) {
    const char* const text = getenv(PERFLEET_BENCH_ENVIRONMENT);
    if (text != 0) {
        struct parameters parameters = {.thread_count = 0};
        const struct perfleet_benchmark* const benchmark =
            read_parameters(text, &parameters) ? find_benchmark(parameters.name) : 0;
        if (benchmark == 0) {
            fprintf(stderr, "%s: no benchmark of this name; the program without words lists them\n", parameters.name);
            return 2;
        }
        return run_benchmark(benchmark, &parameters, 0);
    }
    for (unsigned i = 0; count == 1 && i < benchmark_count; ++i) {
        printf("%s\n", benchmarks[i]->name);
    }
    int status = 0;
    for (int i = 1; i < count; ++i) {
        const struct perfleet_benchmark* const benchmark = find_benchmark(words[i]);
        if (benchmark == 0) {
            fprintf(stderr, "%s: no benchmark of this name; the program without words lists them\n", words[i]);
            return 2;
        }
        status |= show_alone(benchmark);
    }
    return status;
}
