// The events of a session, open on all online CPUs, and the two rings of each CPU that their records go to: one for
// samples, a small one for the side-band, so that a flood of samples never loses a mapping.
//
// A resource. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "target-collector/source/linux/event/perf_attr.h"
#include "target-collector/source/linux/opening/event_set_options.h"
#include "target-collector/source/linux/opening/kernel_ring.h"
#include "target-collector/source/linux/opening/opening_plan.h"
#include "target-collector/source/linux/opening/sampled_threads.h"

namespace perfleet {

inline constexpr const char* kMaxSampleRatePath = "/proc/sys/kernel/perf_event_max_sample_rate";
inline constexpr std::uint32_t kRingPagesDefault = 256;
// Of the sample rings of all CPUs together, where copies of stacks go into them; no ring is below kRingPagesDefault.
inline constexpr std::uint64_t kCopyRingsSizeBytes = 64U << 20U;
inline constexpr std::uint32_t kRingPagesMax = 1U << 16;
inline constexpr std::uint32_t kSideBandRingPages = 32;

// Pages of a CPU's sample ring where none are asked for. It holds what is copied of stacks in half a second,
// for the reader may be that late on a busy machine. No rate: the events have periods.
[[nodiscard]] std::uint32_t default_ring_pages(std::uint32_t user_stack_bytes, std::optional<std::uint64_t> rate_hz,
                                               std::size_t cpu_count, std::uint32_t page_size_bytes);

// What the records of one descriptor are: those of an event, as it was opened when they were written.
struct RecordOrigin {
    std::uint32_t event_index = 0;
    RecordLayout layout;
    bool is_unwound = false;  // by a BPF program, which emits them
    bool is_off_cpu = false;  // of an OffCpuTracer
};

class EventSet {
public:
    // Errors: kUsage, kPermission, kUnsupported, kNotFound (pid), kFull (descriptors), kIo; each with the way out.
    [[nodiscard]] static Result<std::unique_ptr<EventSet>> open(EventSetOptions options, const LogText& log);
    EventSet(const EventSet&) = delete;
    EventSet& operator=(const EventSet&) = delete;
    ~EventSet();

    [[nodiscard]] std::span<const OpenEvent> events() const { return events_; }

    // First the sample rings, one for each CPU, then as many side-band rings, in the same order.
    [[nodiscard]] std::span<const std::unique_ptr<KernelRing>> rings() const { return rings_; }
    [[nodiscard]] std::span<const std::uint32_t> cpus() const { return cpus_; }
    [[nodiscard]] bool counts_lost() const { return features_.lost_counts; }

    // A BPF program unwinds its samples.
    [[nodiscard]] bool is_unwound_in_kernel(std::uint32_t event_index) const {
        return unwound_ordinal(event_index).has_value();
    }
    // BPF programs of others keep those that unwind from being run.
    [[nodiscard]] bool meets_other_programs() const {
        return options_.kernel_unwinder != nullptr && options_.kernel_unwinder->meets_others();
    }

    // Of its rows.
    [[nodiscard]] Series series_of(std::uint32_t event_index) const {
        return {events_[event_index].spec.row_kind(), EventNumber{static_cast<std::uint16_t>(event_index)}};
    }

    // Everything that runs, or the processes that these are and what they fork.
    [[nodiscard]] bool is_system_wide() const { return options_.all_cpus; }
    [[nodiscard]] std::span<const std::uint32_t> pids() const { return targets_.pids; }
    // The only threads that are recorded; empty: all of these processes.
    [[nodiscard]] std::span<const std::uint32_t> tids() const { return options_.tids; }

    void enable_side_band();
    void enable_sampling();  // but for those that wait for an exec
    void disable();

    // Of one event that is in no group, or of all when there is none. A stopped one keeps its mappings, names and
    // counter readings coming.
    void stop(std::optional<std::uint32_t> event_index);
    void start(std::optional<std::uint32_t> event_index);
    // Opens them anew, for the kernel tells the weights of samples wrongly where it changes a rate itself: records that
    // were written before keep theirs. Errors: kUsage (value), kUnsupported, kFull and the like; nothing is changed
    // then.
    [[nodiscard]] Result<Done> change_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate,
                                           std::uint64_t now_ns);
    // Fixed periods with jitter become others, where events aren't inherited: those keep the ones that they began with.
    // Those that can't be opened anew stay as they are.
    void redraw_periods(std::uint64_t now_ns);
    // From now on the kernel follows frame pointers, and no BPF program unwinds: the events are opened anew. Those of
    // threads in two steps: for all that live, as often as others are found, and once in place of the former ones,
    // which are closed. Errors: kFull and the like; the former ones go on then.
    [[nodiscard]] Result<Done> open_without_unwinder(std::span<const std::uint32_t> tids);
    [[nodiscard]] Result<Done> drop_unwinder(std::uint64_t now_ns);
    // All records up to this time have been taken.
    void forget_closed(std::uint64_t taken_until_ns);

    // Where a record of the sample rings comes from; null: from none of ours, or the side-band.
    [[nodiscard]] const RecordOrigin* origin_of(std::uint64_t id) const;
    // Which event a record of the sample rings is of; empty: none of ours, or the side-band.
    [[nodiscard]] std::optional<std::uint32_t> event_of(std::uint64_t id) const;

    // Of the off-CPU events the first (schemas/vocabulary/off_cpu.h has their order); empty: there are none.
    [[nodiscard]] std::optional<std::uint32_t> off_cpu_index() const { return off_cpu_index_; }

