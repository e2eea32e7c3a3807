// The events of a session, opened on all online CPUs, and two rings for each CPU: one for samples, a small one for the
// side-band, so that a flood of samples never loses a mapping.
//
// A resource. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/source/linux/event/perf_attr.h"
#include "target-collector/source/linux/opening/event_set_options.h"
#include "target-collector/source/linux/opening/kernel_ring.h"
#include "target-collector/source/linux/opening/opening_plan.h"
#include "target-collector/source/linux/opening/sampled_threads.h"

namespace perfleet {

inline constexpr const char* kMaxSampleRatePath = "/proc/sys/kernel/perf_event_max_sample_rate";
inline constexpr std::uint32_t kRingPagesDefault = 256;
// Limit of all sample rings together if they contain copies of stacks; each ring still has at least kRingPagesDefault.
inline constexpr std::uint64_t kCopyRingsSizeBytes = 64U << 20U;
inline constexpr std::uint32_t kRingPagesMax = 1U << 16;
inline constexpr std::uint32_t kSideBandRingPages = 32;

// Default pages of a CPU's sample ring. It holds half a second of stack copies, because the reader may be that late on
// a busy machine. `rate_hz` none: the events have periods.
[[nodiscard]] std::uint32_t default_ring_pages(std::uint32_t user_stack_bytes, std::optional<std::uint64_t> rate_hz,
                                               std::size_t cpu_count, std::uint32_t page_size_bytes);

// The source of a descriptor's records: an event, as it was opened when they were written.
struct RecordOrigin {
    std::uint32_t event_index = 0;
    RecordLayout layout;
    bool is_unwound = false;  // emitted by a BPF program that unwinds
    bool is_off_cpu = false;  // of an OffCpuTracer
};

class EventSet : NonCopyable {
public:
    // Errors: kUsage, kPermission, kUnsupported, kNotFound (pid), kFull (descriptors), kIo; each says what to do.
    [[nodiscard]] static Result<std::unique_ptr<EventSet>> open(EventSetOptions options, const LogText& log);
    ~EventSet();

    [[nodiscard]] std::span<const OpenEvent> events() const { return events_; }

    // First the sample rings, one for each CPU, then the side-band rings in the same order.
    [[nodiscard]] std::span<const std::unique_ptr<KernelRing>> rings() const { return rings_; }
    [[nodiscard]] std::span<const std::uint32_t> cpus() const { return cpus_; }
    [[nodiscard]] bool counts_lost() const { return features_.lost_counts; }

    // Whether a BPF program unwinds the event's samples.
    [[nodiscard]] bool is_unwound_in_kernel(std::uint32_t event_index) const {
        return unwound_ordinal(event_index).has_value();
    }
    // Whether other users' BPF programs prevent runs of those that unwind.
    [[nodiscard]] bool meets_other_programs() const {
        return options_.kernel_unwinder != nullptr && options_.kernel_unwinder->meets_others();
    }

    // The layout of the event's detailed rows for readers: the requested registers, no copied stacks.
    [[nodiscard]] perf_event_attr stored_attr(const OpenEvent& event) const;

    // The series of the event's rows.
    [[nodiscard]] Series series_of(std::uint32_t event_index) const {
        return {events_[event_index].spec.row_kind(), EventNumber{static_cast<std::uint16_t>(event_index)}};
    }

    // Whether everything is recorded; else these processes and their children.
    [[nodiscard]] bool is_system_wide() const { return options_.all_cpus; }
    [[nodiscard]] std::span<const std::uint32_t> pids() const { return targets_.pids; }
    // The only recorded threads; empty: all of these processes.
    [[nodiscard]] std::span<const std::uint32_t> tids() const { return options_.tids; }

    void enable_side_band();
    void enable_sampling();  // except those that wait for an exec
    void disable();

