#include "target-collector/source/linux/event_set.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "schemas/vocabulary/off_cpu.h"
#include "target-collector/source/linux/cpu_list.h"
#include "target-collector/source/linux/event_parser.h"
#include "target-collector/source/linux/event_table.h"
#include "target-collector/source/linux/event_trouble.h"
#include "target-collector/source/linux/proc_reader.h"
#include "target-collector/source/linux/small_file.h"
#include "target-collector/source/linux/word_hash.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kSideBandRingPagesMin = 1;
// A reading of one event is its value, time enabled, time running, id and lost; of a group:
constexpr std::size_t kGroupReadingHeader = 3;  // events, time enabled, time running; then value, id, lost of each
constexpr int kGroupReadWaitsMax = 20;
constexpr long kGroupReadWaitNs = 50'000;
constexpr std::size_t kGroupReadingValuesMax = kGroupReadingHeader + ((kGroupEventsMax + 1) * 3);  // with its reader

}  // namespace

Result<std::unique_ptr<EventSet>> EventSet::open(EventSetOptions options, const LogText& log) {
    std::unique_ptr<EventSet> set(new EventSet(std::move(options)));
    PERFLEET_TRY(set->plan(log));
    PERFLEET_TRY(set->make_room_for_descriptors());
    PERFLEET_TRY(set->map_rings(log));
    PERFLEET_TRY(set->open_events());
    set->close_tried();
    return set;
}

EventSet::~EventSet() {
    close_tried();
    for (const OpenFd& open : fds_) {
        ::close(open.fd);
    }
}

Result<Done> EventSet::plan(const LogText& log) {
    cpus_ = online_cpus();
    features_ = probe_perf_features();
    PERFLEET_TRY(choose_cpus());
    PERFLEET_TRY(limit_frequency(log));
    choose_events(log);
    PERFLEET_TRY(find_targets());
    PERFLEET_TRY(probe_events(log));
    add_off_cpu_events();
    for (EventSpec& spec : options_.probes) {
        OpenEvent event;
        event.spec = std::move(spec);
        event.rate = {false, 1};
        events_.push_back(std::move(event));
    }
    return Done{};
}

Result<Done> EventSet::choose_cpus() {
    for (const std::uint32_t cpu : options_.cpus) {
        if (std::find(cpus_.begin(), cpus_.end(), cpu) == cpus_.end()) {
            return Error{ErrorCode::kUsage, "-C " + std::to_string(cpu) +
                                                ": this CPU isn't online; /sys/devices/system/cpu/online lists those "
                                                "that are"};
        }
    }
    return Done{};
}

Result<Done> EventSet::limit_frequency(const LogText& log) {
    const auto rate_max = options_.sampling.frequency_hz ? read_integer_file(kMaxSampleRatePath) : std::nullopt;
    if (!rate_max || *rate_max <= 0 || *options_.sampling.frequency_hz <= static_cast<std::uint64_t>(*rate_max)) {
        return Done{};
    }
    const std::string limit = std::to_string(*rate_max) + " Hz, the limit in " + kMaxSampleRatePath;
    const std::string asked = "-F " + std::to_string(*options_.sampling.frequency_hz);
    if (options_.is_frequency_strict) {
        return Error{ErrorCode::kUsage, asked + " is above " + limit +
                                            " (--strict-freq); raise the limit, take a lower frequency, or -F max"};
    }
    options_.sampling.frequency_hz = static_cast<std::uint64_t>(*rate_max);
    log(asked + ": sampling at " + limit +
        ", which can be raised; the kernel lowers it when sampling takes too long (--strict-freq refuses instead)");
    return Done{};
}

