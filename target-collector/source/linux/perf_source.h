// The Linux source: perf_event records of all CPUs in the order of time, as rows of samples, tracepoints, tasks and
// counters.
//
// One thread, and one of its own that empties the kernel's rings. begin(), then drain() whenever the wake descriptor is
// readable or some time has passed, read_counters() about once a second, and finish() at the end. No memory is taken
// for a sample.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/control.h"
#include "target-collector/source/linux/cgroup_watch.h"
#include "target-collector/source/linux/chain_cache.h"
#include "target-collector/source/linux/epoch_definitions.h"
#include "target-collector/source/linux/event_set.h"
#include "target-collector/source/linux/image_finder.h"
#include "target-collector/source/linux/image_table.h"
#include "target-collector/source/linux/kernel_images.h"
#include "target-collector/source/linux/kernel_losses.h"
#include "target-collector/source/linux/probe_reader.h"
#include "target-collector/source/linux/process_table.h"
#include "target-collector/source/linux/python_frames.h"
#include "target-collector/source/linux/ring_reader.h"
#include "target-collector/source/linux/run_time_code.h"
#include "target-collector/source/linux/scheduler_frames.h"
#include "target-collector/source/linux/stack_resolver.h"
#include "target-collector/source/linux/stack_unwinder.h"
#include "target-collector/source/linux/switch_times.h"
#include "target-collector/source/linux/time_merge.h"
#include "target-collector/source/row_sink.h"

namespace perfleet {

struct PerfSourceOptions {
    EventSetOptions events;
    bool include_self = false;  // system-wide: this process and its helper, too
    std::uint32_t helper_pid = 0;
    // By BPF programs, with copies of the stack (events.user_stack_bytes) where they can't. Null: none does.
    std::shared_ptr<KernelUnwinder> kernel_unwinder = nullptr;
    bool unwinds_samples = true;  // it; else only the stacks of threads that are off the CPU
    // Threads are followed off the CPU, with about a row for so much time: by BPF where there is a kernel_unwinder,
    // else by the kernel's switches (switch_times.h). 0: they aren't.
    std::uint64_t off_cpu_period_ns = 0;
    bool off_cpu_after_schedule = false;  // for tests: OffCpuTracer::Options::is_after_schedule
    // Where programs write the rows of events.probes; null: there are none.
    std::shared_ptr<ProbeArea> probe_area = nullptr;
    std::uint32_t stack_node_count_max = 1U << 19;
    // Called with each file that a frame of a sample lies in, once for each of its contents while it is mapped. The
    // path is borrowed until it returns.
    std::function<void(const MappedFile&, const ImageContentId&)> on_sampled_file = nullptr;
};

class PerfSource final : public ControlTaker {
public:
    // Opens the events; nothing is recorded yet. Errors: EventSet::open().
    [[nodiscard]] static Result<std::unique_ptr<PerfSource>> open(PerfSourceOptions options, const LogText& log);
    PerfSource(const PerfSource&) = delete;
    PerfSource& operator=(const PerfSource&) = delete;

    [[nodiscard]] const EventSet& events() const { return *events_; }
    [[nodiscard]] const KernelImages& kernel() const { return kernel_; }
    [[nodiscard]] bool sees_kernel() const;  // frames of the kernel are among what is recorded

    // Readable (EPOLLIN) when much waits to be drained.
    [[nodiscard]] int wake_fd() const { return reader_.wake_fd(); }

    // Starts recording. `sink` has an epoch open and is borrowed from now on. Begins with the tasks that run.
    void begin(RowSink& sink);

    // Takes what has come.
    void drain();
    // So soon what has come should be taken: BPF programs wait for what it tells, rings of probes are full soon.
    [[nodiscard]] std::uint64_t wait_ms_max() const;
    void read_counters();

    // True when none of the processes that were asked for is left, nor any that they forked. Never system-wide.
    [[nodiscard]] bool all_processes_ended() const;

    // Between begin() and finish(), on the same thread as drain(). What is done stands as a row in the sink.
    [[nodiscard]] ControlAnswer take_request(const ControlRequest& order) override;