    // For one event without a group, or for all if there is no index. Mappings, names and counter readings of a stopped
    // event continue.
    void stop(std::optional<std::uint32_t> event_index);
    void start(std::optional<std::uint32_t> event_index);
    // To be called every few ms while has_late_copies(): enables copies of started events that a fork was making
    // meanwhile.
    void enable_late_copies(std::uint64_t now_ns);
    [[nodiscard]] bool has_late_copies() const { return late_copies_next_ns_ != 0; }
    // Reopens the events, because the kernel reports wrong weights of samples if it changes a rate itself; records
    // written before keep theirs. Errors: kUsage (value), kUnsupported, kFull and the like; then nothing is changed.
    [[nodiscard]] Result<Done> change_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate,
                                           std::uint64_t now_ns);
    // Draws new jittered periods, for events that aren't inherited: inherited ones keep their first period. Events that
    // can't be reopened stay unchanged.
    void redraw_periods(std::uint64_t now_ns);
    // Switches from BPF unwinding to the kernel's frame pointers by reopening the events, in two steps for threads:
    // open_without_unwinder() for all living threads, repeated as others are found; then drop_unwinder() replaces and
    // closes the former ones. Errors: kFull and the like; then the former ones continue.
    [[nodiscard]] Result<Done> open_without_unwinder(std::span<const std::uint32_t> tids);
    [[nodiscard]] Result<Done> drop_unwinder(std::uint64_t now_ns);
    // All records up to this time have been processed: forgets descriptors closed before.
    void forget_closed(std::uint64_t taken_until_ns);

    // The origin of a record in the sample rings; null: unknown, or the side-band.
    [[nodiscard]] const RecordOrigin* origin_of(std::uint64_t id) const;
    // The event of a record in the sample rings; empty: unknown, or the side-band.
    [[nodiscard]] std::optional<std::uint32_t> event_of(std::uint64_t id) const;

    // The first off-CPU event (their order: schemas/vocabulary/off_cpu.h); empty: there are none.
    [[nodiscard]] std::optional<std::uint32_t> off_cpu_index() const { return off_cpu_index_; }

    struct Reading {
        std::uint64_t value = 0;
        std::uint64_t enabled_ns = 0;
        std::uint64_t running_ns = 0;
        std::uint64_t lost_count = 0;        // records; 0 if the kernel doesn't count them
        std::uint64_t descriptor_count = 0;  // all that were ever opened for it
    };
    // The reading of event e on CPU c is at [e * cpus().size() + c], summed over threads; the side-band follows the
    // events. Events of a group are read at one moment if the kernel supports it.
    [[nodiscard]] std::vector<Reading> read_all() const;

private:
    struct OpenFd {
        int fd = -1;
        OpeningRole role = OpeningRole::kAlone;
        std::uint32_t event_index = 0;  // kSideBandIndex: the side-band
        std::uint32_t cpu_index = 0;
        std::uint32_t plan_index = 0;  // of its opening
        std::uint64_t id = 0;
        bool has_copy = false;     // an output for copies of stacks
        std::uint64_t weight = 0;  // of its samples, if they don't carry it; 0: the event's
    };
    // What one descriptor reads for its event.
    struct OwnReading {
        std::size_t place = 0;  // in what read_all() gives
        Reading reading;
    };
    static constexpr std::uint64_t kClosingNsMax = 10'000'000'000;  // longest closing of all of them, on a busy machine
    // A closed descriptor; its records may still be in the rings.
    struct ClosedFd {
        std::uint64_t id = 0;
        RecordOrigin origin;
        std::uint64_t closing_ns = 0;  // when it was closed, within kClosingNsMax
    };
    static constexpr std::uint64_t kLateCopiesNsMin = 1'000'000;
    static constexpr std::uint64_t kLateCopiesNsMax = 8'000'000'000;  // between two turns; a loaded machine needs some
    explicit EventSet(EventSetOptions options) : options_{std::move(options)} {}

    void enable(std::optional<std::uint32_t> event_index);
    // A fork copies its parent's events one by one with their state, and isn't kept out while they are enabled: a copy
    // made before, and known after, is off. (With tracepoints the kernel makes a fork wait for all who open or close
    // some.) Where it then exchanges the events of parent and child, which it takes for equal, the parent isn't sampled
    // either.
    void enable_with_copies(std::optional<std::uint32_t> event_index);