void EventSet::choose_events(const LogText& log) {
    events_were_named_ = !options_.events.empty() || !options_.probes.empty();
    if (!events_were_named_) {
        options_.events.push_back(spec_of(*find_named_event("cycles")));
    }
    for (EventSpec& spec : options_.events) {
        spec.exclude_kernel = spec.exclude_kernel || options_.all_user;
        spec.exclude_user = spec.exclude_user || options_.all_kernel;
        spec.is_inherited = spec.is_inherited && options_.is_inherited && options_.tids.empty();
        spec.record_only(options_.cpus);
        if (spec.samples_group && !options_.all_cpus) {
            log("the group of " + spec.name +
                " (:S) isn't inherited: processes and threads that start later aren't "
                "recorded; -a records all");
        }
        OpenEvent event;
        event.rate = sampling_rate_of(spec, options_.sampling);
        event.spec = std::move(spec);
        events_.push_back(std::move(event));
    }
}

Result<Done> EventSet::find_targets() {
    if (options_.all_cpus) {
        targets_.push_back({-1, true, true});
        return Done{};
    }
    if (!options_.tids.empty()) {
        return find_threads();
    }
    if (options_.uid) {
        for (const std::uint32_t pid : proc_pids()) {
            if (proc_uid(pid) == *options_.uid) {
                add_optional_targets(pid);
            }
        }
        return targets_.empty() ? Result<Done>{Error{ErrorCode::kNotFound, "--uid " + std::to_string(*options_.uid) +
                                                                               ": no process of this user runs"}}
                                : Result<Done>{Done{}};
    }
    for (const std::uint32_t pid : options_.pids) {
        const std::vector<ProcThread> threads = proc_threads(pid);
        if (threads.empty()) {
            return Error{ErrorCode::kNotFound, "-p " + std::to_string(pid) + ": there is no process with this id"};
        }
        pids_.push_back(pid);
        for (const ProcThread& thread : threads) {
            targets_.push_back({static_cast<std::int32_t>(thread.tid), thread.tid == pid, true});
        }
    }
    if (options_.with_descendants) {
        for (const std::uint32_t pid : proc_with_descendants(options_.pids)) {
            if (std::find(options_.pids.begin(), options_.pids.end(), pid) == options_.pids.end()) {
                add_optional_targets(pid);
            }
        }
    }
    return Done{};
}

// Of the other threads of their processes mappings and names: they share them.
Result<Done> EventSet::find_threads() {
    for (const std::uint32_t tid : options_.tids) {
        const auto pid = proc_pid_of_thread(tid);
        if (!pid) {
            return Error{ErrorCode::kNotFound, "-t " + std::to_string(tid) + ": there is no thread with this id"};
        }
        if (std::find(pids_.begin(), pids_.end(), *pid) != pids_.end()) {
            continue;
        }
        pids_.push_back(*pid);
        for (const ProcThread& thread : proc_threads(*pid)) {
            const bool is_meant =
                std::find(options_.tids.begin(), options_.tids.end(), thread.tid) != options_.tids.end();
            targets_.push_back({static_cast<std::int32_t>(thread.tid), is_meant, is_meant});
        }
    }
    return Done{};
}

void EventSet::add_optional_targets(std::uint32_t pid) {
    const std::vector<ProcThread> threads = proc_threads(pid);
    if (threads.empty() || pid == static_cast<std::uint32_t>(::getpid())) {
        return;
    }
    pids_.push_back(pid);
    for (const ProcThread& thread : threads) {
        targets_.push_back({static_cast<std::int32_t>(thread.tid), false, true});
    }
}

bool EventSet::is_optional_gone(const Target& target, int error) const {
    return !target.is_required && (error == ESRCH || is_permission(error));
}

Result<Done> EventSet::make_room_for_descriptors() const {
    constexpr std::uint64_t kOthers = 64;  // logs, sockets, /proc
    const std::uint64_t wanted = kOthers + tried_fds_.size() +
                                 (cpus_.size() * (2 + events_.size() + (targets_.size() * opening_count(events_))));
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return Done{};
    }
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < wanted) {
        return descriptors_error(wanted);
    }
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return Done{};
}

