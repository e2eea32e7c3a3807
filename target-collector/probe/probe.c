// The part of the probes that isn't inline: how a program finds the collector's memory, and how a thread gets a ring
// there. Nothing in that memory is trusted: another program may write what it likes, which costs rows and never more.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#define HAS_RSEQ 1
#endif

#include "target-collector/probe/perfleet/probe.h"

int perfleet_probe_is_on_ = 0;
__thread struct perfleet_probe_thread* perfleet_probe_thread_ __attribute__((tls_model("initial-exec"))) = 0;

// Of all files of the process that this library is linked into: those of its own. Absent without names.
extern const struct perfleet_probe_name __start_perfleet_probes[] __attribute__((weak, visibility("hidden")));
extern const struct perfleet_probe_name __stop_perfleet_probes[] __attribute__((weak, visibility("hidden")));

static struct perfleet_probe_area* area = 0;
static char* area_path = 0;
static pthread_key_t thread_key;
static const volatile uint32_t no_cpu = 0;

static const volatile uint32_t* cpu_place(void) {
#ifdef HAS_RSEQ
    if (__rseq_size > 0) {
        const struct rseq* const place = (const struct rseq*)((const char*)__builtin_thread_pointer() + __rseq_offset);
        if ((int32_t)place->cpu_id >= 0) {
            return &place->cpu_id;
        }
    }
#endif
    return &no_cpu;
}

static void end_thread(void* pointer) {
    struct perfleet_probe_thread* const thread = pointer;
    perfleet_probe_thread_ = 0;
    if (thread->slot != 0) {
        munmap(thread->slot, sizeof(*thread->slot));
        // Release: the last records are there.
        __atomic_store_n(&area->ended[thread->slot_index], 1, __ATOMIC_RELEASE);
    }
    free(thread);
}

// A part of the area's file, which is opened anew each time: a program may close what it doesn't know. Null: not
// possible.
static void* map_part(const char* path, uint64_t offset, size_t size_bytes) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    struct stat status;
    void* part = MAP_FAILED;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size == PERFLEET_PROBE_AREA_SIZE) {
        part = mmap(0, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    }
    close(file);
    return part == MAP_FAILED ? 0 : part;
}

static void write_names(struct perfleet_probe_slot* slot) {
    uint64_t count = 0;
    for (const struct perfleet_probe_name* name = __start_perfleet_probes;
         name < __stop_perfleet_probes && count < PERFLEET_PROBE_IDS; ++name) {
        slot->names[count++] = *name;
    }
    slot->name_count = count;
}

