// Call chains of programs without frame pointers, unwound in the kernel by a BPF program (unwind.bpf.c) that is
// attached to the sampling events: what it needs of processes and unwind tables is kept in its maps.
//
// A resource. One thread. Bounded by the limits in unwind_layout.h: lists of mappings that find no room are left out,
// tables that were used longest ago make room for others; samples that need one of them come with a copy of the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "schemas/vocabulary/error.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/unwind/unwind_table_store.h"

namespace perfleet {

class KernelUnwinder : public UnwindTableStore {
public:
    static constexpr std::uint32_t kEventsMax = 16;  // each has a program of its own

    struct Options {
        std::uint32_t own_pid = 0;         // its samples are emitted without a user's stack; 0: nobody's
        bool emits_both = false;           // for tests: the event's own record with the copy behind the program's,
                                           // which has no frames of interpreters
        std::uint32_t slab_count_max = 0;  // of 1 MiB, for tables; 0: all
    };
    // Errors: kPermission, kUnsupported (kernel, or this build), each with what is missing.
    [[nodiscard]] static Result<std::unique_ptr<KernelUnwinder>> open(const Options& options);

    // The program of the n-th event that is unwound, to be attached to it; and where its records on a CPU go: an event
    // of type BPF output that is open there.
    [[nodiscard]] virtual Result<int> program_of(std::uint32_t ordinal) = 0;
    [[nodiscard]] virtual Result<Done> set_output(std::uint32_t ordinal, std::uint32_t cpu, int event_fd) = 0;

    // Its mappings, in place of what was published of this process. Whose program's code begins elsewhere than it says
    // runs another program by now, and isn't unwound.
    virtual void publish(const Process& process) = 0;
    virtual void forget_process(std::uint32_t pid) = 0;

    // Images have new numbers from now on: all processes and tables are forgotten.
    virtual void forget_all() = 0;

    // About once a second: what is used from now on is newer than what was used before.
    virtual void tick() = 0;

    // Visits the code objects of Python that its programs, or others that unwind by its maps, met first: each an
    // unwind_code (unwind_layout.h), borrowed until the visitor returns. Nothing in it is trusted.
    virtual void take_codes(const std::function<void(std::span<const std::byte>)>& visit) = 0;

    [[nodiscard]] virtual std::size_t tables_bytes() const = 0;

    // The time that its programs have taken, where the kernel measures it: from measure_run_time() on, which costs each
    // run of any BPF program on the machine two readings of a clock.
    virtual void measure_run_time() = 0;
    [[nodiscard]] virtual std::uint64_t run_time_ns() const = 0;

    // Whether a program of somebody else is loaded that its own aren't run within: of kprobes, uprobes, tracepoints or
    // perf events. True where it can't be known.
    [[nodiscard]] virtual bool meets_others() const = 0;

    // Of its maps, for other programs that unwind; -1: there is none of this name.
    [[nodiscard]] virtual int map_fd(const char* name) const = 0;
};

}  // namespace perfleet