AttrOptions EventSet::attr_options() const {
    AttrOptions attr;
    attr.callchain = options_.callchain;
    attr.user_stack_bytes = options_.user_stack_bytes;
    attr.is_copy_rare = options_.kernel_unwinder != nullptr;
    attr.inherit = !options_.all_cpus;
    attr.enable_on_exec = options_.enable_on_exec && !options_.all_cpus && !options_.begins_stopped;
    return attr;
}

perf_event_attr EventSet::attr_of(const OpenEvent& event) const {
    return sampling_attr(event.spec, event.rate, attr_options(), features_);
}

Result<Done> EventSet::map_rings(const LogText& log) {
    const auto page_size_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    const std::uint32_t wanted = options_.ring_page_count > 0 ? options_.ring_page_count : kRingPagesDefault;
    std::uint32_t sample_pages = wanted;
    std::uint32_t side_band_pages = std::min(wanted, kSideBandRingPages);
    for (;;) {
        rings_.clear();
        int error = 0;
        for (std::size_t i = 0; i < cpus_.size() * 2 && error == 0; ++i) {
            const bool is_side_band = i >= cpus_.size();
            const std::uint32_t page_count = is_side_band ? side_band_pages : sample_pages;
            AttrOptions options;
            options.ring_size_bytes = page_count * page_size_bytes;
            const std::uint32_t cpu = cpus_[i % cpus_.size()];
            const int fd = open_perf_event(ring_owner_attr(options), 0, static_cast<std::int32_t>(cpu));
            if (fd < 0) {
                return is_permission(errno)
                           ? permission_error("a ring for CPU " + std::to_string(cpu))
                           : error_from_errno(errno, "can't open a ring for CPU " + std::to_string(cpu));
            }
            auto ring = KernelRing::map(fd, page_count, options_.waiting_size_bytes / (cpus_.size() * 2));
            error = ring == nullptr ? errno : 0;
            rings_.push_back(std::move(ring));
        }
        if (error == 0) {
            break;
        }
        const bool can_shrink = sample_pages > 1 || side_band_pages > kSideBandRingPagesMin;
        if ((error != EPERM && error != ENOMEM) || !can_shrink) {
            rings_.clear();
            Error refused = error_from_errno(error, "can't map the kernel's rings");
            refused.message += "; raise kernel.perf_event_mlock_kb or the limit on locked memory (ulimit -l)";
            return refused;
        }
        sample_pages = std::max(sample_pages / 2, 1U);
        side_band_pages = std::max(std::min(side_band_pages, sample_pages), kSideBandRingPagesMin);
    }
    if (sample_pages < wanted && options_.ring_page_count > 0) {
        log("kernel rings of " + std::to_string(sample_pages) + " pages instead of " + std::to_string(wanted) +
            ": kernel.perf_event_mlock_kb allows no more");
    }
    return Done{};
}

Error EventSet::opening_error(const Opening& opening, int error) const {
    if (error == EMFILE || error == ENFILE) {
        return descriptors_error(0);
    }
    if (opening.role == OpeningRole::kSideBand) {
        const std::string what = "mappings and names";
        return is_permission(error) ? permission_error(what) : error_from_errno(error, what);
    }
    const EventSpec& spec = events_[opening.event_index].spec;
    return joins_group(opening.role) ? group_error(events_[leader_of(events_, opening.event_index)].spec, spec, error)
                                     : open_error(spec, error);
}

