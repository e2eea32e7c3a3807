#include "target-collector/source/linux/opening/event_set.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>

#include "schemas/host/host_clock.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/cpu_list.h"
#include "target-collector/source/linux/event/event_table.h"
#include "target-collector/source/linux/event/event_trouble.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kSideBandRingPagesMin = 1;

}  // namespace

std::uint32_t default_ring_pages(std::uint32_t user_stack_bytes, std::optional<std::uint64_t> rate_hz,
                                 std::size_t cpu_count, std::uint32_t page_size_bytes) {
    if (user_stack_bytes == 0) {
        return kRingPagesDefault;
    }
    const std::uint64_t pages_max =
        std::bit_floor(std::max<std::uint64_t>(kCopyRingsSizeBytes / (cpu_count * page_size_bytes), kRingPagesDefault));
    constexpr std::uint64_t kRateHzMax = 1U << 20U;  // above every kernel's limit
    const std::uint64_t copied_bytes = user_stack_bytes * std::min(rate_hz.value_or(kRateHzMax), kRateHzMax) / 2;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(std::bit_ceil(copied_bytes / page_size_bytes), kRingPagesDefault, pages_max));
}

Result<std::unique_ptr<EventSet>> EventSet::open(EventSetOptions options, const LogText& log) {
    std::unique_ptr<EventSet> set(new EventSet(std::move(options)));
    PERFLEET_TRY(set->plan(log));
    PERFLEET_TRY(set->make_room_for_descriptors());
    PERFLEET_TRY(set->map_rings(log));
    PERFLEET_TRY(set->open_events());
    set->tried_fds_.clear();
    return set;
}

EventSet::~EventSet() {
    for (const std::vector<OpenFd>* const fds : {&fds_, &next_fds_}) {
        for (const OpenFd& open : *fds) {
            ::close(open.fd);
        }
    }
}

