// Unwinds call chains of programs without frame pointers in the kernel, by a BPF program (unwind.bpf.c) attached to the
// sampling events. Its maps hold the processes' mappings and the unwind tables.
//
// A resource. One thread. Limits are in unwind_layout.h: lists of mappings without space are omitted, and the least
// recently used tables are replaced; samples that need one of them carry a copy of the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "schemas/vocabulary/error.h"
#include "target-collector/process/file_contents.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/unwind/unwind_table_store.h"

namespace perfleet {

class KernelUnwinder : public UnwindTableStore {
public:
    static constexpr std::uint32_t kEventsMax = 16;  // each has its own program

    struct Options {
        std::uint32_t own_pid = 0;         // its samples have no user stack; 0: none
        bool emits_both = false;           // for tests: the event's own record with the copy behind the program's,
                                           // which has no frames of interpreters
        std::uint32_t slab_count_max = 0;  // of 1 MiB, for tables; 0: no limit
    };
    // Errors: kPermission, kUnsupported (kernel, or this build); each says what is missing.
    [[nodiscard]] static Result<std::unique_ptr<KernelUnwinder>> open(const Options& options);

    // The program to attach to the n-th unwound event; and the output of its records on a CPU: an open event of type
    // BPF output.
    [[nodiscard]] virtual Result<int> program_of(std::uint32_t ordinal) = 0;
    [[nodiscard]] virtual Result<Done> set_output(std::uint32_t ordinal, std::uint32_t cpu, int event_fd) = 0;

    // Replaces the published mappings of this process. If its program's code starts at another address than published,
    // it has executed another program, and counts as not published.
    virtual void publish(const Process& process) = 0;
    // Samples of processes that aren't published are unwound, too, while they go through code of such files only. The
    // file must have been the image's. Ignored if its time of modification or generation is unknown.
    virtual void publish_file(ImageIndex image, const MappedFile& file) = 0;
    virtual void forget_process(std::uint32_t pid) = 0;

    // Images get new numbers from now on: drops all processes, files and tables.
    virtual void forget_all() = 0;

    // To be called about once a second; ages the use of tables.
    virtual void tick() = 0;

    // Visits the Python code objects that its programs, or others with its maps, have seen first: each is an
    // unwind_code (unwind_layout.h), borrowed until the visitor returns, and untrusted.
    virtual void take_codes(const std::function<void(std::span<const std::byte>)>& visit) = 0;

    [[nodiscard]] virtual std::size_t tables_bytes() const = 0;

    // CPU time of its programs, if the kernel measures it, since measure_run_time(). Measuring costs two readings of a
    // clock for each run of any BPF program on the machine.
    virtual void measure_run_time() = 0;
    [[nodiscard]] virtual std::uint64_t run_time_ns() const = 0;

    // Whether another BPF program of kprobes, uprobes, tracepoints or perf events is loaded, during which its own don't
    // run. True if it can't be determined.
    [[nodiscard]] virtual bool meets_others() const = 0;

    // The descriptor of one of its maps, for other programs that unwind; -1: no map has this name.
    [[nodiscard]] virtual int map_fd(const char* name) const = 0;
};

}  // namespace perfleet