Result<Done> EventSet::connect(OpenFd& open) const {
    const bool is_side_band = open.role == OpeningRole::kSideBand;
    const KernelRing& ring = *rings_[open.cpu_index + (is_side_band ? cpus_.size() : 0)];
    if (::ioctl(open.fd, PERF_EVENT_IOC_SET_OUTPUT, ring.fd()) != 0 ||
        ::ioctl(open.fd, PERF_EVENT_IOC_ID, &open.id) != 0) {
        const std::string what = is_side_band ? "mappings and names" : "-e " + events_[open.event_index].spec.name;
        return error_from_errno(errno, what + ": can't direct the event to its ring");
    }
    const bool is_ours = open.role == OpeningRole::kReader || open.role == OpeningRole::kOutput;
    const EventSpec* const spec = is_side_band || is_ours ? nullptr : &events_[open.event_index].spec;
    if (spec != nullptr && !spec->filter.empty() &&
        ::ioctl(open.fd, PERF_EVENT_IOC_SET_FILTER, spec->filter.c_str()) != 0) {
        return filter_error(*spec, errno);
    }
    return spec != nullptr ? attach_unwinder(open.fd, open.event_index) : Result<Done>{Done{}};
}

std::optional<std::uint32_t> EventSet::unwound_ordinal(std::uint32_t event_index) const {
    const auto is_unwound = [this](const OpenEvent& event) {
        return options_.kernel_unwinder != nullptr && event.spec.is_opened() &&
               can_unwind_in_kernel(event.spec, event.rate, attr_options());
    };
    const auto ordinal = std::count_if(events_.begin(), events_.begin() + event_index, is_unwound);
    return is_unwound(events_[event_index]) && ordinal < KernelUnwinder::kEventsMax
               ? std::optional{static_cast<std::uint32_t>(ordinal)}
               : std::nullopt;
}

Result<Done> EventSet::attach_unwinder(int fd, std::uint32_t event_index) const {
    const auto ordinal = unwound_ordinal(event_index);
    if (!ordinal) {
        return Done{};
    }
    auto program = PERFLEET_TRY(options_.kernel_unwinder->program_of(*ordinal));
    if (::ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) != 0) {
        return error_from_errno(errno, "-e " + events_[event_index].spec.name +
                                           ": can't attach the BPF program that unwinds (--call-graph dwarf does "
                                           "without)");
    }
    return Done{};
}

// Before the events that emit through them.
Result<Done> EventSet::open_outputs() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        const auto ordinal = unwound_ordinal(i);
        for (std::uint32_t cpu_index = 0; ordinal && cpu_index < cpus_.size(); ++cpu_index) {
            const auto fd =
                open_output(unwound_output_attr(events_[i].spec, attr_options(), features_), i, cpu_index, false);
            if (!fd.ok()) {
                return Error{fd.error()};
            }
            PERFLEET_TRY(options_.kernel_unwinder->set_output(*ordinal, cpus_[cpu_index], *fd));
        }
    }
    return open_off_cpu_outputs();
}

Result<int> EventSet::open_output(const perf_event_attr& attr, std::uint32_t event_index, std::uint32_t cpu_index,
                                  bool has_copy) {
    const int fd = open_perf_event(attr, -1, static_cast<std::int32_t>(cpus_[cpu_index]));
    if (fd < 0) {
        return error_from_errno(errno, "can't open the output of a BPF program");
    }
    fds_.push_back({fd, OpeningRole::kOutput, event_index, cpu_index, 0, 0, has_copy, 0});
    auto done = connect(fds_.back());
    return done.ok() ? Result<int>{fd} : Error{done.error()};
}

void EventSet::add_off_cpu_events() {
    if (options_.off_cpu_period_ns == 0) {
        return;
    }
    off_cpu_index_ = static_cast<std::uint32_t>(events_.size());
    for (const std::string_view name : off_cpu::kEvents) {
        OpenEvent event;
        event.spec.name = name;
        event.spec.type = PERF_TYPE_SOFTWARE;
        event.spec.config = PERF_COUNT_SW_BPF_OUTPUT;
        event.spec.unit = "ns";
        event.spec.exclude_kernel = options_.all_user;
        event.spec.is_off_cpu = true;
        event.spec.is_nowhere = true;
        event.rate = {false, options_.off_cpu_period_ns};
        event.fields.callchain = true;
        if (options_.off_cpu == nullptr && name == off_cpu::kBlocked) {
            event.spec.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
            event.spec.takes_switches = true;
            event.spec.is_nowhere = false;
            event.spec.callchain = true;
            event.spec.is_inherited = options_.is_inherited && options_.tids.empty();
            event.spec.record_only(options_.cpus);
            settle_fields(event);
        }
        events_.push_back(std::move(event));
    }
}