    Result<Done> plan(const LogText& log);
    Result<Done> choose_cpus();
    Result<Done> limit_frequency(const LogText& log);
    void limit_as_asked(EventSpec& spec) const;
    void choose_events(const LogText& log);
    Result<Done> probe_events(const LogText& log);
    // Chooses what its samples carry, and their weight otherwise, at its rate.
    void choose_layout(OpenEvent& event) const;
    // Replaces an event that the kernel refused by the next best; false: impossible.
    bool fall_back(OpenEvent& event, int error, const LogText& log);
    bool fall_back_to_counting(OpenEvent& event, const LogText& log);
    // Splits weak groups that the kernel refuses into single events.
    void dissolve_weak_groups(const LogText& log);
    // The first recorded CPU that counts it; empty: none.
    [[nodiscard]] std::optional<std::uint32_t> first_cpu_of(const EventSpec& spec) const;
    int open_for_probe(const perf_event_attr& attr, const EventSpec& spec, int group_fd = -1) const;
    [[nodiscard]] bool can_have_user_space_only(const OpenEvent& event) const;
    [[nodiscard]] bool is_optional_gone(const SampledThread& target, int error) const;
    Result<Done> make_room_for_descriptors() const;
    Result<Done> map_rings(const LogText& log);
    Result<Done> open_events();
    Result<Done> open_on(std::span<const Opening> plan, const SampledThread& target, std::uint32_t cpu_index,
                         bool with_side_band);
    void close_all(std::span<const OpenFd> closing, std::uint64_t now_ns);
    [[nodiscard]] RecordOrigin origin_of_event(const OpenFd& open) const;
    [[nodiscard]] RecordOrigin origin_of_output(const OpenFd& open) const;
    [[nodiscard]] static bool is_meant(const OpenFd& open, std::optional<std::uint32_t> event_index) {
        return open.role != OpeningRole::kSideBand && open.role != OpeningRole::kOutput &&
               (!event_index || open.event_index == *event_index);
    }
    // Whether it enables and disables an event or a group.
    [[nodiscard]] static bool is_switch(const OpenFd& open) {
        return open.role == OpeningRole::kAlone || open.role == OpeningRole::kLeader;
    }
    // Adds the readings of `wanted` descriptors, which are whole groups.
    void add_readings(std::span<const OpenFd> wanted, std::vector<Reading>& sums) const;
    [[nodiscard]] OwnReading read_own(const OpenFd& open) const;
    // False: unreadable.
    bool add_group_reading(const OpenFd& reader, std::vector<Reading>& sums) const;
    // For BPF programs: attach them to an event, and open their outputs.
    Result<Done> attach_unwinder(int fd, std::uint32_t event_index) const;
    Result<Done> open_outputs();
    void add_off_cpu_events();
    Result<Done> open_off_cpu_outputs();
    // Opens an output on a CPU for BPF programs; returns the descriptor.
    Result<int> open_output(const perf_event_attr& attr, std::uint32_t event_index, std::uint32_t cpu_index,
                            bool has_copy);
    // Its number among the events unwound in the kernel; empty: it isn't one.
    [[nodiscard]] std::optional<std::uint32_t> unwound_ordinal(std::uint32_t event_index) const;
    // Reopens an event, or all, at the rates in `changed`.
    Result<Done> reopen(std::optional<std::uint32_t> event_index, std::vector<OpenEvent> changed, std::uint64_t now_ns);
    // The period of an opening, with jitter if the event's periods have it.
    [[nodiscard]] std::uint64_t draw_period(Opening& opening, const OpenEvent& event);
    // Returns the descriptor; -1 if the thread has ended, which is no error.
    Result<int> open_one(std::span<const Opening> plan, std::uint32_t plan_index, const SampledThread& target,
                         std::uint32_t cpu_index, int group_fd);
    // Why the event can't have the details that are wanted, if it is for that.
    [[nodiscard]] std::optional<Error> refused_details(const EventSpec& event, int error) const;
    [[nodiscard]] Error opening_error(const Opening& opening, int error) const;
    // Connects its ring, its id, and its filter.
    Result<Done> connect(OpenFd& open) const;
    void index_ids();
    [[nodiscard]] perf_event_attr attr_of(const OpenEvent& event) const;
    [[nodiscard]] AttrOptions attr_options() const;

    EventSetOptions options_;
    PerfFeatures features_;
    bool events_were_named_ = false;
    std::vector<OpenEvent> events_;
    std::optional<std::uint32_t> off_cpu_index_;
    std::uint64_t late_copies_next_ns_ = 0;  // 0: nothing is to be done
    std::uint64_t late_copies_wait_ns_ = 0;
    std::vector<std::uint32_t> cpus_;
    SampledThreads targets_;
    std::vector<std::unique_ptr<KernelRing>> rings_;
    // Tracepoints opened for a trial are kept until the final opening: closing one takes the kernel some 40 ms.
    std::vector<FileDescriptor> tried_fds_;
    std::vector<OpenFd> fds_;
    std::vector<OpenFd> next_fds_;  // of open_without_unwinder(), before they replace others
    std::vector<ClosedFd> closed_;
    std::vector<Reading> closed_readings_;  // sums over all closed descriptors, as in read_all(); empty: none
    std::unordered_map<std::uint64_t, RecordOrigin> origins_;  // by the kernel's id in records
};

}  // namespace perfleet
