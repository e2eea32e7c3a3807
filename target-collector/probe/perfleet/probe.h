// Probes for C11 and C++ programs: how long a piece of code takes, call by call, measured by the program itself.
//
//     #include <perfleet/probe.h>                              // link with -lperfleet-probe (perfleet-probe.pc)
//     PERFLEET_TRACE_NAME(1, "parse");
//     PERFLEET_TRACE_START(1);
//     parse(line);
//     PERFLEET_TRACE_STOP(1);
//
//     perfleet record -e 'perfleet:*' -- ./program             // then: perfleet latency
//     perfleet record -e 'perfleet:*' -p PID                   // one that runs already; or -a: all of them
//
// The rules are those of seL4's tracepoints, for each thread by itself:
// - A stop without a start before it logs nothing; so a start under a condition makes its stop conditional.
// - A second start replaces the first.
// - Pairs of different ids may nest and interleave. Rows have the order of their stops.
// - Ids are constants from 0 to 63, of the whole process.
// Times are those of CLOCK_MONOTONIC, in ns. A pair reads it twice. A measured time includes the effective overhead of
// a pair, and the total overhead of each pair inside (perfleet_trace_overhead() measures both).
//
// Without a collector, each macro only tests one flag, perfleet_probe_door_.is_on. A collector that starts the program
// passes shared memory in its environment. A collector that comes later sets the flag, as tracers set the semaphores of
// USDT markers; the program then creates memory (memfd_create), which the collector opens. Any thread may use the
// macros, a signal handler may not. A thread has a ring of PERFLEET_PROBE_RING_RECORDS rows in the shared memory; rows
// that find it full are counted as lost. A child of fork() has its own rings. Each process links the library into one
// of its files, the program or a shared object.
//
// Each row also has a USDT marker if <sys/sdt.h> is installed (systemtap-sdt-dev) and PERFLEET_PROBE_NO_USDT
// isn't defined: perfleet:start(id), perfleet:stop(id, ns) and perfleet:value(id, value), for perf and bpftrace.
#pragma once

#include <stdint.h>
#include <time.h>

#if !defined(PERFLEET_PROBE_NO_USDT) && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define PERFLEET_PROBE_MARK1(name, a) DTRACE_PROBE1(perfleet, name, a)
#define PERFLEET_PROBE_MARK2(name, a, b) DTRACE_PROBE2(perfleet, name, a, b)
#endif
#endif
#ifndef PERFLEET_PROBE_MARK1
#define PERFLEET_PROBE_MARK1(name, a) ((void)0)
#define PERFLEET_PROBE_MARK2(name, a, b) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define PERFLEET_PROBE_IDS 64

// At file scope. Durations are shown as event perfleet:NAME. NAME: up to 47 letters, digits, '_', '-' and '.'.
#define PERFLEET_TRACE_NAME(id, name) PERFLEET_PROBE_NAME_(id, 0, name, "ns", __COUNTER__)
// The same for what PERFLEET_TRACE_VALUE logs, with its unit (up to 11 letters): "bytes", "items".
#define PERFLEET_TRACE_VALUE_NAME(id, name, unit) PERFLEET_PROBE_NAME_(id, 1, name, unit, __COUNTER__)

// Marks the start of the measured code.
#define PERFLEET_TRACE_START(id) perfleet_probe_start_(id)
// Logs the time since the start, if there was one.
#define PERFLEET_TRACE_STOP(id) perfleet_probe_stop_(id)
// Logs a number: the length of a queue, the size of a message. The id needs a PERFLEET_TRACE_VALUE_NAME.
#define PERFLEET_TRACE_VALUE(id, value) perfleet_probe_value_(id, value)

// The cost of a pair, from nested empty pairs: `effective_ns` is included in each measured time, `total_ns` in the time
// around each pair. Medians over `pairs` of them; logs nothing. Errors: -1 if there is no memory.
struct perfleet_trace_overhead {
    double effective_ns;
    double total_ns;
};
int perfleet_trace_measure_overhead(unsigned pairs, struct perfleet_trace_overhead* overhead);

// Logs `pairs` nested empty pairs with two ids, for
// perfleet tracepoints --overhead perfleet:INNER,perfleet:OUTER.
void perfleet_trace_log_overhead(unsigned inner_id, unsigned outer_id, unsigned pairs);