Result<Done> EventSet::open_off_cpu_outputs() {
    for (std::uint32_t cpu_index = 0; options_.off_cpu != nullptr && cpu_index < cpus_.size(); ++cpu_index) {
        const std::uint32_t cpu = cpus_[cpu_index];
        if (!options_.cpus.empty() &&
            std::find(options_.cpus.begin(), options_.cpus.end(), cpu) == options_.cpus.end()) {
            continue;
        }
        std::array<int, 2> fds{};
        for (const bool has_copy : {false, true}) {
            const auto fd = PERFLEET_TRY(open_output(off_cpu_output_attr(options_.all_user, has_copy, features_),
                                                     *off_cpu_index_, cpu_index, has_copy));
            fds[has_copy ? 1 : 0] = fd;
        }
        PERFLEET_TRY(options_.off_cpu->set_outputs(cpu, fds[0], fds[1]));
    }
    return Done{};
}

Result<int> EventSet::open_one(std::span<const Opening> plan, std::uint32_t plan_index, const Target& target,
                               std::uint32_t cpu_index, int group_fd) {
    Opening opening = plan[plan_index];
    const std::uint64_t weight =
        opening.role == OpeningRole::kSideBand ? 0 : draw_period(opening, events_[opening.event_index]);
    const int fd = open_perf_event(opening.attr, target.tid, static_cast<std::int32_t>(cpus_[cpu_index]), group_fd);
    if (fd < 0) {
        const int error = errno;
        if (is_optional_gone(target, error)) {
            return -1;
        }
        return error == ESRCH ? process_ended() : opening_error(opening, error);
    }
    fds_.push_back({fd, opening.role, opening.event_index, cpu_index, plan_index, 0, false, weight});
    PERFLEET_TRY(connect(fds_.back()));
    return fd;
}

Result<Done> EventSet::open_events() {
    const std::vector<Opening> plan = plan_openings(events_, attr_options(), features_);
    PERFLEET_TRY(open_outputs());
    for (std::uint32_t cpu_index = 0; cpu_index < cpus_.size(); ++cpu_index) {
        for (const Target& target : targets_) {
            int leader_fd = -1;
            for (std::uint32_t i = 0; i < plan.size(); ++i) {
                const bool is_joining = joins_group(plan[i].role);
                if (!is_joining) {
                    leader_fd = -1;
                }
                const bool is_counted_here =
                    plan[i].role == OpeningRole::kSideBand ||
                    (target.is_sampled && events_[plan[i].event_index].spec.counts_on(cpus_[cpu_index]));
                if (!is_counted_here || (is_joining && leader_fd < 0)) {
                    continue;  // or it went with its leader
                }
                auto fd = PERFLEET_TRY(open_one(plan, i, target, cpu_index, is_joining ? leader_fd : -1));
                leader_fd = is_joining ? leader_fd : fd;
            }
        }
    }
    if (std::ranges::all_of(fds_, [](const OpenFd& open) { return open.role == OpeningRole::kOutput; })) {
        return process_ended();
    }
    index_ids();
    return Done{};
}

void EventSet::index_ids() {
    id_slots_.assign(std::bit_ceil((fds_.size() + closed_.size()) * 2), IdSlot{});
    const auto add = [this](std::uint64_t id, const RecordOrigin& origin) {
        std::size_t slot = static_cast<std::size_t>(hash_words(id, 0)) & (id_slots_.size() - 1);
        while (id_slots_[slot].id != 0) {
            slot = (slot + 1) & (id_slots_.size() - 1);
        }
        id_slots_[slot] = {id, origin};
    };
    for (const OpenFd& open : fds_) {
        if (open.role != OpeningRole::kReader) {
            add(open.id, open.role == OpeningRole::kOutput ? origin_of_output(open) : origin_of_event(open));
        }
    }
    for (const ClosedFd& closed : closed_) {
        add(closed.id, closed.origin);
    }
}

