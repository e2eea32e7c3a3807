#include "target-collector/source/linux/perf_source.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "schemas/host/host_clock.h"
#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/process/task_rows.h"
#include "target-collector/records/sample_rows.h"
#include "target-collector/source/linux/event/call_chain_mode.h"
#include "target-collector/source/linux/process_scan.h"
#include "target-collector/source/linux/ring_order.h"

namespace perfleet {
namespace {

// A record is published within this time after its timestamp, unless its CPU was preempted just then.
constexpr std::uint64_t kPublishDelayNs = 1'000'000;
constexpr std::uint64_t kPublishDelayHurriedNs = 50'000;
constexpr std::uint64_t kExitedKeptNs = 5'000'000'000;    // for the last samples of a process
constexpr std::uint64_t kMissingLookNs = 60'000'000'000;  // between searches for exits that no record reported
constexpr std::uint64_t kEpochPauseNs = 200'000'000;      // between epochs while definitions are lost
constexpr std::uint64_t kResyncPauseNs = 10'000'000'000;  // between epochs that lost side-band records cause
constexpr std::uint64_t kPeriodsDrawnEveryNs = 10'000'000'000;
constexpr std::uint64_t kWaitMs = 250;       // if rings wake the collector
constexpr std::uint64_t kWaitProbesMs = 10;  // rings of probes don't wake it
constexpr std::uint64_t kWaitHurriedMs = 1;
constexpr std::uint32_t kDrainsOfAll = 2;          // the first may have no space for everything in a ring
constexpr std::uint64_t kNamesWorthAWarning = 20;  // samples without names
constexpr std::uint32_t kShortEpochsMax = 3;
constexpr std::uint32_t kNoThread = 0xffff'ffff;  // of a counter shared by many threads

ImageIndex intern_kernel_and_unknown(KernelImages& kernel, ImageTable& images) {
    kernel.intern(images);
    return images.intern({"[unknown]", image_flags::kUnknown, 0, 0, {}}).value_or(0);
}

}  // namespace

Ticks PerfSource::now() { return Ticks{monotonic_now_ns()}; }

Result<std::unique_ptr<PerfSource>> PerfSource::open(PerfSourceOptions options, const LogText& log) {
    options.events.kernel_unwinder = options.unwinds_samples ? options.kernel_unwinder.get() : nullptr;
    if (options.image_reader == nullptr) {
        options.image_reader = std::make_shared<DirectImageReader>();
    }
    std::unique_ptr<OffCpuTracer> off_cpu;
    options.events.off_cpu_period_ns = options.off_cpu_period_ns;
    if (options.off_cpu_period_ns > 0 && options.kernel_unwinder != nullptr) {
        OffCpuTracer::Options wanted;
        wanted.period_ns = options.off_cpu_period_ns;
        wanted.is_system_wide = options.events.all_cpus;
        wanted.own_pid = wanted.is_system_wide && !options.include_self ? static_cast<std::uint32_t>(::getpid()) : 0;
        wanted.by_thread = !options.events.tids.empty();
        wanted.is_inherited = options.events.is_inherited;
        wanted.is_by_kprobe = options.off_cpu_by_kprobe;
        auto tracer = OffCpuTracer::open(*options.kernel_unwinder, wanted);
        if (tracer.ok()) {
            off_cpu = std::move(*tracer);
            options.events.off_cpu = off_cpu.get();
        } else {
            log(off_cpu_without_bpf(tracer.error()));
        }
    }
    auto events = PERFLEET_TRY(EventSet::open(options.events, log));
    std::unique_ptr<PerfSource> source(new PerfSource(std::move(options), std::move(off_cpu), std::move(events), log));
    PERFLEET_TRY(source->follow_targets());
    PERFLEET_TRY(source->reader_.start());
    return source;
}

Result<Done> PerfSource::follow_targets() {
    if (off_cpu_ == nullptr || events_->is_system_wide()) {
        return Done{};
    }
    const auto ids = events_->tids().empty() ? events_->pids() : events_->tids();
    for (const std::uint32_t id : ids) {
        PERFLEET_TRY(off_cpu_->add_target(id, options_.events.enable_on_exec));
    }
    return Done{};
}

PerfSource::PerfSource(PerfSourceOptions options, std::unique_ptr<OffCpuTracer> off_cpu,
                       std::unique_ptr<EventSet> events, const LogText& log)
    : options_{std::move(options)},
      kernel_unwinder_{options_.kernel_unwinder},
      off_cpu_{std::move(off_cpu)},
      events_{std::move(events)},
      reader_{events_->rings(), kernel_unwinder_ != nullptr},
      kernel_{sees_kernel() ? KernelImages::read() : KernelImages{}},
      unknown_image_{intern_kernel_and_unknown(kernel_, images_)},
      finder_{images_},
      files_{images_, finder_, *options_.image_reader, options_.on_sampled_file},
      stacks_{{*events_, kernel_, images_, unknown_image_, files_, processes_, kernel_unwinder_.get(),
               options_.unwinds_samples}},
      losses_{*events_},
      balance_{*events_},
      log_{log},
      own_pid_{static_cast<std::uint32_t>(::getpid())},
      skips_own_{events_->is_system_wide() && !options_.include_self} {
    if (options_.off_cpu_period_ns > 0 && off_cpu_ == nullptr) {
        switches_.emplace(options_.off_cpu_period_ns);
    }
    for (const OpenEvent& event : events_->events()) {
        wanted_hz_.push_back(event.rate.is_frequency ? event.rate.value : 0);
    }
    if (options_.probe_area != nullptr || options_.finds_probe_programs) {
        std::vector<ProbeEvent> probe_events;
        for (std::uint32_t i = 0; i < events_->events().size(); ++i) {
            const EventSpec& spec = events_->events()[i].spec;
            if (spec.is_probe) {
                probe_events.push_back({spec.probe_name, spec.is_probe_value, events_->series_of(i)});
            }
        }
        probes_ = std::make_unique<ProbeReader>(std::move(probe_events), log);
        if (options_.probe_area != nullptr) {
            probes_->add_area(*options_.probe_area, false);
        }
        if (options_.finds_probe_programs) {
            probe_programs_ = std::make_unique<ProbePrograms>(
                *probes_, [this](std::uint32_t pid, const Mapping& mapping) { return files_.probe_door(pid, mapping); },
                log);
        }
        probes_->record(!options_.events.begins_stopped);
    }
}

bool PerfSource::sees_kernel() const {
    return std::any_of(events_->events().begin(), events_->events().end(),
                       [](const OpenEvent& event) { return !event.spec.exclude_kernel; });
}

void PerfSource::begin(RowSink& sink) {
    sink_ = &sink;
    definitions_.emplace(sink, images_, options_.stack_node_count_max, [this] { define_present(); });
    time_ = now().value;
    epoch_began_ = time_;
    periods_drawn_ns_ = time_;
    missing_looked_ns_ = time_;
    balance_.begin(sink);
    events_->enable_side_band();
    read_processes();
    append_presence(*sink_, *definitions_, processes_, Ticks{time_});
    take_counters();
    events_->enable_sampling();
    if (off_cpu_ != nullptr) {
        off_cpu_->enable(!options_.events.begins_stopped);
    }
}

std::uint64_t PerfSource::wait_ms_max() const {
    const bool is_hurried = events_->has_late_copies() || (kernel_unwinder_ != nullptr && has_news_) ||
                            (probes_ != nullptr && probes_->is_filling());
    return is_hurried ? kWaitHurriedMs : probes_ != nullptr ? kWaitProbesMs : kWaitMs;
}

// True if so much is waiting that a record out of order is better than a lost one.
bool PerfSource::is_behind() const {
    return std::any_of(events_->rings().begin(), events_->rings().end(),
                       [](const auto& ring) { return ring->unread_bytes() > ring->waiting_bytes_max() / 4; });
}

void PerfSource::drain() {
    ++drain_count_;
    const std::uint64_t before = now().value;
    events_->enable_late_copies(before);
    // Sample rings first: then records of what a sample depends on (a mapping, a fork) are visible, too.
    reader_.show();
    stacks_.take_codes();
    stacks_.refresh_code(before);
    std::uint64_t limit = before - kPublishDelayNs;
    pass_until(limit);
    if (is_behind()) {
        limit = before - kPublishDelayHurriedNs;
        pass_until(limit);
    }
    time_ = std::max(time_, limit);
    events_->forget_closed(limit);
    if (probe_programs_ != nullptr) {
        probe_programs_->visit(processes_, before);
    }
    if (can_go_on() && probes_ != nullptr) {
        probes_->drain(limit, before, *sink_);
    }
    if (losses_.lost_side_band() && time_ - epoch_began_ > kResyncPauseNs) {
        definitions_->begin_epoch(Ticks{time_});
    }
    if (before - periods_drawn_ns_ > kPeriodsDrawnEveryNs) {
        periods_drawn_ns_ = before;
        events_->redraw_periods(before);
    }
    if (before - missing_looked_ns_ > kMissingLookNs) {
        missing_looked_ns_ = before;
        end_missing(before);
    }
    processes_.prune(before - kExitedKeptNs);
    stacks_.publish_changed(time_);
    has_news_ = std::any_of(events_->rings().begin(), events_->rings().end(), [this](const auto& ring) {
        return ring->unread_bytes() >= std::max(options_.events.user_stack_bytes, kRareUserStackBytes);  // copies
    });
}

void PerfSource::pass_until(std::uint64_t time_limit) {
    const auto rings = events_->rings();
    const auto time_of = [](KernelRing& ring) {
        const std::span<const std::byte> record = ring.front();
        return record.empty() ? std::nullopt
                              : std::optional{record_time(native_record(record), kCommonLayout).value_or(0)};
    };
    visit_by_time(rings, time_limit, time_of, [&](std::size_t ring_index) {
        take(ring_index, rings[ring_index]->front());
        rings[ring_index]->pop();
    });
    for (const auto& ring : rings) {
        if (ring->take_skipped()) {
            sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        }
    }
}

// False if the epoch is over and it is too early for the next one: rows could not be resolved.
bool PerfSource::can_go_on() {
    if (!sink_->epoch_is_over()) [[likely]] {
        return true;
    }
    const bool is_short = time_ - epoch_began_ < kEpochPauseNs;
    if (is_short && short_epochs_ >= kShortEpochsMax) {
        return false;
    }
    short_epochs_ = is_short ? short_epochs_ + 1 : 0;
    definitions_->begin_epoch(Ticks{time_});
    return true;
}

void PerfSource::take(std::size_t ring_index, std::span<const std::byte> bytes) {
    const RecordBytes record = native_record(bytes);
    const std::uint64_t time = record_time(record, kCommonLayout).value_or(time_);
    const bool is_late = time < time_;
    time_ = std::max(time_, time);
    const std::size_t cpu_index = ring_index % events_->cpus().size();
    const std::uint32_t cpu = events_->cpus()[cpu_index];
    const auto type = static_cast<perf::RecordType>(record.type);
    if (is_late) {
        const auto id = type == perf::RecordType::kSample ? record_id(record, kCommonLayout) : std::nullopt;
        const auto event = id ? events_->event_of(*id) : std::nullopt;
        sink_->count(event ? events_->series_of(*event) : kTaskSeries, CountName::kLate, 1);
    }
    switch (type) {
        case perf::RecordType::kSample: take_sample(record, cpu_index); break;
        case perf::RecordType::kLost: take_lost(record, ring_index); break;
        case perf::RecordType::kThrottle: take_throttle(record, cpu_index, true); break;
        case perf::RecordType::kUnthrottle: take_throttle(record, cpu_index, false); break;
        case perf::RecordType::kSwitch:
        case perf::RecordType::kSwitchCpuWide: take_switch(record, cpu); break;
        default: take_side_band(record); break;
    }
}

void PerfSource::take_sample(const RecordBytes& record, std::size_t cpu_index) {
    const std::uint32_t cpu = events_->cpus()[cpu_index];
    const auto id = record_id(record, kCommonLayout);
    const RecordOrigin* const origin = id ? events_->origin_of(*id) : nullptr;
    if (origin == nullptr) {
        sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        return;
    }
    const Series series = events_->series_of(origin->event_index);
    const auto read = samples_.read(record, origin->layout);
    SourceSample sample;
    static_cast<SampleRecord&>(sample) = read.value_or(SampleRecord{});
    const bool is_whole = read && (!origin->is_unwound || take_unwound(sample, origin->is_off_cpu));
    if (!is_whole || sample.raw.size() > limits::kRawBytesMax) {
        balance_.take(origin->event_index, cpu_index, time_, is_whole ? sample.period : origin->layout.period);
        sink_->count_lost(series, CountName::kLostMalformed, 1);
        return;
    }
    const std::uint64_t weight = sample.period;
    balance_.take(origin->event_index, cpu_index, sample.time, weight);
    const bool is_leaving = switches_ && origin->event_index == events_->off_cpu_index();
    if (origin->is_off_cpu || is_leaving) {
        stacks_.leave_out_scheduler(sample);
    }
    if (is_own(sample.pid)) {
        sink_->count(series, CountName::kOwnSkipped, 1);
        take_group_counts(*origin, sample, cpu, std::nullopt);
        return;
    }
    if (!can_go_on()) {
        sink_->count_lost(series, CountName::kLostRingFull, 1);
        return;
    }
    watch_cgroup(sample.pid, sample.cgroup, cpu);
    StackNumber stack = stacks_.stack_of(sample, origin->event_index, *definitions_, *sink_, time_);
    if (sink_->epoch_is_over()) [[unlikely]] {
        // The stack's definitions were lost, or the bucket ended.
        if (!can_go_on()) {
            sink_->count_lost(series, CountName::kLostRingFull, 1);
            return;
        }
        stack = stacks_.stack_of(sample, origin->event_index, *definitions_, *sink_, time_);
    }
    if (is_leaving) {
        take_leaving(sample, stack);
        return;
    }
    if (origin->is_off_cpu) {
        append_off_cpu(sample, cpu, stack);
        return;
    }
    append_sample(series, sample, cpu, stack, weight);
    take_group_counts(*origin, sample, cpu, stack);
}

void PerfSource::take_leaving(const SourceSample& sample, StackNumber stack) {
    const Process* const process = processes_.find(sample.pid);
    // Kernel threads have no mappings; idle threads belong to process 0.
    if (sample.tid == 0 || process == nullptr || process->mappings->mappings().empty()) {
        return;
    }
    if (!switches_->leave(sample.tid, {sample.time, stack, epoch_count_})) {
        sink_->count_lost(events_->series_of(*events_->off_cpu_index()), CountName::kLostSaturated, 1);
    }
}

void PerfSource::take_switch(const RecordBytes& record, std::uint32_t cpu) {
    const auto trailer = read_trailer(record, kCommonLayout);
    if (!trailer || !switches_) {
        return;
    }
    if ((record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
        if ((record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0) {
            switches_->note_preempted(trailer->tid);
        }
        return;
    }
    const auto back = switches_->come(trailer->tid, trailer->time);
    if (!back) {
        return;
    }
    const std::uint32_t first = *events_->off_cpu_index();
    const bool has_stack = can_go_on() && back->left.epoch == epoch_count_;
    SourceSample sample;
    sample.pid = trailer->pid;
    sample.tid = trailer->tid;
    sample.time = trailer->time;
    for (const auto& [index, weight] : {std::pair{first, back->blocked_ns}, {first + 1, back->runnable_ns}}) {
        if (weight > 0 && has_stack) {
            append_sample(events_->series_of(index), sample, cpu, back->left.stack, weight);
        } else if (weight > 0) {
            sink_->count_lost(events_->series_of(index), CountName::kLostSaturated, 1);
        }
    }
}

// Until the next sweep a removed function's image stays in the table, unused.
void PerfSource::take_kernel_symbol(const RecordBytes& record) {
    const auto symbol = read_kernel_symbol(record, kCommonLayout);
    if (!symbol) {
        sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
    } else if (kernel_.addresses_hidden()) {
        return;
    } else if (symbol->is_removed) {
        kernel_.remove_function(symbol->address);
    } else {
        kernel_.put_function(kernel_function(symbol->name, symbol->address, symbol->size), images_);
    }
    stacks_.forget_stacks();
}

void PerfSource::append_sample(Series series, const SourceSample& sample, std::uint32_t cpu, StackNumber stack,
                               std::uint64_t weight) {
    // Of samples that the kernel took itself: not of those of BPF programs, nor of times off the CPU.
    const SampledDetails& wanted = options_.events.details;
    const bool has_details = wanted.any() && events_->events()[series.event.value].layout.has(sample_fields_of(wanted));
    const SamplePlace place{Ticks{sample.time}, cpu, stack};
    if (!has_details) {
        append_sample_row(*sink_, series, sample, place, weight, std::nullopt);
        return;
    }
    SampleRecord wanted_sample = sample;
    if (wanted.user_registers == 0) {
        wanted_sample.user_registers = {};  // those for unwinding
    }
    append_sample_row(*sink_, series, wanted_sample, place, weight, RowDetails{});
}

void PerfSource::append_off_cpu(const SourceSample& sample, std::uint32_t cpu, StackNumber stack) {
    const std::uint32_t first = *events_->off_cpu_index();
    const OffCpuTime& time = sample.off_cpu;
    if (time.blocked_ns > 0) {
        append_sample(events_->series_of(first), sample, cpu, stack, time.blocked_ns);
    }
    if (time.runnable_ns > 0) {
        append_sample(events_->series_of(first + 1), sample, cpu, stack, time.runnable_ns);
    }
    if (time.blocked_ns == 0) {
        return;
    }
    // A stack with one frame that isn't code: the waking thread.
    const auto waker = images_.intern({std::string{time.waker}, image_flags::kUnknown, 0, 0, {}});
    const std::array frame{ResolvedFrame{waker.value_or(unknown_image_), time.waker_tid}};
    const StackNumber waker_stack = waker ? definitions_->stack(frame, Ticks{time_}) : kEmptyStack;
    if (waker_stack == kEmptyStack || sink_->epoch_is_over()) {
        sink_->count_lost(events_->series_of(first + 2), CountName::kLostRingFull, 1);
        return;
    }
    append_sample(events_->series_of(first + 2), sample, cpu, waker_stack, time.blocked_ns);
}

void PerfSource::count_missed() {
    const std::uint64_t missed = off_cpu_ == nullptr ? 0 : off_cpu_->missed_count();
    if (missed > missed_count_) {
        sink_->count_lost(events_->series_of(*events_->off_cpu_index()), CountName::kLostSaturated,
                          missed - missed_count_);
        missed_count_ = missed;
    }
}

void PerfSource::take_group_counts(const RecordOrigin& origin, const SourceSample& sample, std::uint32_t cpu,
                                   std::optional<StackNumber> stack) {
    for (const auto& [value, id] : sample.values) {
        const RecordOrigin* const other = events_->origin_of(id);
        if (other == nullptr || other->event_index == origin.event_index) {
            continue;
        }
        const std::uint64_t before = std::exchange(group_counts_[id], value);
        if (stack && value > before) {
            append_sample(events_->series_of(other->event_index), sample, cpu, *stack, value - before);
        }
    }
}

void PerfSource::note_changed(std::uint32_t pid) {
    if (probe_programs_ != nullptr) {
        probe_programs_->note(pid);
    }
    stacks_.note_changed(pid);
}

void PerfSource::take_side_band(const RecordBytes& record) {
    const auto trailer = read_trailer(record, kCommonLayout);
    if (!trailer) {
        sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        return;
    }
    TaskRow row;
    row.time = Ticks{trailer->time};
    row.cpu = trailer->cpu;
    const auto type = static_cast<perf::RecordType>(record.type);
    if (type == perf::RecordType::kMmap2) {
        take_map(record, *trailer);
        return;
    }
    if (type == perf::RecordType::kCgroup) {
        if (const auto cgroup = read_cgroup(record, kCommonLayout)) {
            cgroups_.add(cgroup->id, cgroup->path);
        } else {
            sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        }
        return;
    }
    if (type == perf::RecordType::kKsymbol) {
        take_kernel_symbol(record);
        return;
    }
    if (type == perf::RecordType::kComm) {
        const auto comm = read_comm(record, kCommonLayout);
        if (!comm) {
            sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
            return;
        }
        if (is_own(comm->pid)) {
            sink_->count(kTaskSeries, CountName::kOwnSkipped, 1);
            return;
        }
        row.op = comm->is_exec ? TaskOp::kExec : TaskOp::kComm;
        row.pid = comm->pid;
        row.tid = comm->tid;
        if (comm->is_exec) {
            processes_.exec(comm->pid, comm->tid, comm->name);
            stacks_.note_exec(comm->pid);
            note_changed(comm->pid);
            watch_cgroup(comm->pid, 0, trailer->cpu);
        } else {
            processes_.name_thread(comm->pid, comm->tid, comm->name);
        }
        if (can_go_on()) {
            row.string = definitions_->string(comm->name, Ticks{time_});
            append_task_row(*sink_, row);
            return;
        }
    } else if (type == perf::RecordType::kFork || type == perf::RecordType::kExit) {
        const auto task = read_task(record, kCommonLayout);
        if (!task) {
            sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
            return;
        }
        row.pid = task->pid;
        row.tid = task->tid;
        row.parent_pid = task->parent_pid;
        row.parent_tid = task->parent_tid;
        if (switches_ && type == perf::RecordType::kExit) {
            switches_->forget(task->tid);
        }
        if (is_own(task->pid)) {
            sink_->count(kTaskSeries, CountName::kOwnSkipped, 1);
            return;
        }
        if (type == perf::RecordType::kFork) {
            row.op = TaskOp::kFork;
            balance_.take_fork();
            if (seen_forks_ != nullptr) {
                seen_forks_->push_back({task->tid, task->parent_tid, trailer->time});
            }
            processes_.fork(task->pid, task->tid, task->parent_pid, task->parent_tid);
            if (task->pid != task->parent_pid) {
                note_changed(task->pid);
            }
        } else {
            row.op = TaskOp::kExit;
            processes_.exit(task->pid, task->tid, trailer->time);
            note_changed(task->pid);
        }
        if (can_go_on()) {
            append_task_row(*sink_, row);
            return;
        }
    } else {
        return;  // not used
    }
    sink_->count_lost(kTaskSeries, CountName::kLostRingFull, 1);
}

void PerfSource::take_map(const RecordBytes& record, const RecordTrailer& trailer) {
    // Linux 6.18 sets this bit for all events if any of them asks for build-ids, so it is ignored.
    RecordBytes plain = record;
    plain.misc &= static_cast<std::uint16_t>(~perf::misc::kMmapBuildId);
    const auto map = read_map(plain, kCommonLayout);
    if (!map) {
        sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        return;
    }
    if (is_own(map->pid)) {
        sink_->count(kTaskSeries, CountName::kOwnSkipped, 1);
        return;
    }
    if (map->size == 0 || map->address + map->size < map->address || (map->protection & PROT_EXEC) == 0) {
        return;
    }
    const auto image = finder_.find({map->pid, map->address, map->address + map->size, map->path, map->device_major,
                                     map->device_minor, map->inode, map->inode_generation, trailer.time});
    const bool has_file = !ImageFinder::is_without_file(map->path);
    Mapping mapping{map->address,
                    map->address + map->size,
                    has_file ? map->file_offset : 0,
                    image.value_or(unknown_image_),
                    map->protection,
                    map->flags};
    mapping = has_file ? mapping : processes_.as_program_text(map->pid, mapping);
    processes_.add_mapping(map->pid, mapping);
    note_changed(map->pid);
    stacks_.note_mapped(map->pid, mapping.image);
    if (!can_go_on()) {
        sink_->count_lost(kTaskSeries, CountName::kLostRingFull, 1);
        return;
    }
    append_mapping_row(*sink_, *definitions_,
                       {.time = Ticks{trailer.time}, .cpu = trailer.cpu, .pid = map->pid, .tid = map->tid}, mapping,
                       Ticks{time_});
}

void PerfSource::take_lost(const RecordBytes& record, std::size_t ring_index) {
    const auto lost = read_lost(record, kCommonLayout);
    const auto trailer = read_trailer(record, kCommonLayout);
    if (!lost || !trailer) {
        sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        return;
    }
    losses_.take(*lost, *trailer, ring_index, *sink_);
    const std::size_t cpu_count = events_->cpus().size();
    if (!events_->counts_lost() && ring_index < cpu_count) {
        balance_.take_lost(ring_index, lost->record_count);
    }
}

void PerfSource::take_throttle(const RecordBytes& record, std::size_t cpu_index, bool is_start) {
    const auto id = read_throttle_id(record, kCommonLayout);
    const auto trailer = read_trailer(record, kCommonLayout);
    const auto event_index = id ? events_->event_of(*id) : std::nullopt;
    if (!event_index || !trailer) {
        sink_->count_lost(kTaskSeries, CountName::kLostMalformed, 1);
        return;
    }
    balance_.take_throttle(*event_index, cpu_index, trailer->time, is_start);
    if (is_start) {
        sink_->count(events_->series_of(*event_index), CountName::kThrottled, 1);
    }
    TaskRow row;
    row.time = Ticks{trailer->time};
    row.cpu = trailer->cpu;
    row.op = is_start ? TaskOp::kThrottle : TaskOp::kUnthrottle;
    row.pid = trailer->pid;
    row.tid = trailer->tid;
    row.value = *event_index;
    append_task_row(*sink_, row);
}

void PerfSource::read_counters() {
    take_counters();
    reconsider_unwinder();
}

void PerfSource::take_counters() {
    using enum ColumnId;
    const std::vector<EventSet::Reading> readings = events_->read_all();
    const Ticks time = now();
    const std::size_t cpu_count = events_->cpus().size();
    const std::uint32_t pid = events_->pids().empty() ? kNoThread : events_->pids().front();
    for (std::uint32_t event_index = 0; event_index < events_->events().size(); ++event_index) {
        const Series series{Kind::kCounter, EventNumber{static_cast<std::uint16_t>(event_index)}};
        for (std::size_t cpu_index = 0; cpu_index < cpu_count; ++cpu_index) {
            if (!events_->events()[event_index].spec.counts_on(events_->cpus()[cpu_index])) {
                continue;
            }
            const EventSet::Reading& reading = readings[(event_index * cpu_count) + cpu_index];
            const auto row = row_of<Kind::kCounter>(column<kCpu>(events_->cpus()[cpu_index]), column<kPid>(pid),
                                                    column<kTid>(kNoThread), column<kValue>(reading.value),
                                                    column<kTimeEnabled>(reading.enabled_ns),
                                                    column<kTimeRunning>(reading.running_ns));
            sink_->append({series, time, row});
        }
    }
    losses_.count(readings, *sink_);
    count_missed();
    if (drain_count_ >= kDrainsOfAll && !is_behind()) {
        balance_.count(held_readings_, readings, *sink_);
    }
    held_readings_ = readings;
    drain_count_ = 0;
}

bool PerfSource::all_processes_ended() const {
    if (events_->is_system_wide()) {
        return false;
    }
    bool any_runs = false;
    if (const auto tids = events_->tids(); !tids.empty()) {
        processes_.each_thread([&](std::uint32_t tid, const Thread& thread) {
            any_runs = any_runs || (std::find(tids.begin(), tids.end(), tid) != tids.end() &&
                                    ::syscall(SYS_tgkill, thread.pid, tid, 0) == 0);
        });
        return !any_runs;
    }
    processes_.each_process([&](const Process& process) {
        // The exit record may have been lost.
        any_runs = any_runs || (process.thread_count > 0 && ::kill(static_cast<pid_t>(process.pid), 0) == 0);
    });
    return !any_runs;
}

ControlAnswer PerfSource::take_request(const ControlRequest& order) {
    using protocol::ControlCommand;
    using protocol::ControlOutcome;
    std::optional<std::uint32_t> event_index;
    if (order.event != kNoEvent) {
        if (order.event.value >= events_->events().size()) {
            return {ControlOutcome::kUnknownEvent, {}};
        }
        event_index = order.event.value;
        const EventSpec& spec = events_->events()[*event_index].spec;
        if (spec.is_off_cpu && order.command != ControlCommand::kStart && order.command != ControlCommand::kStop) {
            refusal_ = spec.name + " has the rate that the session began with; stop and start work";
            return {ControlOutcome::kUnsupported, refusal_};
        }
        if (spec.is_probe) {
            refusal_ = spec.name + " is written by programs; stop and start work for all events of the session";
            return {ControlOutcome::kUnsupported, refusal_};
        }
        if (spec.group != 0) {
            refusal_ =
                spec.name + " is counted in a group, all or none; send the request for all events of the session";
            return {ControlOutcome::kUnsupported, refusal_};
        }
    }
    const bool is_switch = order.command == ControlCommand::kStart || order.command == ControlCommand::kStop;
    if (is_switch && off_cpu_ != nullptr && (!event_index || events_->events()[*event_index].spec.is_off_cpu)) {
        off_cpu_->enable(order.command == ControlCommand::kStart);  // all three events
    }
    if (is_switch && probes_ != nullptr && !event_index) {
        drain();  // take earlier rows first
        probes_->record(order.command == ControlCommand::kStart);
    }
    Ticks time = now();
    switch (order.command) {
        case ControlCommand::kStart: events_->start(event_index); break;
        case ControlCommand::kStop:
            events_->stop(event_index);
            time = now();  // no sample is later
            break;
        case ControlCommand::kSetFrequency:
        case ControlCommand::kSetPeriod: {
            const SamplingRate rate{order.command == ControlCommand::kSetFrequency, order.value};
            if (auto done = set_rate(event_index, rate); !done.ok()) {
                refusal_ = done.error().message;
                return {done.error().code == ErrorCode::kUsage         ? ControlOutcome::kOutOfRange
                        : done.error().code == ErrorCode::kUnsupported ? ControlOutcome::kUnsupported
                                                                       : ControlOutcome::kFailed,
                        refusal_};
            }
            break;
        }
        default: return {ControlOutcome::kUnsupported, "a control request that this collector does not support"};
    }
    append_request(order, time);
    return {ControlOutcome::kApplied, {}};
}

std::vector<std::string> PerfSource::missing_samples() const {
    std::vector<std::string> texts = balance_.warnings();
    if (const std::uint64_t count = stacks_.names_not_read(); count >= kNamesWorthAWarning) {
        texts.push_back(std::to_string(count) +
                        " samples have no names of their Python functions: they are the first of their process, before "
                        "it was known, or it had ended before its names were read");
    }
    return texts;
}

void PerfSource::append_run_end(std::uint64_t status) {
    using enum ColumnId;
    const auto row = row_of<Kind::kControl>(column<kCommand>(protocol::kRunEnded), column<kEvent>(kNoEvent.value),
                                            column<kValue>(status));
    sink_->append({{Kind::kControl, kNoEvent}, now(), row});
}

void PerfSource::append_request(const ControlRequest& order, Ticks time) {
    using enum ColumnId;
    const auto row = row_of<Kind::kControl>(column<kCommand>(static_cast<std::uint64_t>(order.command)),
                                            column<kEvent>(order.event.value), column<kValue>(order.value));
    sink_->append({{Kind::kControl, kNoEvent}, time, row});
}

// A requested rate becomes the wanted one.
Result<Done> PerfSource::set_rate(std::optional<std::uint32_t> event_index, const SamplingRate& rate) {
    auto done = events_->change_rate(event_index, rate, now().value);
    for (std::uint32_t i = 0; done.ok() && i < wanted_hz_.size(); ++i) {
        if (!event_index || i == *event_index) {
            wanted_hz_[i] = rate.is_frequency && events_->events()[i].rate.is_frequency ? rate.value : 0;
        }
    }
    return done;
}

void PerfSource::scale_frequencies(double scale) {
    for (std::uint32_t i = 0; i < wanted_hz_.size(); ++i) {
        const OpenEvent& event = events_->events()[i];
        const auto scaled = static_cast<std::uint64_t>(static_cast<double>(wanted_hz_[i]) * scale);
        const SamplingRate rate{true, std::max<std::uint64_t>(scaled, 1)};
        if (wanted_hz_[i] == 0 || event.spec.group != 0 || rate.value == event.rate.value) {
            continue;
        }
        const Ticks time = now();
        if (events_->change_rate(i, rate, time.value).ok()) {
            append_request(
                {protocol::ControlCommand::kSetFrequency, EventNumber{static_cast<std::uint16_t>(i)}, rate.value},
                time);
        }
    }
    if (off_cpu_ != nullptr) {
        off_cpu_->set_period(static_cast<std::uint64_t>(static_cast<double>(options_.off_cpu_period_ns) / scale));
    }
    if (switches_) {
        switches_->set_period(static_cast<std::uint64_t>(static_cast<double>(options_.off_cpu_period_ns) / scale));
    }
}

void PerfSource::measure_bpf() {
    if (kernel_unwinder_ != nullptr) {
        kernel_unwinder_->measure_run_time();
    }
}

std::uint64_t PerfSource::bpf_run_ns() const {
    return (kernel_unwinder_ != nullptr ? kernel_unwinder_->run_time_ns() : 0) +
           (off_cpu_ != nullptr ? off_cpu_->run_time_ns() : 0);
}

void PerfSource::finish() {
    if (off_cpu_ != nullptr) {
        off_cpu_->enable(false);
    }
    events_->disable();
    reader_.stop();
    for (int round = 0; round < 2; ++round) {  // the first round may have no space for a whole ring
        reader_.show();
        stacks_.take_codes();
        pass_until(~0ULL);
    }
    if (probe_programs_ != nullptr) {
        probe_programs_->close();
    }
    if (probes_ != nullptr) {
        probes_->finish(now().value, *sink_);
    }
    take_counters();
    const std::vector<EventSet::Reading> readings = events_->read_all();
    balance_.count(readings, readings, *sink_);
    losses_.append_unreported(readings, now(), *sink_);
}

void PerfSource::define_present() {
    ++epoch_count_;
    epoch_began_ = time_;
    stacks_.forget_stacks();
    if (images_.image_count() > limits::kImagesMax / 2 || stacks_.has_many_images()) {
        sweep_images();
    }
    if (losses_.lost_side_band()) {
        read_processes();
    }
    append_presence(*sink_, *definitions_, processes_, Ticks{time_});
}

void PerfSource::end_missing(std::uint64_t time) {
    const auto is_gone = [](std::uint32_t pid, std::uint32_t tid) {
        return ::syscall(SYS_tgkill, pid, tid, 0) != 0 && errno == ESRCH;
    };
    for (const ProcessTable::Ended& ended : processes_.end_missing(time, is_gone)) {
        note_changed(ended.pid);
        if (switches_) {
            switches_->forget(ended.tid);
        }
    }
}

void PerfSource::sweep_images() {
    std::vector<bool> is_used(images_.place_count());
    is_used[unknown_image_] = true;
    kernel_.each_index([&](ImageIndex index) { is_used[index] = true; });
    processes_.each_process([&](const Process& process) {
        for (const Mapping& mapping : process.mappings->mappings()) {
            is_used[mapping.image] = true;
        }
    });
    images_.sweep(is_used);
    stacks_.forget_images();
    if (probe_programs_ != nullptr) {
        probe_programs_->forget_images();
    }
}

void PerfSource::read_processes() {
    losses_.forget_side_band();
    const ProcessScan scan{finder_, unknown_image_, skips_own_ ? std::optional{own_pid_} : std::nullopt};
    if (events_->is_system_wide()) {
        scan.read_all(processes_);
    } else {
        scan.read(events_->pids(), processes_);
    }
    processes_.each_process([this](Process& process) {
        note_changed(process.pid);
        (void)cgroups_.refresh(process, 0, time_);
    });
}

void PerfSource::watch_cgroup(std::uint32_t pid, std::uint64_t cgroup_id, std::uint32_t cpu) {
    Process* const process = processes_.find(pid);
    if (process != nullptr && cgroups_.refresh(*process, cgroup_id, time_) && process->cgroup != nullptr &&
        can_go_on()) {
        append_cgroup_row(*sink_, *definitions_, {.time = Ticks{time_}, .cpu = cpu, .pid = pid, .tid = pid},
                          *process->cgroup, Ticks{time_});
    }
}

}  // namespace perfleet
