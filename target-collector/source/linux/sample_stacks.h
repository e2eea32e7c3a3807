// Converts the call chain of a sample into its stack number in the epoch, for all kinds of chains: from the kernel
// alone, unwound by BPF programs, or with a copy of the user stack. An incomplete chain ends in a frame with the
// reason.
//
// Also updates BPF programs about processes. One thread. Chains that were seen before allocate no memory.
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
        bool unwinds_samples;             // unwinds samples, too; else only stacks of off-CPU times
    };
    explicit SampleStacks(const Parts& parts);

    // Number of samples with unnamed interpreted functions.
    [[nodiscard]] std::uint64_t names_not_read() const { return names_not_read_; }

    // To be called before stack_of() for off-CPU samples: the kernel part then begins with the scheduler's caller.
    void leave_out_scheduler(SourceSample& sample);
    // May begin another epoch.
    [[nodiscard]] StackNumber stack_of(const SourceSample& sample, std::uint32_t event_index,
                                       EpochDefinitions& definitions, RowSink& sink, std::uint64_t time);

    // Takes the code objects that BPF programs have read for samples; to be called after these samples were shown.
    void take_codes();
    // Reads new names of JIT code.
    void refresh_code(std::uint64_t now_ns) { code_.refresh(now_ns); }

    // Marks a process whose data for BPF programs is outdated; publish_changed() updates it if they unwind it.
    // `is_wanted`: unwind it from now on.
    void note_changed(std::uint32_t pid, bool is_wanted = false);
    void note_mapped(std::uint32_t pid, ImageIndex image);
    // The process runs another program.
    void note_exec(std::uint32_t pid);
    void publish_changed(std::uint64_t time);

    // Stack numbers get a new meaning from now on.
    void forget_stacks() { chains_.clear(); }
    // Whether forget_images() would free many images.
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
    // The kernel's part of the chain, then the part unwound from the copy of the user stack.
    std::span<const std::uint64_t> unwound_words(const SourceSample& sample, const MappingList& mappings,
                                                 const Count& count);
    // The kernel's part of the chain, then the user's.
    std::span<const std::uint64_t> join_words(const SourceSample& sample, std::span<const std::uint64_t> user_chain,
                                              UnwindEnd end);
    // The kernel's chain, marked if it is cut.
    [[nodiscard]] std::span<const std::uint64_t> callchain_words(const SourceSample& sample, std::uint32_t event_index,
                                                                 const Count& count);
    [[nodiscard]] bool is_cut(std::span<const std::uint64_t> callchain, std::uint32_t event_index) const;
    // Ends an incomplete chain with an outermost frame that gives the reason.
    void mark_truncated(std::span<const std::uint64_t> words);
    // Makes the tables of all images of a process: a walk in the kernel may continue on another stack than the copied
    // one.
    void make_tables(std::uint32_t pid, const MappingList& mappings);
    [[nodiscard]] bool is_interpreted(std::uint32_t pid);
    // The files of its images, so that processes that are still unknown can be unwound.
    void publish_files(const Process& process);
    static void count_end(UnwindEnd end, const Count& count);
    void count_unnamed(std::uint64_t value, const Count& count);

    Parts parts_;
    SchedulerFrames scheduler_;
    RunTimeCode code_;
    PythonFrames python_;
    ChainCache chains_;
    StackUnwinder unwinder_;
    std::uint64_t tables_made_generation_ = 0;  // of mappings handled by the last make_tables()
    StackUnwinder::Chain unwound_;
    std::vector<std::uint64_t> words_;  // of the current sample
    std::vector<std::uint64_t> kernel_words_;
    std::unique_ptr<ResolvedStack> resolved_;
    std::vector<std::size_t> callchain_depths_;  // by event: the kernel's limit of frames
    std::vector<std::uint32_t> changed_pids_;
    std::uint64_t names_not_read_ = 0;
    std::uint64_t unwinder_ticked_ns_ = 0;
};

}  // namespace perfleet