    // Of the frequencies that were chosen, or requested since, so much is sampled from now on: what is measured
    // system-wide, and no group. Time off the CPU likewise. A row of the sink says so for each event.
    void scale_frequencies(double scale);
    // What BPF programs take is measured from now on: that they have taken, 0 where none is there or it can't be known.
    void measure_bpf();
    [[nodiscard]] std::uint64_t bpf_run_ns() const;

    // Stops recording, and takes the rest.
    void finish();

    // CPU time of the source's own thread; known after finish().
    [[nodiscard]] std::uint64_t own_cpu_ns() const { return reader_.cpu_ns(); }

    // CLOCK_MONOTONIC, the clock of all rows.
    [[nodiscard]] static Ticks now();

private:
    // Counts of an event that are handed over once a round.
    struct EventCounts {
        std::uint64_t own_skipped = 0;
        std::uint64_t frames_unmapped = 0;
        std::uint64_t frames_truncated = 0;
        std::uint64_t late = 0;
        std::uint64_t stacks_no_table = 0;
        std::uint64_t stacks_bad_address = 0;
        std::uint64_t stacks_not_copied = 0;
        std::uint64_t stacks_copied = 0;
    };

    PerfSource(PerfSourceOptions options, std::unique_ptr<OffCpuTracer> off_cpu, std::unique_ptr<EventSet> events,
               const LogText& log);

    void pass_until(std::uint64_t time_limit);
    [[nodiscard]] bool is_behind() const;
    void take(std::size_t ring_index, std::span<const std::byte> record);
    void take_sample(std::span<const std::byte> record, std::uint32_t cpu);
    // By the kernel's switches: a thread leaves its CPU, with its stack, and it is back.
    void take_leaving(const SampleRecord& sample, StackNumber stack);
    void take_switch(std::span<const std::byte> record, std::uint32_t cpu);
    void append_sample(Series series, const SampleRecord& sample, std::uint32_t cpu, StackNumber stack,
                       std::uint64_t weight);
    // What the other events of its group have counted since the last sample: a sample of each. Own: taken off, too.
    void take_group_counts(const RecordOrigin& origin, const SampleRecord& sample, std::uint32_t cpu,
                           std::optional<StackNumber> stack);
    // Of a chain of a thread that was off the CPU: its kernel part begins with what called the scheduler.
    void leave_out_scheduler(SampleRecord& sample);
    // Rows of a thread that was off the CPU: blocked, runnable, and who woke it.
    void append_off_cpu(const SampleRecord& sample, std::uint32_t cpu, StackNumber stack);
    // A stack of one frame that isn't code.
    std::optional<StackNumber> label_stack(std::string_view name, std::uint64_t offset);
    Result<Done> follow_targets();
    [[nodiscard]] Result<Done> set_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate);
    void append_request(const ControlRequest& order, std::uint64_t time);
    void count_missed();
    void take_side_band(std::span<const std::byte> record);
    void take_lost(std::span<const std::byte> record, std::size_t ring_index);
    void take_throttle(std::span<const std::byte> record, bool is_start);
    void take_map(std::span<const std::byte> record, const struct RecordTrailer& trailer);
    void hand_over_counts();
    [[nodiscard]] bool is_own(std::uint32_t pid) const {
        return skips_own_ && (pid == own_pid_ || (pid == options_.helper_pid && pid != 0));
    }
    [[nodiscard]] bool can_go_on();

