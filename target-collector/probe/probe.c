// The part of the probes that isn't inline: how a program finds the collector's memory, and how a thread gets a ring
// there. Nothing in that memory is trusted: another program may write what it likes, which costs rows and never more.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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

__attribute__((section("perfleet_door"))) struct perfleet_probe_door perfleet_probe_door_ = {PERFLEET_PROBE_DOOR_MAGIC,
                                                                                             0, -1, 0, 0};
__thread struct perfleet_probe_thread* perfleet_probe_thread_ __attribute__((tls_model("initial-exec"))) = 0;

// Of all files of the process that this library is linked into: those of its own. Absent without names.
extern const struct perfleet_probe_name __start_perfleet_probes[] __attribute__((weak, visibility("hidden")));
extern const struct perfleet_probe_name __stop_perfleet_probes[] __attribute__((weak, visibility("hidden")));

enum { kOwnFdFrom = 200, kLooksForCollectorEvery = 1024 };

static struct perfleet_probe_area* area = 0;
static char* area_path = 0;  // null: the memory is the program's own, by its descriptor
static ino_t own_inode = 0;
static int is_making = 0;
static int has_key = 0;
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

static void switch_on(int is_on) { __atomic_store_n(&perfleet_probe_door_.is_on, is_on != 0, __ATOMIC_RELAXED); }

static int is_closed(const struct perfleet_probe_area* one) {
    return __atomic_load_n(&one->is_closed, __ATOMIC_RELAXED) != 0;
}

static void end_thread(void* pointer) {
    struct perfleet_probe_thread* const thread = pointer;
    perfleet_probe_thread_ = 0;
    if (thread->slot != 0) {
        munmap(thread->slot, sizeof(*thread->slot));
        // Release: makes the last records visible.
        __atomic_store_n(&thread->area->ended[thread->slot_index], 1, __ATOMIC_RELEASE);
    }
    free(thread);
}

// `inode`: the only one that it may be; 0: any.
static void* map_file(int file, ino_t inode, uint64_t offset, size_t size_bytes) {
    struct stat status;
    void* part = MAP_FAILED;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (inode == 0 || status.st_ino == inode) &&
        (uint64_t)status.st_size == PERFLEET_PROBE_AREA_SIZE) {
        part = mmap(0, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    }
    return part == MAP_FAILED ? 0 : part;
}