Result<Done> EventSet::plan(const LogText& log) {
    cpus_ = online_cpus();
    features_ = probe_perf_features();
    PERFLEET_TRY(choose_cpus());
    PERFLEET_TRY(limit_frequency(log));
    choose_events(log);
    targets_ = PERFLEET_TRY(SampledThreads::find(options_));
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

void EventSet::limit_as_asked(EventSpec& spec) const {
    spec.exclude_kernel = spec.exclude_kernel || options_.all_user;
    spec.exclude_user = spec.exclude_user || options_.all_kernel;
    spec.is_inherited = spec.is_inherited && options_.is_inherited && options_.tids.empty();
    spec.record_only(options_.cpus);
}

void EventSet::choose_events(const LogText& log) {
    events_were_named_ = !options_.events.empty() || !options_.probes.empty();
    if (!events_were_named_) {
        options_.events.push_back(spec_of(*find_named_event("cycles")));
    }
    for (EventSpec& spec : options_.events) {
        limit_as_asked(spec);
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

bool EventSet::is_optional_gone(const SampledThread& target, int error) const {
    return !target.is_required && (error == ESRCH || is_permission(error));
}

Result<Done> EventSet::make_room_for_descriptors() const {
    constexpr std::uint64_t kOthers = 64;        // logs, sockets, /proc
    constexpr std::uint64_t kSymbolFiles = 256;  // waiting to be read; not counted if the hard limit is too low
    const std::uint64_t wanted =
        kOthers + tried_fds_.size() +
        (cpus_.size() * (2 + events_.size() + (targets_.threads.size() * opening_count(events_))));
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted + kSymbolFiles) {
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
    attr.details = options_.details;
    attr.user_stack_bytes = options_.user_stack_bytes;
    attr.is_copy_rare = options_.kernel_unwinder != nullptr;
    attr.inherit = !options_.all_cpus;
    attr.enable_on_exec = options_.enable_on_exec && !options_.all_cpus && !options_.begins_stopped;
    return attr;
}

perf_event_attr EventSet::attr_of(const OpenEvent& event) const {
    return sampling_attr(event.spec, event.rate, attr_options(), features_);
}

perf_event_attr EventSet::stored_attr(const OpenEvent& event) const {
    namespace type = perf::sample_type;
    perf_event_attr attr = attr_of(event);
    // Events that aren't opened, of times off the CPU, have call chains alone.
    constexpr std::uint64_t kOfLayout = type::kDetails | type::kAddr | type::kCallchain;
    attr.sample_type = (attr.sample_type & ~kOfLayout) | (event.layout.sample_type & kOfLayout);
    attr.sample_type &=
        ~(type::kStackUser | type::kCgroup | (options_.details.user_registers == 0 ? type::kRegsUser : 0));
    attr.sample_type |= type::kPeriod;  // each row has its own
    attr.sample_stack_user = 0;
    attr.sample_regs_user = options_.details.user_registers == 0 ? 0 : attr.sample_regs_user;
    attr.exclude_callchain_user = 0;
    return attr;
}

Result<Done> EventSet::map_rings(const LogText& log) {
    const auto page_size_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    std::optional<std::uint64_t> rate_hz = 0;
    for (const OpenEvent& event : events_) {
        if (event.rate.value != 0) {
            rate_hz = rate_hz && event.rate.is_frequency ? std::optional{*rate_hz + event.rate.value} : std::nullopt;
        }
    }
    const std::uint32_t wanted = options_.ring_page_count > 0 ? options_.ring_page_count
                                                              : default_ring_pages(options_.user_stack_bytes, rate_hz,
                                                                                   cpus_.size(), page_size_bytes);
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
            FileDescriptor fd{open_perf_event(ring_owner_attr(options), 0, static_cast<std::int32_t>(cpu))};
            if (!fd) {
                return is_permission(errno)
                           ? permission_error("a ring for CPU " + std::to_string(cpu))
                           : error_from_errno(errno, "can't open a ring for CPU " + std::to_string(cpu));
            }
            auto ring = KernelRing::map(std::move(fd), page_count, options_.waiting_size_bytes / (cpus_.size() * 2));
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

std::optional<Error> EventSet::refused_details(const EventSpec& event, int error) const {
    const bool is_refused = error == EOPNOTSUPP || error == EINVAL || error == ENOENT;
    if (options_.details.branch_type == 0 || !is_refused) {
        return std::nullopt;
    }
    return Error{ErrorCode::kUnsupported, "-b: " + event.name +
                                              " has no branch stacks here: the processor keeps them for events of its "
                                              "own PMU alone, such as cycles, and a guest has them if its host does"};
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
    if (auto refused = refused_details(spec, error)) {
        return std::move(*refused);
    }
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

Result<int> EventSet::open_one(std::span<const Opening> plan, std::uint32_t plan_index, const SampledThread& target,
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
        for (const SampledThread& target : targets_.threads) {
            PERFLEET_TRY(open_on(plan, target, cpu_index, true));
        }
    }
    if (std::ranges::all_of(fds_, [](const OpenFd& open) { return open.role == OpeningRole::kOutput; })) {
        return process_ended();
    }
    index_ids();
    return Done{};
}

Result<Done> EventSet::open_on(std::span<const Opening> plan, const SampledThread& target, std::uint32_t cpu_index,
                               bool with_side_band) {
    int leader_fd = -1;
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
        const bool is_side_band = plan[i].role == OpeningRole::kSideBand;
        const bool is_joining = joins_group(plan[i].role);
        if (!is_joining) {
            leader_fd = -1;
        }
        const bool is_counted_here =
            is_side_band ? with_side_band
                         : target.is_sampled && events_[plan[i].event_index].spec.counts_on(cpus_[cpu_index]);
        if (!is_counted_here || (is_joining && leader_fd < 0)) {
            continue;  // not counted here, or its leader isn't open
        }
        auto fd = PERFLEET_TRY(open_one(plan, i, target, cpu_index, is_joining ? leader_fd : -1));
        leader_fd = is_joining ? leader_fd : fd;
    }
    return Done{};
}

void EventSet::index_ids() {
    origins_.clear();
    for (const OpenFd& open : fds_) {
        if (open.role != OpeningRole::kReader) {
            origins_[open.id] = open.role == OpeningRole::kOutput ? origin_of_output(open) : origin_of_event(open);
        }
    }
    for (const ClosedFd& closed : closed_) {
        origins_[closed.id] = closed.origin;
    }
}

RecordOrigin EventSet::origin_of_event(const OpenFd& open) const {
    if (open.event_index == kSideBandIndex) {
        return {kSideBandIndex, {}};
    }
    RecordOrigin origin{open.event_index, events_[open.event_index].layout};
    origin.layout.period = open.weight != 0 ? open.weight : origin.layout.period;
    return origin;
}

const RecordOrigin* EventSet::origin_of(std::uint64_t id) const {
    const auto found = origins_.find(id);
    return found != origins_.end() && found->second.event_index != kSideBandIndex ? &found->second : nullptr;
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
    enable_with_copies(std::nullopt);
}

void EventSet::enable(std::optional<std::uint32_t> event_index) {
    for (const OpenFd& open : fds_) {
        if (is_meant(open, event_index) && is_switch(open)) {
            ::ioctl(open.fd, PERF_EVENT_IOC_ENABLE, 0);
        }
    }
}

void EventSet::enable_with_copies(std::optional<std::uint32_t> event_index) {
    enable(event_index);
    if (!options_.all_cpus) {
        late_copies_wait_ns_ = kLateCopiesNsMin;
        late_copies_next_ns_ = monotonic_now_ns() + late_copies_wait_ns_;
    }
}

void EventSet::enable_late_copies(std::uint64_t now_ns) {
    if (!has_late_copies() || now_ns < late_copies_next_ns_) {
        return;
    }
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
        if (!events_[index].is_stopped) {
            enable(index);
        }
    }
    late_copies_wait_ns_ *= 2;
    late_copies_next_ns_ = late_copies_wait_ns_ > kLateCopiesNsMax ? 0 : now_ns + late_copies_wait_ns_;
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
    enable_with_copies(event_index);
    for (const OpenFd& open : fds_) {
        if (is_meant(open, event_index)) {
            events_[open.event_index].is_stopped = false;
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

}  // namespace perfleet