// ---- Shared by program and collector. Not for use by programs.

#define PERFLEET_PROBE_ENVIRONMENT "PERFLEET_PROBES" /* the file with the area */
#define PERFLEET_PROBE_MAGIC 0x31656270666c7270ULL   /* "prlfpbe1" */
#define PERFLEET_PROBE_SLOTS 256                     /* threads at once */
#define PERFLEET_PROBE_RING_RECORDS 16384            /* a power of two */
#define PERFLEET_PROBE_NAME_SIZE 48                  /* with its NUL */
#define PERFLEET_PROBE_UNIT_SIZE 12

// Each PERFLEET_TRACE_NAME, in the file's section perfleet_probes, where the collector finds it before the program
// runs.
struct perfleet_probe_name {
    uint8_t id;
    uint8_t is_value;
    uint16_t version;  // 1
    char unit[PERFLEET_PROBE_UNIT_SIZE];
    char name[PERFLEET_PROBE_NAME_SIZE];
};

struct perfleet_probe_record {
    uint64_t time_ns;
    uint64_t value;  // of a duration: ns
    uint64_t info;   // bits 0 to 7: id; bit 8: a value; bits 32 to 63: CPU
};
#define PERFLEET_PROBE_INFO_VALUE 256U

// A thread's slot. The names are written before the first record.
struct perfleet_probe_slot {
    uint64_t head __attribute__((aligned(64)));  // records written; by the program
    uint64_t lost_sum;
    uint64_t lost[PERFLEET_PROBE_IDS];  // records that found the ring full, by id
    uint64_t name_count;
    uint64_t tail __attribute__((aligned(64)));  // records taken; by the collector
    struct perfleet_probe_name names[PERFLEET_PROBE_IDS];
    struct perfleet_probe_record records[PERFLEET_PROBE_RING_RECORDS] __attribute__((aligned(4096)));
};

// At the start of the memory; the slots follow.
struct perfleet_probe_area {
    uint64_t magic;
    uint64_t size_bytes;
    uint64_t is_closed;                     // the collector has ended
    uint64_t collector;                     // its process id; 0: no collector has opened it
    uint64_t without_slot;                  // stops and values of threads without a slot
    uint64_t owners[PERFLEET_PROBE_SLOTS];  // pid << 32 | tid; 0: free. Taken by the program, freed by the collector
    uint64_t ended[PERFLEET_PROBE_SLOTS];   // 1: its thread writes no more
} __attribute__((aligned(4096)));
#define PERFLEET_PROBE_AREA_SIZE \
    (sizeof(struct perfleet_probe_area) + PERFLEET_PROBE_SLOTS * sizeof(struct perfleet_probe_slot))

// In the section perfleet_door of the file that the library is linked into, where a collector finds it.
struct perfleet_probe_door {
    uint64_t magic;
    uint32_t is_on;    // the macros log; set by the program or the collector
    int32_t area_fd;   // of the memory that the program created; -1: none
    uint32_t is_lent;  // 1: the memory is that of the collector that started the program
    uint32_t reserved;
};
#define PERFLEET_PROBE_DOOR_MAGIC 0x31726f6462666c70ULL /* "plfbdor1" */

// ---- Internals of the macros.

struct perfleet_probe_thread {
    struct perfleet_probe_slot* slot;
    struct perfleet_probe_area* area;
    uint64_t slot_index;
    uint64_t head;
    uint64_t tail_seen;
    const volatile uint32_t* cpu;
    uint64_t started_ns[PERFLEET_PROBE_IDS];  // 0: not started
};

extern struct perfleet_probe_door perfleet_probe_door_;
extern __thread struct perfleet_probe_thread* perfleet_probe_thread_ __attribute__((tls_model("initial-exec")));

struct perfleet_probe_thread* perfleet_probe_begin_thread_(unsigned record_count);
int perfleet_probe_look_for_room_(struct perfleet_probe_thread* thread, unsigned id);

