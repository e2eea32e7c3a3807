// The Linux source: converts perf_event records of all CPUs, in order of time, into rows of samples, tracepoints, tasks
// and counters.
//
// One thread, and one of its own that empties the kernel's rings. Call begin(), then drain() whenever the wake
// descriptor is readable or wait_ms_max() has passed, read_counters() about once a second, and finish() at the end.
// Samples allocate no memory.
#pragma once

#include <cstdint>
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

namespace perfleet {

struct PerfSourceOptions {
    EventSetOptions events;
    bool include_self = false;  // system-wide: also record this process and its helpers
    std::uint32_t helper_pid = 0;
    // Reads the files of mapped images. Null: read in this process.
    std::shared_ptr<ImageReader> image_reader = nullptr;
    // Unwinds by BPF programs; where they can't, from stack copies (events.user_stack_bytes). Null: no BPF.
    std::shared_ptr<KernelUnwinder> kernel_unwinder = nullptr;
    bool unwinds_samples = true;  // unwinds samples, too; else only stacks of off-CPU times
    // Switch to frame pointers when the kernel drops too many samples that BPF programs unwind (--call-graph auto):
    // perf_event programs don't run while another BPF program does.
    bool may_follow_frame_pointers = false;
    // Off-CPU time per row, on average, in ns; 0: not recorded. Measured by BPF with a working kernel_unwinder, else
    // from the kernel's switches (switch_times.h).
    std::uint64_t off_cpu_period_ns = 0;
    bool off_cpu_by_kprobe = false;  // for tests: OffCpuTracer::Options::is_by_kprobe
    // Where programs write rows of events.probes; null: there are none.
    std::shared_ptr<ProbeArea> probe_area = nullptr;
    // Also take rows of running programs, or those started by others (probe_programs.h).
    bool finds_probe_programs = false;
    std::uint32_t stack_node_count_max = 1U << 19;
    // Called with each file that has frames of a sample, once for each content while it is mapped. The path is
    // borrowed.
    ImageFiles::OnSampledFile on_sampled_file = nullptr;
};

class PerfSource final : public ControlTaker {
public:
    // Opens the events; nothing is recorded yet. Errors: EventSet::open().
    [[nodiscard]] static Result<std::unique_ptr<PerfSource>> open(PerfSourceOptions options, const LogText& log);

    [[nodiscard]] const EventSet& events() const { return *events_; }
    [[nodiscard]] const KernelImages& kernel() const { return kernel_; }
    [[nodiscard]] bool sees_kernel() const;  // whether frames of the kernel are recorded

    // Readable when many records wait to be drained.
    [[nodiscard]] int wake_fd() const { return reader_.wake_fd(); }

    // Starts recording; first writes the running tasks. `sink` has an open epoch and is borrowed from now on.
    void begin(RowSink& sink);

    // Processes the available records.
    void drain();
    // Longest time in ms until the next drain(): BPF programs wait for tables made from records, rings of probes fill
    // quickly.
    [[nodiscard]] std::uint64_t wait_ms_max() const;
    // May reopen the events (PerfSourceOptions::may_follow_frame_pointers).
    void read_counters();

    // True when all requested processes and their children have ended. Never true system-wide.
    [[nodiscard]] bool all_processes_ended() const;

    // To be called between begin() and finish(), on drain()'s thread. Applied requests are written as rows.
    [[nodiscard]] ControlAnswer take_request(const ControlRequest& order) override;

    // Samples with this fraction of the chosen or requested frequencies, for system-wide events without a group, and
    // for off-CPU time. Writes a row for each event.
    void scale_frequencies(double scale);
    // Starts measuring the CPU time of BPF programs; bpf_run_ns() returns it in ns, 0 without BPF or if it is unknown.
    void measure_bpf();
    [[nodiscard]] std::uint64_t bpf_run_ns() const;

    // Stops recording, and processes the remaining records.
    void finish();
    // Number of rows of probes, or of a benchmark.
    [[nodiscard]] std::uint64_t probe_row_count() const { return probes_ != nullptr ? probes_->row_count() : 0; }
    // After finish(): warnings about samples that the kernel didn't deliver, or that lack names; a sentence each.
    [[nodiscard]] std::vector<std::string> missing_samples() const;
    // After finish(): writes a row with the status of the session's benchmark (protocol::kRunEnded).
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
    // From the kernel's switches: a thread leaves its CPU, with its stack, and returns.
    void take_leaving(const SourceSample& sample, StackNumber stack);
    void take_switch(const RecordBytes& record, std::uint32_t cpu);
    void take_kernel_symbol(const RecordBytes& record);
    void append_sample(Series series, const SourceSample& sample, std::uint32_t cpu, StackNumber stack,
                       std::uint64_t weight);
    // Makes a sample for each other event of the group from its counts since the last sample.
    void take_group_counts(const RecordOrigin& origin, const SourceSample& sample, std::uint32_t cpu,
                           std::optional<StackNumber> stack);
    // Rows of a thread's off-CPU time: blocked, runnable, and its waker.
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

    // To be called when an epoch has begun.
    void define_present();
    void read_processes();
    // Writes the process's cgroup if it has changed. `cgroup_id` is the kernel's; 0: unknown.
    void watch_cgroup(std::uint32_t pid, std::uint64_t cgroup_id, std::uint32_t cpu);
    void end_missing(std::uint64_t time);
    void sweep_images();

    PerfSourceOptions options_;
    std::shared_ptr<KernelUnwinder> kernel_unwinder_;  // null: no unwinding by BPF
    std::unique_ptr<OffCpuTracer> off_cpu_;            // null: no off-CPU time by BPF
    std::unique_ptr<ProbeReader> probes_;              // null: no program writes rows
    std::unique_ptr<ProbePrograms> probe_programs_;    // null: only the command's programs may
    std::unique_ptr<EventSet> events_;
    RingReader reader_;
    SampleReader samples_;
    KernelImages kernel_;
    std::uint64_t missed_count_ = 0;
    std::vector<std::uint64_t> wanted_hz_;  // by event; 0: no frequency
    ImageTable images_;
    ImageIndex unknown_image_;
    ImageFinder finder_;
    ImageFiles files_;
    ProcessTable processes_;
    SampleStacks stacks_;
    CgroupWatch cgroups_;
    std::optional<SwitchTimes> switches_;  // empty: not used
    std::uint64_t epoch_count_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> group_counts_;  // by event id; of events that their leader samples
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

    std::string refusal_;  // why the last request was rejected

    std::uint32_t own_pid_ = 0;
    bool skips_own_ = false;
    std::uint64_t time_ = 0;  // of the current record, never decreasing
    std::uint64_t epoch_began_ = 0;
    std::uint32_t short_epochs_ = 0;  // in a row
};

}  // namespace perfleet