RecordOrigin EventSet::origin_of_event(const OpenFd& open) const {
    if (open.event_index == kSideBandIndex) {
        return {kSideBandIndex, {}, 0};
    }
    const OpenEvent& event = events_[open.event_index];
    return {open.event_index, event.fields, open.weight != 0 ? open.weight : event.weight};
}

// Each of its samples carries its period.
RecordOrigin EventSet::origin_of_output(const OpenFd& open) const {
    SampleFields fields;
    fields.period = true;
    fields.callchain = true;
    fields.raw = true;
    fields.unwound = true;
    fields.off_cpu = options_.off_cpu != nullptr && open.event_index == off_cpu_index_;
    if (open.has_copy) {
        fields.user_register_count = static_cast<std::uint8_t>(
            std::popcount(off_cpu_output_attr(options_.all_user, true, features_).sample_regs_user));
    }
    return {open.event_index, fields, 0};
}

const RecordOrigin* EventSet::origin_of(std::uint64_t id) const {
    std::size_t slot = static_cast<std::size_t>(hash_words(id, 0)) & (id_slots_.size() - 1);
    for (; id_slots_[slot].id != 0; slot = (slot + 1) & (id_slots_.size() - 1)) {
        if (id_slots_[slot].id == id) {
            return id_slots_[slot].origin.event_index == kSideBandIndex ? nullptr : &id_slots_[slot].origin;
        }
    }
    return nullptr;
}

std::optional<std::uint32_t> EventSet::event_of(std::uint64_t id) const {
    const RecordOrigin* const origin = origin_of(id);
    return origin == nullptr ? std::nullopt : std::optional{origin->event_index};
}