#define PERFLEET_PROBE_PASTE_(a, b) a##b
#define PERFLEET_PROBE_PASTE(a, b) PERFLEET_PROBE_PASTE_(a, b)
#ifdef __cplusplus
#define PERFLEET_PROBE_ASSERT_ static_assert
#else
#define PERFLEET_PROBE_ASSERT_ _Static_assert
#endif
#define PERFLEET_PROBE_NAME_(id, is_value, name, unit, number)                                                 \
    PERFLEET_PROBE_ASSERT_((id) >= 0 && (id) < PERFLEET_PROBE_IDS, "ids of probes are 0 to 63");               \
    PERFLEET_PROBE_ASSERT_(sizeof(name) <= PERFLEET_PROBE_NAME_SIZE, "a probe's name has 47 letters at most"); \
    PERFLEET_PROBE_ASSERT_(sizeof(unit) <= PERFLEET_PROBE_UNIT_SIZE, "a unit has 11 letters at most");         \
    __attribute__((used, section("perfleet_probes"), aligned(64))) static const struct perfleet_probe_name     \
    PERFLEET_PROBE_PASTE(perfleet_probe_name_, number) = {(id), (is_value), 1, unit, name}

#ifdef CLOCK_MONOTONIC
#define PERFLEET_PROBE_CLOCK CLOCK_MONOTONIC
#else  // -std=c11, which hides it
extern int clock_gettime(int clock, struct timespec* time);
#define PERFLEET_PROBE_CLOCK 1
#endif

static inline uint64_t perfleet_probe_now_(void) {
    struct timespec time;
    clock_gettime(PERFLEET_PROBE_CLOCK, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

// Null: no collector listens, or the thread has no slot and these records are lost.
static inline struct perfleet_probe_thread* perfleet_probe_this_thread_(unsigned record_count) {
    if (__builtin_expect(!__atomic_load_n(&perfleet_probe_door_.is_on, __ATOMIC_RELAXED), 1)) {
        return 0;
    }
    struct perfleet_probe_thread* const thread = perfleet_probe_thread_;
    return __builtin_expect(thread != 0, 1) ? thread : perfleet_probe_begin_thread_(record_count);
}

static inline void perfleet_probe_write_(struct perfleet_probe_thread* thread, uint64_t time_ns, uint64_t value,
                                         uint64_t info) {
    const uint64_t head = thread->head;
    if (__builtin_expect(head - thread->tail_seen >= PERFLEET_PROBE_RING_RECORDS, 0) &&
        !perfleet_probe_look_for_room_(thread, (unsigned)(info % PERFLEET_PROBE_IDS))) {
        return;
    }
    struct perfleet_probe_record* const record = &thread->slot->records[head % PERFLEET_PROBE_RING_RECORDS];
    record->time_ns = time_ns;
    record->value = value;
    record->info = info | ((uint64_t)*thread->cpu << 32U);
    thread->head = head + 1;
    // Release: a reader that sees the new head also sees the record.
    __atomic_store_n(&thread->slot->head, head + 1, __ATOMIC_RELEASE);
}

static inline void perfleet_probe_start_(unsigned id) {
    struct perfleet_probe_thread* const thread = perfleet_probe_this_thread_(0);
    PERFLEET_PROBE_MARK1(start, id);
    if (thread != 0) {
        thread->started_ns[id % PERFLEET_PROBE_IDS] = perfleet_probe_now_();
    }
}

static inline void perfleet_probe_stop_(unsigned id) {
    struct perfleet_probe_thread* const thread = perfleet_probe_this_thread_(1);
    if (thread == 0) {
        PERFLEET_PROBE_MARK2(stop, id, 0);
        return;
    }
    const uint64_t started_ns = thread->started_ns[id % PERFLEET_PROBE_IDS];
    if (started_ns == 0) {
        return;
    }
    const uint64_t now_ns = perfleet_probe_now_();
    thread->started_ns[id % PERFLEET_PROBE_IDS] = 0;
    perfleet_probe_write_(thread, now_ns, now_ns - started_ns, id % PERFLEET_PROBE_IDS);
    PERFLEET_PROBE_MARK2(stop, id, now_ns - started_ns);
}

static inline void perfleet_probe_value_(unsigned id, uint64_t value) {
    struct perfleet_probe_thread* const thread = perfleet_probe_this_thread_(1);
    PERFLEET_PROBE_MARK2(value, id, value);
    if (thread != 0) {
        perfleet_probe_write_(thread, perfleet_probe_now_(), value,
                              (id % PERFLEET_PROBE_IDS) | PERFLEET_PROBE_INFO_VALUE);
    }
}

#ifdef __cplusplus
}
#endif