// False: all are taken.
static int take_slot(struct perfleet_probe_thread* thread) {
    const uint64_t own = ((uint64_t)getpid() << 32U) | (uint64_t)syscall(SYS_gettid);
    for (uint64_t i = 0; i < PERFLEET_PROBE_SLOTS; ++i) {
        uint64_t owner = 0;
        // Acquire: partner of the release with which the collector frees it.
        if (__atomic_load_n(&area->owners[i], __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&area->owners[i], &owner, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            continue;
        }
        thread->slot = map_part(area_path, sizeof(*area) + (i * sizeof(*thread->slot)), sizeof(*thread->slot));
        thread->slot_index = i;
        if (thread->slot == 0) {
            __atomic_store_n(&area->ended[i], 1, __ATOMIC_RELEASE);
            return 0;
        }
        write_names(thread->slot);
        return 1;
    }
    return 0;
}

struct perfleet_probe_thread* perfleet_probe_begin_thread_(unsigned record_count) {
    if (area == 0 || __atomic_load_n(&area->is_closed, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&perfleet_probe_is_on_, 0, __ATOMIC_RELAXED);
        return 0;
    }
    struct perfleet_probe_thread* thread = pthread_getspecific(thread_key);
    if (thread == 0) {
        thread = calloc(1, sizeof(*thread));
        if (thread != 0 && pthread_setspecific(thread_key, thread) != 0) {
            free(thread);
            thread = 0;
        }
    }
    if (thread == 0 || !take_slot(thread)) {
        __atomic_fetch_add(&area->without_slot, record_count, __ATOMIC_RELAXED);
        return 0;
    }
    thread->head = 0;
    thread->tail_seen = 0;
    thread->cpu = cpu_place();
    perfleet_probe_thread_ = thread;
    return thread;
}

int perfleet_probe_look_for_room_(struct perfleet_probe_thread* thread, unsigned id) {
    struct perfleet_probe_slot* const slot = thread->slot;
    // Acquire: the collector has read what stood there before it is overwritten.
    const uint64_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
    if (thread->head - tail < PERFLEET_PROBE_RING_RECORDS) {
        thread->tail_seen = tail;
        return 1;
    }
    __atomic_store_n(&slot->lost[id], slot->lost[id] + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->lost_sum, slot->lost_sum + 1, __ATOMIC_RELEASE);
    if (area != 0 && __atomic_load_n(&area->is_closed, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&perfleet_probe_is_on_, 0, __ATOMIC_RELAXED);
    }
    return 0;
}

// The child has the one thread that forked, whose ring is the parent's.
static void begin_child(void) {
    perfleet_probe_thread_ = 0;
    struct perfleet_probe_thread* const thread = pthread_getspecific(thread_key);
    if (thread != 0) {
        memset(thread, 0, sizeof(*thread));
    }
}

__attribute__((constructor)) static void find_collector(void) {
    const char* const path = secure_getenv(PERFLEET_PROBE_ENVIRONMENT);
    struct perfleet_probe_area* const found = path == 0 ? 0 : map_part(path, 0, sizeof(*found));
    if (found == 0) {
        return;
    }
    area_path = strdup(path);
    if (area_path == 0 || found->magic != PERFLEET_PROBE_MAGIC || pthread_key_create(&thread_key, end_thread) != 0) {
        free(area_path);
        munmap(found, sizeof(*found));
        return;
    }
    area = found;
    pthread_atfork(0, 0, begin_child);
    __atomic_store_n(&perfleet_probe_is_on_, 1, __ATOMIC_RELAXED);
}

// Records of code that runs after it are lost: the slot may be another thread's then.
__attribute__((destructor)) static void leave_collector(void) {
    struct perfleet_probe_thread* const thread = perfleet_probe_thread_;
    __atomic_store_n(&perfleet_probe_is_on_, 0, __ATOMIC_RELAXED);
    perfleet_probe_thread_ = 0;
    if (thread != 0) {
        __atomic_store_n(&area->ended[thread->slot_index], 1, __ATOMIC_RELEASE);
    }
}

static void write_nested_pairs(unsigned inner_id, unsigned outer_id, unsigned pairs) {
    for (unsigned i = 0; i < pairs; ++i) {
        PERFLEET_TRACE_START(outer_id);
        PERFLEET_TRACE_START(inner_id);
        PERFLEET_TRACE_STOP(inner_id);
        PERFLEET_TRACE_STOP(outer_id);
    }
}

void perfleet_trace_log_overhead(unsigned inner_id, unsigned outer_id, unsigned pairs) {
    write_nested_pairs(inner_id, outer_id, pairs);
}

static int compare_ns(const void* left, const void* right) {
    const uint64_t a = *(const uint64_t*)left;
    const uint64_t b = *(const uint64_t*)right;
    return a < b ? -1 : a > b;
}

static double median_ns(uint64_t* values_ns, unsigned count) {
    qsort(values_ns, count, sizeof(*values_ns), compare_ns);
    return ((double)values_ns[count / 2] + (double)values_ns[(count - 1) / 2]) / 2;
}

int perfleet_trace_measure_overhead(unsigned pairs, struct perfleet_trace_overhead* overhead) {
    // The same code as ever, on a ring that nobody reads.
    const unsigned pairs_max = PERFLEET_PROBE_RING_RECORDS / 2;
    const unsigned count = pairs == 0 ? 1 : pairs < pairs_max ? pairs : pairs_max;
    struct perfleet_probe_slot* const slot = aligned_alloc(4096, sizeof(*slot));
    uint64_t* const inner_ns = calloc((size_t)2 * count, sizeof(*inner_ns));
    if (slot == 0 || inner_ns == 0) {
        free(slot);
        free(inner_ns);
        return -1;
    }
    uint64_t* const around_ns = inner_ns + count;
    memset(slot, 0, sizeof(*slot));
    struct perfleet_probe_thread own = {.slot = slot, .cpu = cpu_place()};
    struct perfleet_probe_thread* const kept = perfleet_probe_thread_;
    const int was_on = __atomic_exchange_n(&perfleet_probe_is_on_, 1, __ATOMIC_RELAXED);
    perfleet_probe_thread_ = &own;
    for (int round = 0; round < 2; ++round) {  // the first warms up
        own.head = 0;
        write_nested_pairs(0, 1, count);
    }
    perfleet_probe_thread_ = kept;
    __atomic_store_n(&perfleet_probe_is_on_, was_on, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < count; ++i) {
        inner_ns[i] = slot->records[(size_t)2 * i].value;
        around_ns[i] = slot->records[((size_t)2 * i) + 1].value - inner_ns[i];
    }
    overhead->effective_ns = median_ns(inner_ns, count);
    overhead->total_ns = median_ns(around_ns, count);
    free(slot);
    free(inner_ns);
    return 0;
}