void EventSet::enable_side_band() {
    for (const OpenFd& open : fds_) {
        if (open.role == OpeningRole::kSideBand) {
            ::ioctl(open.fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
}

void EventSet::enable_sampling() {
    if (options_.begins_stopped) {
        for (OpenEvent& event : events_) {
            event.is_stopped = true;
        }
        return;
    }
    if (options_.enable_on_exec && !options_.all_cpus) {
        return;
    }
    for (const OpenFd& open : fds_) {
        if (is_switch(open)) {
            ::ioctl(open.fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
}

void EventSet::disable() {
    for (const OpenFd& open : fds_) {
        if (is_switch(open) || open.role == OpeningRole::kSideBand) {
            ::ioctl(open.fd, PERF_EVENT_IOC_DISABLE, 0);
        }
    }
}

void EventSet::stop(std::optional<std::uint32_t> event_index) {
    for (const OpenFd& open : fds_) {
        if (is_meant(open, event_index)) {
            if (is_switch(open)) {
                ::ioctl(open.fd, PERF_EVENT_IOC_DISABLE, 0);
            }
            events_[open.event_index].is_stopped = true;
        }
    }
}

void EventSet::start(std::optional<std::uint32_t> event_index) {
    for (const OpenFd& open : fds_) {
        if (is_meant(open, event_index)) {
            if (is_switch(open)) {
                ::ioctl(open.fd, PERF_EVENT_IOC_ENABLE, 0);
            }
            events_[open.event_index].is_stopped = false;
        }
    }
}

Result<Done> EventSet::change_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate,
                                   std::uint64_t now_ns) {
    if (!options_.all_cpus) {
        return Error{ErrorCode::kUnsupported,
                     "it measures processes, and what they have forked would keep the old rate; stop and start work"};
    }
    if (rate.value == 0 || rate.value > INT64_MAX) {
        return Error{ErrorCode::kUsage, rate.is_frequency ? "a frequency is at least 1 Hz" : "a period is at least 1"};
    }
    const auto rate_max = read_integer_file(kMaxSampleRatePath);
    if (rate.is_frequency && rate_max && rate.value > static_cast<std::uint64_t>(*rate_max)) {
        return Error{ErrorCode::kUsage,
                     "at most " + std::to_string(*rate_max) + " Hz, as " + kMaxSampleRatePath + " says"};
    }
    std::vector<OpenEvent> changed = events_;
    for (std::uint32_t i = 0; i < changed.size(); ++i) {
        const bool is_sampled = changed[i].rate.value > 0 && changed[i].spec.is_opened();
        changed[i].rate = is_sampled && (!event_index || i == *event_index) ? rate : changed[i].rate;
    }
    return reopen(event_index, std::move(changed), now_ns);
}

void EventSet::redraw_periods(std::uint64_t now_ns) {
    for (std::uint32_t i = 0; options_.all_cpus && i < events_.size(); ++i) {
        if (options_.jitter.changes(events_[i].spec, events_[i].rate) && events_[i].spec.group == 0) {
            (void)reopen(i, events_, now_ns);
        }
    }
}

std::uint64_t EventSet::draw_period(Opening& opening, const OpenEvent& event) {
    if (opening.role == OpeningRole::kReader || !options_.jitter.changes(event.spec, event.rate)) {
        return 0;
    }
    opening.attr.sample_period = options_.jitter.next(event.rate.value);
    return opening.attr.sample_period;
}

Result<Done> EventSet::reopen(std::optional<std::uint32_t> event_index, std::vector<OpenEvent> changed,
                              std::uint64_t now_ns) {
    const std::vector<Opening> plan = plan_openings(changed, attr_options(), features_);
    std::vector<OpenFd*> old;
    std::vector<OpenFd> anew;
    std::optional<Error> refused;
    int leader_fd = -1;
    for (std::size_t i = 0; i < fds_.size() && !refused; ++i) {
        OpenFd& open = fds_[i];
        if (!is_meant(open, event_index)) {
            continue;
        }
        Opening opening = plan[open.plan_index];
        OpenFd fresh = open;
        fresh.weight = draw_period(opening, changed[open.event_index]);
        fresh.fd = open_perf_event(opening.attr, -1, static_cast<std::int32_t>(cpus_[open.cpu_index]),
                                   joins_group(opening.role) ? leader_fd : -1);
        if (fresh.fd < 0) {
            refused = opening_error(opening, errno);
            continue;
        }
        leader_fd = joins_group(opening.role) ? leader_fd : fresh.fd;
        old.push_back(&open);
        anew.push_back(fresh);
        if (auto done = connect(anew.back()); !done.ok()) {
            refused = std::move(done).error();
        }
    }
    if (refused) {
        for (const OpenFd& fresh : anew) {
            ::close(fresh.fd);
        }
        return std::move(*refused);
    }
    std::vector<OpenFd> closing;
    for (OpenFd* const open : old) {
        if (is_switch(*open)) {
            ::ioctl(open->fd, PERF_EVENT_IOC_DISABLE, 0);
        }
        closing.push_back(*open);
    }
    closed_readings_.resize((events_.size() + 1) * cpus_.size());
    add_readings(closing, closed_readings_);
    for (std::size_t i = 0; i < old.size(); ++i) {
        ::close(closing[i].fd);
        if (closing[i].role != OpeningRole::kReader) {
            closed_.push_back({closing[i].id, origin_of_event(closing[i]), now_ns});
        }
        *old[i] = anew[i];
        if (is_switch(anew[i]) && !events_[anew[i].event_index].is_stopped) {
            ::ioctl(anew[i].fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        if ((!event_index || i == *event_index) && events_[i].spec.is_opened()) {
            events_[i].rate = changed[i].rate;
            settle_fields(events_[i]);
        }
    }
    index_ids();
    return Done{};
}

void EventSet::forget_closed(std::uint64_t taken_until_ns) {
    if (std::erase_if(closed_,
                      [&](const ClosedFd& closed) { return closed.closing_ns + kClosingNsMax < taken_until_ns; }) > 0) {
        index_ids();
    }
}

EventSet::OwnReading EventSet::read_own(const OpenFd& open) const {
    const std::size_t event_index = open.role == OpeningRole::kSideBand ? events_.size() : open.event_index;
    OwnReading own{(event_index * cpus_.size()) + open.cpu_index, {}};
    std::array<std::uint64_t, kGroupReadingValuesMax> values{};
    const ssize_t size_bytes = ::read(open.fd, values.data(), sizeof(values));
    const bool reads_group = open.role == OpeningRole::kLeader && events_[open.event_index].spec.samples_group;
    if (size_bytes < static_cast<ssize_t>((reads_group ? 5 : 4) * sizeof(std::uint64_t))) {
        return own;
    }
    if (reads_group) {
        // The leader stands first.
        own.reading = {values[kGroupReadingHeader], values[1], values[2],
                       features_.lost_counts ? values[kGroupReadingHeader + 2] : 0};
    } else {
        own.reading = {values[0], values[1], values[2], features_.lost_counts ? values[4] : 0};
    }
    return own;
}

bool EventSet::add_group_reading(const OpenFd& reader, std::vector<Reading>& sums) const {
    const std::size_t each = features_.lost_counts ? 3 : 2;
    std::array<std::uint64_t, kGroupReadingValuesMax> values{};
    ssize_t size_bytes = ::read(reader.fd, values.data(), sizeof(values));
    // While a process that inherited the group begins or ends, its own may lack a member. To yield wouldn't do: this
    // thread may have real-time priority.
    for (int wait = 0; size_bytes < 0 && errno == ECHILD && wait < kGroupReadWaitsMax; ++wait) {
        const timespec pause{0, kGroupReadWaitNs};
        ::nanosleep(&pause, nullptr);
        size_bytes = ::read(reader.fd, values.data(), sizeof(values));
    }
    const std::uint64_t count = values[0];
    if (size_bytes <= 0 || count > kGroupEventsMax + 1 ||
        static_cast<std::size_t>(size_bytes) != (kGroupReadingHeader + (count * each)) * sizeof(std::uint64_t)) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t* const one = &values[kGroupReadingHeader + (i * each)];
        if (const auto event_index = event_of(one[1])) {
            Reading& sum = sums[(*event_index * cpus_.size()) + reader.cpu_index];
            sum.value += one[0];
            sum.enabled_ns += values[1];
            sum.running_ns += values[2];
        }
    }
    return true;
}

void EventSet::add_readings(std::span<const OpenFd> wanted, std::vector<Reading>& sums) const {
    std::vector<OwnReading> group;  // the one that is gone through
    const auto add_group = [&] {
        for (const OwnReading& own : group) {
            sums[own.place].value += own.reading.value;
            sums[own.place].enabled_ns += own.reading.enabled_ns;
            sums[own.place].running_ns += own.reading.running_ns;
        }
        group.clear();
    };
    for (const OpenFd& open : wanted) {
        if (open.role == OpeningRole::kReader) {
            if (add_group_reading(open, sums)) {
                group.clear();
            }
            continue;
        }
        if (open.role == OpeningRole::kOutput) {
            const OwnReading own = read_own(open);
            sums[own.place].lost_count += own.reading.lost_count;
            continue;
        }
        if (open.role != OpeningRole::kMember) {
            add_group();
        }
        group.push_back(read_own(open));
        sums[group.back().place].lost_count += group.back().reading.lost_count;
    }
    add_group();
}

std::vector<EventSet::Reading> EventSet::read_all() const {
    std::vector<Reading> sums = closed_readings_;
    sums.resize((events_.size() + 1) * cpus_.size());
    add_readings(fds_, sums);
    return sums;
}

}  // namespace perfleet