    // The stack of a sample; restarts the epoch when a table is full.
    StackNumber stack_of(const SampleRecord& sample, EventCounts& counts);
    // The kernel's part of the chain, and behind it what is unwound from the copy of the user's stack.
    std::span<const std::uint64_t> unwound_words(const SampleRecord& sample, const MappingList& mappings,
                                                 EventCounts& counts);
    // The kernel's part of the chain, and behind it the user's.
    std::span<const std::uint64_t> join_words(const SampleRecord& sample, std::span<const std::uint64_t> user_chain,
                                              UnwindEnd end);
    // Marks a chain that isn't whole by an outermost frame that says why.
    void mark_truncated(std::span<const std::uint64_t> words);
    // Of all images of a process: a walk in the kernel may go on, on another stack, where one of a copy ends.
    void make_tables(std::uint32_t pid, const MappingList& mappings);
    void count_end(UnwindEnd end, EventCounts& counts) const;
    // Of the kernel's chain: marked where it is cut.
    [[nodiscard]] std::span<const std::uint64_t> callchain_words(const SampleRecord& sample, EventCounts& counts);
    [[nodiscard]] bool is_cut(std::span<const std::uint64_t> callchain, std::uint32_t event_index) const;
    // What BPF programs know of processes is brought up to date at the end of a round.
    void note_changed(std::uint32_t pid, bool is_wanted = false);
    void publish_changed();
    [[nodiscard]] std::optional<UnwindTable> unwind_table_of(ImageIndex index, std::uint32_t pid,
                                                             const Mapping& mapping) const;
    [[nodiscard]] std::optional<PythonSymbols> python_symbols_of_image(ImageIndex index, std::uint32_t pid,
                                                                       const Mapping& mapping) const;
    // -1: it can't be opened.
    [[nodiscard]] int open_file_of(ImageIndex index, std::uint32_t pid, const Mapping& mapping) const;
    void note_files(const ResolvedStack& stack, std::uint32_t pid, const MappingList& mappings);
    std::optional<StackNumber> intern_stack(const ResolvedStack& stack);
    StringNumber string_number(std::string_view text);
    ImageNumber image_number(ImageIndex image);

    void restart_epoch();
    void read_processes();
    void write_presence();
    // Writes which cgroup the process is in where it is due to be read, and is another one.
    void watch_cgroup(std::uint32_t pid, std::uint32_t cpu);
    void write_cgroup(const Process& process, std::uint32_t cpu);
    void write_mapping(std::uint64_t time, std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid,
                       const Mapping& mapping);
    void sweep_images();

    PerfSourceOptions options_;
    std::shared_ptr<KernelUnwinder> kernel_unwinder_;  // null: no BPF program unwinds
    std::unique_ptr<OffCpuTracer> off_cpu_;            // null: threads aren't followed
    std::unique_ptr<ProbeReader> probes_;              // null: no program writes rows
    std::unique_ptr<EventSet> events_;
    RingReader reader_;
    KernelImages kernel_;
    SchedulerFrames scheduler_;
    std::uint64_t missed_count_ = 0;
    std::vector<std::uint64_t> wanted_hz_;  // by event; 0: it has no frequency
    ImageTable images_;
    ImageFinder finder_;
    RunTimeCode code_;
    PythonFrames python_;
    ImageIndex unknown_image_ = 0;
    ProcessTable processes_;
    CgroupWatch cgroups_;
    TimeMerge<KernelRing> merge_;
    ChainCache chains_;
    StackUnwinder unwinder_;
    std::uint64_t tables_made_generation_ = 0;  // of the mappings whose tables were made last (make_tables)
    StackUnwinder::Chain unwound_;
    std::vector<std::uint64_t> words_;  // of the sample at hand
    std::vector<std::uint64_t> kernel_words_;
    std::unique_ptr<ResolvedStack> resolved_;
    std::vector<bool> is_file_noted_;            // by image
    std::vector<std::size_t> callchain_depths_;  // by event: frames that the kernel gives at most
    std::optional<SwitchTimes> switches_;        // empty: nobody follows them
    std::uint64_t epoch_count_ = 0;
    std::vector<EventCounts> counts_;                                // by event
    std::unordered_map<std::uint64_t, std::uint64_t> group_counts_;  // by the id of an event that its leader samples
    EventCounts task_counts_;
    KernelLosses losses_;
    RowSink* sink_ = nullptr;
    std::optional<EpochDefinitions> definitions_;

    std::vector<std::uint32_t> changed_pids_;
    bool has_news_ = false;
    std::uint64_t unwinder_ticked_ns_ = 0;
    std::uint64_t periods_drawn_ns_ = 0;

    std::string refusal_;  // why the last request wasn't done

    std::uint32_t own_pid_ = 0;
    bool skips_own_ = false;
    std::uint64_t time_ = 0;  // of the record at hand, never going back
    std::uint64_t epoch_began_ = 0;
    std::uint32_t short_epochs_ = 0;  // in a row
    bool is_writing_presence_ = false;
};

}  // namespace perfleet
