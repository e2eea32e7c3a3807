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
#include "target-collector/message/row_sink.h"
#include "target-collector/process/epoch_definitions.h"
#include "target-collector/process/image_finder.h"
#include "target-collector/process/process_table.h"
#include "target-collector/records/record_reader.h"
#include "target-collector/records/sample_reader.h"
#include "target-collector/source/linux/cgroup_watch.h"
#include "target-collector/source/linux/image/image_files.h"
#include "target-collector/source/linux/opening/event_set.h"
#include "target-collector/source/linux/opening/kernel_losses.h"
#include "target-collector/source/linux/opening/ring_reader.h"
#include "target-collector/source/linux/probe_programs.h"
#include "target-collector/source/linux/probe_reader.h"
#include "target-collector/source/linux/sample_balance.h"
#include "target-collector/source/linux/sample_stacks.h"
#include "target-collector/source/linux/switch_times.h"
#include "target-collector/source/linux/time_merge.h"

namespace perfleet {

struct PerfSourceOptions {
    EventSetOptions events;
    bool include_self = false;  // system-wide: this process and its helpers, too
    std::uint32_t helper_pid = 0;
    // Reads the files that programs are mapped from. Null: they are read here.
    std::shared_ptr<ImageReader> image_reader = nullptr;
    // By BPF programs, with copies of the stack (events.user_stack_bytes) where they can't. Null: none does.
    std::shared_ptr<KernelUnwinder> kernel_unwinder = nullptr;
    bool unwinds_samples = true;  // it; else only the stacks of threads that are off the CPU
    // Frame pointers are followed instead once the kernel drops too many samples that it would unwind (--call-graph
    // auto): programs of perf_event don't run while another BPF program does.
    bool may_follow_frame_pointers = false;
    // Threads are followed off the CPU, with about a row for so much time: by BPF where there is a kernel_unwinder and
    // it can, else by the kernel's switches (switch_times.h). 0: they aren't.
    std::uint64_t off_cpu_period_ns = 0;
    bool off_cpu_by_kprobe = false;  // for tests: OffCpuTracer::Options::is_by_kprobe
    // Where programs write the rows of events.probes; null: there are none.
    std::shared_ptr<ProbeArea> probe_area = nullptr;
    // Rows of programs that run already, or that others start, too (probe_programs.h).
    bool finds_probe_programs = false;
    std::uint32_t stack_node_count_max = 1U << 19;
    // Called with each file that a frame of a sample lies in, once for each of its contents while it is mapped. The
    // path is borrowed until it returns.
    ImageFiles::OnSampledFile on_sampled_file = nullptr;
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
    // May open the events anew (PerfSourceOptions::may_follow_frame_pointers).
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
    // Rows of probes, or of a benchmark.
    [[nodiscard]] std::uint64_t probe_row_count() const { return probes_ != nullptr ? probes_->row_count() : 0; }
    // Behind finish(): what the user should know of samples that the kernel didn't deliver, or that lack names; a
    // sentence each.
    [[nodiscard]] std::vector<std::string> missing_samples() const;
    // Behind finish(): a row that says how the benchmark of the session has ended (protocol::kRunEnded).
    void append_run_end(std::uint64_t status);

    // CLOCK_MONOTONIC, the clock of all rows.
    [[nodiscard]] static Ticks now();

private:
    PerfSource(PerfSourceOptions options, std::unique_ptr<OffCpuTracer> off_cpu, std::unique_ptr<EventSet> events,
               const LogText& log);

