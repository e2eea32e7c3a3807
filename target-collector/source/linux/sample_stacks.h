// From the call chain of a sample to the number of its stack in the epoch, however the chain was recorded: by the
// kernel alone, unwound by BPF programs, or with a copy of the user's stack. A chain that isn't whole ends in a frame
// that says why.
//
// Also keeps BPF programs informed of processes. One thread. No memory is taken for a chain that was seen before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "target-collector/process/chain_cache.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/image_table.h"
#include "target-collector/process/kernel_images.h"
#include "target-collector/process/process_table.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/process/stack_unwinder.h"
#include "target-collector/source/linux/image/image_files.h"
#include "target-collector/source/linux/image/python_frames.h"
#include "target-collector/source/linux/image/run_time_code.h"
#include "target-collector/source/linux/opening/event_set.h"
#include "target-collector/source/linux/scheduler_frames.h"
#include "target-collector/source/linux/source_sample.h"

namespace perfleet {

class SampleStacks {
public:
    // All borrowed.
    struct Parts {
        const EventSet& events;
        const KernelImages& kernel;
        ImageTable& images;
        ImageIndex unknown_image;
        ImageFiles& files;
        ProcessTable& processes;
        KernelUnwinder* kernel_unwinder;  // null: no BPF program unwinds
        bool unwinds_samples;             // it; else only the stacks of threads that are off the CPU
    };
    explicit SampleStacks(const Parts& parts);

    // Samples without names of interpreted functions that were called.
    [[nodiscard]] std::uint64_t names_not_read() const { return names_not_read_; }

    // Before stack_of(): of a thread that was off the CPU, its kernel part begins with what called the scheduler.
    void leave_out_scheduler(SourceSample& sample);
    // May begin another epoch.
    [[nodiscard]] StackNumber stack_of(const SourceSample& sample, std::uint32_t event_index,
                                       EpochDefinitions& definitions, RowSink& sink, std::uint64_t time);

    // Behind the samples that are shown: what BPF programs have read of interpreted code that samples name.
    void take_codes();
    // Names of JIT code that have come since.
    void refresh_code(std::uint64_t now_ns) { code_.refresh(now_ns); }

    // What BPF programs know of a process is brought up to date by publish_changed(), where they unwind it.
    // `is_wanted`: from now on.
    void note_changed(std::uint32_t pid, bool is_wanted = false);
    void publish_changed(std::uint64_t time);

    // Numbers of stacks have another meaning from now on.
    void forget_stacks() { chains_.clear(); }
    // Images have, which are many: true where it would help.
    [[nodiscard]] bool has_many_images() const { return code_.is_full(); }
    void forget_images();

private:
    // Counts of the sample's event.
    struct Count {
        RowSink& sink;
        Series series;
        void operator()(CountName name, std::uint64_t value = 1) const {
            if (value != 0) {
                sink.count(series, name, value);
            }
        }
    };
    // The kernel's part of the chain, and behind it what is unwound from the copy of the user's stack.
    std::span<const std::uint64_t> unwound_words(const SourceSample& sample, const MappingList& mappings,
                                                 const Count& count);
    // The kernel's part of the chain, and behind it the user's.
    std::span<const std::uint64_t> join_words(const SourceSample& sample, std::span<const std::uint64_t> user_chain,
                                              UnwindEnd end);
    // Of the kernel's chain: marked where it is cut.
    [[nodiscard]] std::span<const std::uint64_t> callchain_words(const SourceSample& sample, std::uint32_t event_index,
                                                                 const Count& count);
    [[nodiscard]] bool is_cut(std::span<const std::uint64_t> callchain, std::uint32_t event_index) const;
    // Marks a chain that isn't whole by an outermost frame that says why.
    void mark_truncated(std::span<const std::uint64_t> words);
    // Of all images of a process: a walk in the kernel may go on, on another stack, where one of a copy ends.
    void make_tables(std::uint32_t pid, const MappingList& mappings);
    [[nodiscard]] bool is_interpreted(std::uint32_t pid);
    static void count_end(UnwindEnd end, const Count& count);
    void count_unnamed(std::uint64_t value, const Count& count);

    Parts parts_;
    SchedulerFrames scheduler_;
    RunTimeCode code_;
    PythonFrames python_;
    ChainCache chains_;
    StackUnwinder unwinder_;
    std::uint64_t tables_made_generation_ = 0;  // of the mappings whose tables were made last (make_tables)
    StackUnwinder::Chain unwound_;
    std::vector<std::uint64_t> words_;  // of the sample at hand
    std::vector<std::uint64_t> kernel_words_;
    std::unique_ptr<ResolvedStack> resolved_;
    std::vector<std::size_t> callchain_depths_;  // by event: frames that the kernel gives at most
    std::vector<std::uint32_t> changed_pids_;
    std::uint64_t names_not_read_ = 0;
    std::uint64_t unwinder_ticked_ns_ = 0;
};

}  // namespace perfleet