// A part of the area's file. A collector's is opened anew each time: a program may close what it doesn't know. Null:
// not possible.
static void* map_part(const char* path, uint64_t offset, size_t size_bytes) {
    if (path == 0) {
        return map_file(perfleet_probe_door_.area_fd, own_inode, offset, size_bytes);
    }
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    void* const part = map_file(file, 0, offset, size_bytes);
    close(file);
    return part;
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
static int take_slot(struct perfleet_probe_area* from, struct perfleet_probe_thread* thread) {
    const uint64_t own = ((uint64_t)getpid() << 32U) | (uint64_t)syscall(SYS_gettid);
    thread->area = from;
    for (uint64_t i = 0; i < PERFLEET_PROBE_SLOTS; ++i) {
        uint64_t owner = 0;
        // Acquire: partner of the release with which the collector frees it.
        if (__atomic_load_n(&from->owners[i], __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&from->owners[i], &owner, own, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            continue;
        }
        thread->slot = map_part(area_path, sizeof(*from) + (i * sizeof(*thread->slot)), sizeof(*thread->slot));
        thread->slot_index = i;
        if (thread->slot == 0) {
            __atomic_store_n(&from->ended[i], 1, __ATOMIC_RELEASE);
            return 0;
        }
        write_names(thread->slot);
        return 1;
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

static int prepare_threads(void) {
    if (!has_key && pthread_key_create(&thread_key, end_thread) == 0) {
        has_key = 1;
        pthread_atfork(0, 0, begin_child);
    }
    return has_key;
}

// For a collector that found the program running. The memory's size can't be changed, which the collector checks.
static void make_own_area(void) {
    int file = memfd_create("perfleet-probes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    // Away from the numbers that a program expects its own files to have.
    const int moved = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, kOwnFdFrom);
    if (moved >= 0) {
        close(file);
        file = moved;
    }
    struct stat status;
    struct perfleet_probe_area* made = 0;
    if (file >= 0 && prepare_threads() && ftruncate(file, (off_t)PERFLEET_PROBE_AREA_SIZE) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 && fstat(file, &status) == 0) {
        made = map_file(file, 0, 0, sizeof(*made));
    }
    if (made == 0) {
        if (file >= 0) {
            close(file);
        }
        switch_on(0);
        return;
    }
    made->size_bytes = PERFLEET_PROBE_AREA_SIZE;
    made->magic = PERFLEET_PROBE_MAGIC;
    own_inode = status.st_ino;
    area_path = 0;
    // Release: a reader that sees the number, or the area, sees the memory's contents.
    __atomic_store_n(&perfleet_probe_door_.area_fd, file, __ATOMIC_RELEASE);
    __atomic_store_n(&area, made, __ATOMIC_RELEASE);
}

// The memory of a collector that listens. Null: none listens, or the memory is being made.
static struct perfleet_probe_area* find_area(void) {
    struct perfleet_probe_area* const found = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
    if (found != 0 && !is_closed(found)) {
        return found;
    }
    if (perfleet_probe_door_.is_lent || perfleet_probe_door_.area_fd >= 0) {
        // Its collector has ended. Another one that waits sets the flag again.
        perfleet_probe_door_.is_lent = 0;
        switch_on(0);
        return 0;
    }
    if (__atomic_exchange_n(&is_making, 1, __ATOMIC_ACQUIRE) == 0) {
        make_own_area();
        __atomic_store_n(&is_making, 0, __ATOMIC_RELEASE);
    }
    struct perfleet_probe_area* const made = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
    return made != found ? made : 0;
}

static struct perfleet_probe_thread* begin_thread(unsigned record_count) {
    struct perfleet_probe_area* const found = find_area();
    if (found == 0) {
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
    if (thread == 0 || !take_slot(found, thread)) {
        __atomic_fetch_add(&found->without_slot, record_count, __ATOMIC_RELAXED);
        return 0;
    }
    thread->head = 0;
    thread->tail_seen = 0;
    thread->cpu = cpu_place();
    perfleet_probe_thread_ = thread;
    return thread;
}

struct perfleet_probe_thread* perfleet_probe_begin_thread_(unsigned record_count) {
    const int kept_errno = errno;
    struct perfleet_probe_thread* const thread = begin_thread(record_count);
    errno = kept_errno;
    return thread;
}

// The ring is full: checks whether a collector still reads it.
static int has_collector(const struct perfleet_probe_thread* thread, uint64_t lost_count) {
    if (is_closed(thread->area)) {
        return 0;
    }
    // One that was killed doesn't close it. Another's number may be of another namespace.
    if (area_path != 0 || lost_count % kLooksForCollectorEvery != 0) {
        return 1;
    }
    const int kept_errno = errno;
    const uint64_t collector = __atomic_load_n(&thread->area->collector, __ATOMIC_RELAXED);
    const int is_there = collector == 0 || kill((pid_t)collector, 0) == 0 || errno != ESRCH;
    errno = kept_errno;
    return is_there;
}

int perfleet_probe_look_for_room_(struct perfleet_probe_thread* thread, unsigned id) {
    struct perfleet_probe_slot* const slot = thread->slot;
    // Acquire: the collector has read the old content before it is overwritten.
    const uint64_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
    if (thread->head - tail < PERFLEET_PROBE_RING_RECORDS) {
        thread->tail_seen = tail;
        return 1;
    }
    const uint64_t lost_count = slot->lost_sum + 1;
    __atomic_store_n(&slot->lost[id], slot->lost[id] + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->lost_sum, lost_count, __ATOMIC_RELEASE);
    if (!has_collector(thread, lost_count)) {
        switch_on(0);
        if (area_path != 0) {  // lent: the next collector's memory is another
            pthread_setspecific(thread_key, 0);
            end_thread(thread);
        }
    }
    return 0;
}

__attribute__((constructor)) static void find_collector(void) {
    const char* const path = secure_getenv(PERFLEET_PROBE_ENVIRONMENT);
    if (path == 0) {
        return;
    }
    area_path = strdup(path);
    struct perfleet_probe_area* const found = area_path == 0 ? 0 : map_part(area_path, 0, sizeof(*found));
    if (found == 0) {
        free(area_path);
        area_path = 0;
        return;
    }
    if (found->magic != PERFLEET_PROBE_MAGIC || !prepare_threads()) {
        free(area_path);
        area_path = 0;
        munmap(found, sizeof(*found));
        return;
    }
    area = found;
    perfleet_probe_door_.is_lent = 1;
    switch_on(1);
}

// Records of code that runs after it are lost: the slot may be another thread's then.
__attribute__((destructor)) static void leave_collector(void) {
    struct perfleet_probe_thread* const thread = perfleet_probe_thread_;
    switch_on(0);
    perfleet_probe_thread_ = 0;
    if (thread != 0) {
        __atomic_store_n(&thread->area->ended[thread->slot_index], 1, __ATOMIC_RELEASE);
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
    // The usual code, on a ring without a reader.
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
    const uint32_t was_on = __atomic_exchange_n(&perfleet_probe_door_.is_on, 1, __ATOMIC_RELAXED);
    perfleet_probe_thread_ = &own;
    for (int round = 0; round < 2; ++round) {  // the first warms up
        own.head = 0;
        write_nested_pairs(0, 1, count);
    }
    perfleet_probe_thread_ = kept;
    switch_on(was_on != 0);
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