    void pass_until(std::uint64_t time_limit);
    [[nodiscard]] bool is_behind() const;
    void take(std::size_t ring_index, std::span<const std::byte> record);
    void take_sample(const RecordBytes& record, std::size_t cpu_index);
    // By the kernel's switches: a thread leaves its CPU, with its stack, and it is back.
    void take_leaving(const SourceSample& sample, StackNumber stack);
    void take_switch(const RecordBytes& record, std::uint32_t cpu);
    void append_sample(Series series, const SourceSample& sample, std::uint32_t cpu, StackNumber stack,
                       std::uint64_t weight);
    // What the other events of its group have counted since the last sample: a sample of each. Own: taken off, too.
    void take_group_counts(const RecordOrigin& origin, const SourceSample& sample, std::uint32_t cpu,
                           std::optional<StackNumber> stack);
    // Rows of a thread that was off the CPU: blocked, runnable, and who woke it.
    void append_off_cpu(const SourceSample& sample, std::uint32_t cpu, StackNumber stack);
    Result<Done> follow_targets();
    [[nodiscard]] Result<Done> set_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate);
    void append_request(const ControlRequest& order, Ticks time);
    void count_missed();
    void take_side_band(const RecordBytes& record);
    void take_lost(const RecordBytes& record, std::size_t ring_index);
    void take_throttle(const RecordBytes& record, std::size_t cpu_index, bool is_start);
    void take_map(const RecordBytes& record, const RecordTrailer& trailer);
    void take_counters();
    void reconsider_unwinder();
    Result<Done> follow_frame_pointers();
    [[nodiscard]] bool is_own(std::uint32_t pid) const {
        return skips_own_ && pid != 0 && (pid == own_pid_ || pid == options_.helper_pid || pid == files_.reader_pid());
    }
    [[nodiscard]] bool can_go_on();

    void note_changed(std::uint32_t pid);

    // When an epoch has begun.
    void define_present();
    void read_processes();
    // Writes which cgroup the process is in where it is another one: `cgroup_id` is the kernel's, 0: it doesn't say.
    void watch_cgroup(std::uint32_t pid, std::uint64_t cgroup_id, std::uint32_t cpu);
    void end_missing(std::uint64_t time);
    void sweep_images();

    PerfSourceOptions options_;
    std::shared_ptr<KernelUnwinder> kernel_unwinder_;  // null: no BPF program unwinds
    std::unique_ptr<OffCpuTracer> off_cpu_;            // null: threads aren't followed
    std::unique_ptr<ProbeReader> probes_;              // null: no program writes rows
    std::unique_ptr<ProbePrograms> probe_programs_;    // null: only those of the command may
    std::unique_ptr<EventSet> events_;
    RingReader reader_;
    SampleReader samples_;
    KernelImages kernel_;
    std::uint64_t missed_count_ = 0;
    std::vector<std::uint64_t> wanted_hz_;  // by event; 0: it has no frequency
    ImageTable images_;
    ImageIndex unknown_image_;
    ImageFinder finder_;
    ImageFiles files_;
    ProcessTable processes_;
    SampleStacks stacks_;
    CgroupWatch cgroups_;
    TimeMerge<KernelRing> merge_;
    std::optional<SwitchTimes> switches_;  // empty: nobody follows them
    std::uint64_t epoch_count_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> group_counts_;  // by the id of an event that its leader samples
    KernelLosses losses_;
    SampleBalance balance_;
    std::vector<EventSet::Reading> held_readings_;  // the last ones
    std::uint32_t drain_count_ = 0;                 // since then
    RowSink* sink_ = nullptr;
    std::optional<EpochDefinitions> definitions_;

    bool has_news_ = false;
    std::uint64_t periods_drawn_ns_ = 0;
    std::uint64_t missing_looked_ns_ = 0;

    struct SeenFork {
        std::uint32_t tid = 0;
        std::uint32_t parent_tid = 0;
        std::uint64_t time = 0;
    };
    std::vector<SeenFork>* seen_forks_ = nullptr;  // within follow_frame_pointers()
    LogText log_;

    std::string refusal_;  // why the last request wasn't done

    std::uint32_t own_pid_ = 0;
    bool skips_own_ = false;
    std::uint64_t time_ = 0;  // of the record at hand, never going back
    std::uint64_t epoch_began_ = 0;
    std::uint32_t short_epochs_ = 0;  // in a row
};

}  // namespace perfleet
