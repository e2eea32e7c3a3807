// Microbenchmarks in C11 and C++: one header to write them in, `perfleet bench` to run them.
//
//     #include <perfleet/bench.h>                                // link with -lperfleet-probe (perfleet-probe.pc)
//     PERFLEET_BENCHMARK(getpid) { return syscall(SYS_getpid) < 0; }
//     PERFLEET_BENCHMARK_MAIN()
//
//     perfleet bench --loops 100000 ./program getpid
//
// The body is one iteration: the code under test. Its return values are or-ed over all iterations; a result other than
// 0 marks the run as failed. The body is compiled into two loops: one reads the clock around each iteration (each row
// is one latency), the other runs N iterations between two readings (each row is an N-sized accumulated latency, as in
// Kanata Bench). Between the readings only the body runs; rows are written after them.
//
// `run` is the parameter of body, set-up and tear-down. Each CPU has a thread and a run of its own. They start
// together: all of them iterate unmeasured until the last one is ready.
//
// Called by itself, the program lists its benchmarks, or runs the named ones briefly and prints a line for each.
#pragma once

#include <perfleet/probe.h>

#ifdef __cplusplus
extern "C" {
#endif

// State of one thread. Borrowed by the callbacks.
struct perfleet_bench_run {
    void* state;            // set by set_up; null before
    uint64_t random_state;  // of perfleet_bench_random()
    unsigned thread_index;  // from 0; and the number of threads
    unsigned thread_count;
    const char* error;  // why a callback failed; null: no reason given
    struct perfleet_probe_thread* thread;
};

// Pseudorandom numbers, the same in each run with the same seed (a linear congruential generator): input that caches
// and branch predictors can't learn as they learn a sequence.
static inline uint32_t perfleet_bench_random(struct perfleet_bench_run* run) {
    run->random_state = run->random_state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(run->random_state >> 32U);
}

// Prevents the optimiser from removing a value and its computation.
#define PERFLEET_BENCH_KEEP(value) __asm__ volatile("" : : "r,m"(value) : "memory")

struct perfleet_benchmark {
    const char* name;
    int (*set_up)(struct perfleet_bench_run* run);      // null: none. Nonzero: the run has failed
    void (*tear_down)(struct perfleet_bench_run* run);  // null: none
    int (*each)(struct perfleet_bench_run* run, uint64_t count, unsigned id);
    int (*circle)(struct perfleet_bench_run* run, uint64_t count);
    unsigned id;
};

// `set_up` and `tear_down` are defined before the benchmark, and called before the first and after the last iteration.
#define PERFLEET_BENCHMARK(name) PERFLEET_BENCHMARK_WITH(name, 0, 0)
#define PERFLEET_BENCHMARK_WITH(name, set_up, tear_down)                                                     \
    static inline __attribute__((always_inline)) int perfleet_bench_body_##name(struct perfleet_bench_run*); \
    static int perfleet_bench_each_##name(struct perfleet_bench_run* run, uint64_t count, unsigned id) {     \
        int error = 0;                                                                                       \
        for (uint64_t i = 0; i < count; ++i) {                                                               \
            const uint64_t begin_ns = perfleet_probe_now_();                                                 \
            error |= perfleet_bench_body_##name(run);                                                        \
            const uint64_t end_ns = perfleet_probe_now_();                                                   \
            perfleet_bench_write_(run, end_ns, end_ns - begin_ns, id);                                       \
        }                                                                                                    \
        return error;                                                                                        \
    }                                                                                                        \
    static int perfleet_bench_circle_##name(struct perfleet_bench_run* run, uint64_t count) {                \
        int error = 0;                                                                                       \
        for (uint64_t i = 0; i < count; ++i) {                                                               \
            error |= perfleet_bench_body_##name(run);                                                        \
        }                                                                                                    \
        return error;                                                                                        \
    }                                                                                                        \
    static struct perfleet_benchmark perfleet_benchmark_##name = {                                           \
        #name, set_up, tear_down, perfleet_bench_each_##name, perfleet_bench_circle_##name, 0};              \
    __attribute__((constructor)) static void perfleet_bench_add_##name(void) {                               \
        perfleet_bench_add_(&perfleet_benchmark_##name);                                                     \
    }                                                                                                        \
    static inline __attribute__((always_inline)) int perfleet_bench_body_##name(                             \
        __attribute__((unused)) struct perfleet_bench_run* run)

#define PERFLEET_BENCHMARK_MAIN() \
    int main(int count, char** words) { return perfleet_bench_main(count, words); }

int perfleet_bench_main(int count, char** words);

// ---- Not for use by programs.

// The request of `perfleet bench`, in the program's environment: NAME each|circle LOOPS WARMUP SEED I D G S CPU,CPU…
#define PERFLEET_BENCH_ENVIRONMENT "PERFLEET_BENCH"
#define PERFLEET_BENCH_ID 63         /* of all rows: a run has one benchmark */
#define PERFLEET_BENCH_EXIT_FAILED 3 /* standard error says why */
// An accumulated latency: bits 16 to 35 of a record's info are its test size, 36 to 47 the group, 48 to 63 the test.
#define PERFLEET_PROBE_INFO_ACCUMULATED 512U
#define PERFLEET_BENCH_TEST_SIZE_MAX ((1U << 20U) - 1)
#define PERFLEET_BENCH_GROUPS_MAX ((1U << 12U) - 1)
#define PERFLEET_BENCH_TESTS_MAX ((1U << 16U) - 1)

void perfleet_bench_add_(struct perfleet_benchmark* benchmark);
void perfleet_bench_wait_for_room_(struct perfleet_probe_thread* thread);

// Waits for the collector if the ring is full; the wait isn't measured.
static inline void perfleet_bench_write_(struct perfleet_bench_run* run, uint64_t time_ns, uint64_t value,
                                         uint64_t info) {
    struct perfleet_probe_thread* const thread = run->thread;
    if (__builtin_expect(thread->head - thread->tail_seen >= PERFLEET_PROBE_RING_RECORDS, 0)) {
        perfleet_bench_wait_for_room_(thread);
    }
    struct perfleet_probe_record* const record = &thread->slot->records[thread->head % PERFLEET_PROBE_RING_RECORDS];
    record->time_ns = time_ns;
    record->value = value;
    record->info = info;
    __atomic_store_n(&thread->slot->head, ++thread->head, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif
