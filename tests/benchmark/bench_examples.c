// Examples of benchmarks (perfleet/bench.h): system calls, and ways of two threads to wait for each other. The partner
// of a round trip runs on the same CPU, so each trip holds two switches.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <perfleet/bench.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

PERFLEET_BENCHMARK(empty) { return 0; }

PERFLEET_BENCHMARK(getpid) { return syscall(SYS_getpid) < 0; }

// Two descriptors for each side: one to read, one to write.
struct round_trip {
    pthread_t partner;
    int here[2];
    int there[2];
    size_t size_bytes;
};

static void* answer(void* pointer) {
    const struct round_trip* const trip = pointer;
    uint64_t word = 0;
    while (read(trip->there[0], &word, trip->size_bytes) == (ssize_t)trip->size_bytes && word != ~0ULL) {
        if (write(trip->here[1], &word, trip->size_bytes) < 0) {
            break;
        }
    }
    return 0;
}

static int go_there_and_back(const struct round_trip* trip) {
    uint64_t word = 1;
    return write(trip->there[1], &word, trip->size_bytes) != (ssize_t)trip->size_bytes ||
           read(trip->here[0], &word, trip->size_bytes) != (ssize_t)trip->size_bytes;
}

static int begin_trip(struct perfleet_bench_run* run, struct round_trip* trip) {
    run->state = trip;
    if (pthread_create(&trip->partner, 0, answer, trip) != 0) {
        run->error = "the partner can't be started";
        return 1;
    }
    return 0;
}

static int set_up_pipes(struct perfleet_bench_run* run) {
    struct round_trip* const trip = calloc(1, sizeof(*trip));
    trip->size_bytes = 1;
    if (pipe(trip->here) != 0 || pipe(trip->there) != 0) {
        run->error = "no pipe could be made";
        return 1;
    }
    return begin_trip(run, trip);
}

static void tear_down_pipes(struct perfleet_bench_run* run) {
    struct round_trip* const trip = run->state;
    close(trip->there[1]);
    pthread_join(trip->partner, 0);
    close(trip->there[0]);
    close(trip->here[0]);
    close(trip->here[1]);
    free(trip);
}

PERFLEET_BENCHMARK_WITH(pipe_round_trip, set_up_pipes, tear_down_pipes) {
    return go_there_and_back((const struct round_trip*)run->state);
}

static int set_up_events(struct perfleet_bench_run* run) {
    struct round_trip* const trip = calloc(1, sizeof(*trip));
    trip->size_bytes = sizeof(uint64_t);
    trip->here[0] = trip->here[1] = eventfd(0, 0);
    trip->there[0] = trip->there[1] = eventfd(0, 0);
    return begin_trip(run, trip);
}

static void tear_down_events(struct perfleet_bench_run* run) {
    struct round_trip* const trip = run->state;
    pthread_cancel(trip->partner);
    pthread_join(trip->partner, 0);
    close(trip->here[0]);
    close(trip->there[0]);
    free(trip);
}

PERFLEET_BENCHMARK_WITH(eventfd_round_trip, set_up_events, tear_down_events) {
    return go_there_and_back((const struct round_trip*)run->state);
}

struct futex_trip {
    pthread_t partner;
    uint32_t turn;  // 0: ours, 1: the partner's, 2: the end
};

static void wait_for_turn(struct futex_trip* trip, uint32_t other) {
    while (__atomic_load_n(&trip->turn, __ATOMIC_ACQUIRE) == other) {
        syscall(SYS_futex, &trip->turn, FUTEX_WAIT_PRIVATE, other, 0, 0, 0);
    }
}

static void give_turn(struct futex_trip* trip, uint32_t turn) {
    __atomic_store_n(&trip->turn, turn, __ATOMIC_RELEASE);
    syscall(SYS_futex, &trip->turn, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void* answer_futex(void* pointer) {
    struct futex_trip* const trip = pointer;
    for (;;) {
        wait_for_turn(trip, 0);
        if (__atomic_load_n(&trip->turn, __ATOMIC_ACQUIRE) == 2) {
            return 0;
        }
        give_turn(trip, 0);
    }
}

static int set_up_futex(struct perfleet_bench_run* run) {
    struct futex_trip* const trip = calloc(1, sizeof(*trip));
    run->state = trip;
    return pthread_create(&trip->partner, 0, answer_futex, trip);
}

static void tear_down_futex(struct perfleet_bench_run* run) {
    struct futex_trip* const trip = run->state;
    give_turn(trip, 2);
    pthread_join(trip->partner, 0);
    free(trip);
}

PERFLEET_BENCHMARK_WITH(futex_round_trip, set_up_futex, tear_down_futex) {
    struct futex_trip* const trip = run->state;
    give_turn(trip, 1);
    wait_for_turn(trip, 1);
    return 0;
}

// What a failed run looks like: every 1,000th iteration reports a failure.
PERFLEET_BENCHMARK(fails) {
    run->error = "one iteration of a thousand";
    return perfleet_bench_random(run) % 1000 == 0;
}

PERFLEET_BENCHMARK_MAIN()