    struct Reading {
        std::uint64_t value = 0;
        std::uint64_t enabled_ns = 0;
        std::uint64_t running_ns = 0;
        std::uint64_t lost_count = 0;        // records; 0 when the kernel doesn't count them
        std::uint64_t descriptor_count = 0;  // of all that were ever opened for it
    };
    // Of event e on CPU c at [e * cpus().size() + c], summed over its threads; the side-band stands behind the events.
    // Events of a group are read at one moment, where this kernel can.
    [[nodiscard]] std::vector<Reading> read_all() const;

private:
    struct OpenFd {
        int fd = -1;
        OpeningRole role = OpeningRole::kAlone;
        std::uint32_t event_index = 0;  // kSideBandIndex: the side-band
        std::uint32_t cpu_index = 0;
        std::uint32_t plan_index = 0;  // of its opening
        std::uint64_t id = 0;
        bool has_copy = false;     // of an output: of stacks
        std::uint64_t weight = 0;  // of its samples, where they don't carry it; 0: as the event says
    };
    // What one descriptor reads of its event.
    struct OwnReading {
        std::size_t place = 0;  // in what read_all() gives
        Reading reading;
    };
    static constexpr std::uint64_t kClosingNsMax = 10'000'000'000;  // all of them, on a machine that is busy
    // A descriptor that is closed, of which records may still be in the rings.
    struct ClosedFd {
        std::uint64_t id = 0;
        RecordOrigin origin;
        std::uint64_t closing_ns = 0;  // from here on it was closed, within kClosingNsMax
    };
    explicit EventSet(EventSetOptions options) : options_{std::move(options)} {}

    Result<Done> plan(const LogText& log);
    Result<Done> choose_cpus();
    Result<Done> limit_frequency(const LogText& log);
    void limit_as_asked(EventSpec& spec) const;
    void choose_events(const LogText& log);
    Result<Done> probe_events(const LogText& log);
    // What its samples carry, and weigh when they don't, at its rate.
    void choose_layout(OpenEvent& event) const;
    // What can be had instead of an event that the kernel refused; false: nothing.
    bool fall_back(OpenEvent& event, int error, const LogText& log);
    bool fall_back_to_counting(OpenEvent& event, const LogText& log);
    // Weak groups that the kernel doesn't take become events by themselves.
    void dissolve_weak_groups(const LogText& log);
    // The first CPU that counts it; empty: none of ours does.
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
    // Switches what it stands for on and off: an event, or a group.
    [[nodiscard]] static bool is_switch(const OpenFd& open) {
        return open.role == OpeningRole::kAlone || open.role == OpeningRole::kLeader;
    }
    // Those of the open descriptors that are `wanted`, which are whole groups.
    void add_readings(std::span<const OpenFd> wanted, std::vector<Reading>& sums) const;
    [[nodiscard]] OwnReading read_own(const OpenFd& open) const;
    // False: it can't be read.
    bool add_group_reading(const OpenFd& reader, std::vector<Reading>& sums) const;
    // BPF programs: attached to an event; and what they emit through.
    Result<Done> attach_unwinder(int fd, std::uint32_t event_index) const;
    Result<Done> open_outputs();
    void add_off_cpu_events();
    Result<Done> open_off_cpu_outputs();
    // On a CPU, for BPF programs; the descriptor.
    Result<int> open_output(const perf_event_attr& attr, std::uint32_t event_index, std::uint32_t cpu_index,
                            bool has_copy);
    // Which of the events that are unwound in the kernel it is; empty: it isn't.
    [[nodiscard]] std::optional<std::uint32_t> unwound_ordinal(std::uint32_t event_index) const;
    // Opens those that are meant anew, at the rates that `changed` has.
    Result<Done> reopen(std::optional<std::uint32_t> event_index, std::vector<OpenEvent> changed, std::uint64_t now_ns);
    // The period of an opening, which is jittered where its event's are.
    [[nodiscard]] std::uint64_t draw_period(Opening& opening, const OpenEvent& event);
    // The descriptor; -1 when the thread has gone, which may be.
    Result<int> open_one(std::span<const Opening> plan, std::uint32_t plan_index, const SampledThread& target,
                         std::uint32_t cpu_index, int group_fd);
    [[nodiscard]] Error opening_error(const Opening& opening, int error) const;
    // Its ring, its id, and its filter.
    Result<Done> connect(OpenFd& open) const;
    void index_ids();
    [[nodiscard]] perf_event_attr attr_of(const OpenEvent& event) const;
    [[nodiscard]] AttrOptions attr_options() const;

    EventSetOptions options_;
    PerfFeatures features_;
    bool events_were_named_ = false;
    std::vector<OpenEvent> events_;
    std::optional<std::uint32_t> off_cpu_index_;
    std::vector<std::uint32_t> cpus_;
    SampledThreads targets_;
    std::vector<std::unique_ptr<KernelRing>> rings_;
    // Of tracepoints, until they are opened for good: the kernel takes some 40 ms to switch one off.
    std::vector<FileDescriptor> tried_fds_;
    std::vector<OpenFd> fds_;
    std::vector<OpenFd> next_fds_;  // open_without_unwinder(): until they take the places of others
    std::vector<ClosedFd> closed_;
    std::vector<Reading> closed_readings_;  // of all that were ever closed, as read_all() gives them; empty: none
    std::unordered_map<std::uint64_t, RecordOrigin> origins_;  // by the id that the kernel puts into records
};

}  // namespace perfleet
