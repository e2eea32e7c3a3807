#include "target-collector/linux/source_choice.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "target-collector/linux/command.h"
#include "target-collector/linux/probe_events.h"
#include "target-collector/linux/symbols/cached_reader.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/source/linux/event/call_chain_choice.h"
#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/event/probe_name.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kOffCpuFrequencyHzMax = 10'000;  // about the most rows per thread and second

Result<Done> choose_image_reader(const CollectorOptions& options, SourceChoice& choice) {
    PerfSourceOptions& source = choice.options;
    if (options.reader_program.empty()) {
        source.image_reader = std::make_shared<DirectImageReader>();
    } else {
        choice.confined_reader = std::make_shared<ConfinedReader>(options.reader_program, true);
        source.image_reader = choice.confined_reader;
    }
    if (!options.cache_folder) {
        choice.cache = FileCache::open_default();
    } else if (*options.cache_folder != "none") {
        auto cache = FileCache::open(*options.cache_folder);
        if (!cache.ok()) {
            return Error{cache.error().code, "--cache " + cache.error().message};
        }
        choice.cache = std::move(*cache);
    }
    if (choice.cache != nullptr) {
        source.image_reader = std::make_shared<CachedReader>(choice.cache, std::move(source.image_reader));
    }
    return Done{};
}

// Off-CPU stacks are unwound by BPF if possible, whatever the method for samples is.
void choose_off_cpu(const CollectorOptions& options, const KernelUnwinder::Options& wish, PerfSourceOptions& source,
                    const std::function<void(std::string_view)>& report) {
    if (source.kernel_unwinder == nullptr) {
        auto unwinder = KernelUnwinder::open(wish);
        if (!unwinder.ok()) {
            report(off_cpu_without_bpf(unwinder.error()));
        } else {
            source.kernel_unwinder = std::move(*unwinder);
        }
    }
    source.off_cpu_period_ns =
        static_cast<std::uint64_t>(kNsPerSecond) /
        std::min<std::uint64_t>(options.frequency_hz.value_or(options.default_frequency_hz), kOffCpuFrequencyHzMax);
}

}  // namespace

bool records_running_programs(const CollectorOptions& options) {
    return options.all_cpus || !options.pids.empty() || !options.tids.empty() || options.uid;
}

Result<SourceChoice> choose_source(const CollectorOptions& options, SessionId session) {
    SourceChoice choice;
    PerfSourceOptions& source = choice.options;
    PERFLEET_TRY(choose_image_reader(options, choice));
    EventPlaces places;
    const bool has_probes = std::ranges::any_of(
        options.events, [](std::string_view list) { return list.find(kProbeSystem) != std::string_view::npos; });
    if (has_probes) {
        places.probes = names_in_command(options.command, *source.image_reader);
    }
    if (has_probes && records_running_programs(options)) {
        const std::vector<std::uint32_t> pids(options.pids.begin(), options.pids.end());
        const auto names = probe_names_of_processes(options.all_cpus ? proc_pids() : pids, *source.image_reader);
        add_probe_names(places.probes, names);
    }
    std::vector<EventSpec> events;
    if (options.benchmark) {
        events.push_back(benchmark_event(*options.benchmark));
    } else {
        events = PERFLEET_TRY(parse_events(options.events, places, options.event_filters));
    }
    for (EventSpec& spec : events) {
        (spec.is_probe ? source.events.probes : source.events.events).push_back(std::move(spec));
    }
    if (!source.events.probes.empty()) {
        if (!options.command.empty()) {
            source.probe_area = PERFLEET_TRY(ProbeArea::create());
            choice.environment.push_back(source.probe_area->variable());
        }
        source.finds_probe_programs = records_running_programs(options);
        if (options.benchmark) {
            choice.environment.push_back(options.benchmark->parameters);
        } else {
            describe_probes(source.events.probes);
        }
    }
    source.events.sampling = {options.frequency_hz, options.period, options.default_frequency_hz};
    source.events.jitter = {options.jitter_percent, options.jitter_seed.value_or(session.low)};
    source.events.all_cpus = options.all_cpus;
    source.events.details = options.details;
    source.events.all_user = options.all_user;
    source.events.all_kernel = options.all_kernel;
    source.events.cpus = options.cpus;
    source.events.uid = options.uid;
    source.events.tids.assign(options.tids.begin(), options.tids.end());
    source.events.is_inherited = options.is_inherited;
    source.events.is_frequency_strict = options.is_frequency_strict;
    source.events.begins_stopped = options.delay_ms.has_value();
    source.events.ring_page_count = options.ring_pages;
    source.include_self = options.include_self;
    source.events.pids.assign(options.pids.begin(), options.pids.end());
    source.events.with_descendants = true;
    return choice;
}

Result<Done> choose_chains(const CollectorOptions& options, PerfSourceOptions& source,
                           const std::function<void(std::string_view)>& report) {
    CallChainWish wish;
    wish.mode = options.call_chains;
    if (wish.mode == CallChainMode::kAuto && options.all_kernel) {
        wish.mode = CallChainMode::kFramePointers;
    }
    wish.user_stack_bytes = options.user_stack_bytes;
    wish.has_details = options.details.any();
    const bool skips_own = source.events.all_cpus && !options.include_self;
    wish.kernel_unwinder.own_pid = skips_own ? static_cast<std::uint32_t>(::getpid()) : 0;
    wish.image_reader = source.image_reader.get();
    for (const std::int32_t pid : options.pids) {
        wish.programs.push_back("/proc/" + std::to_string(pid) + "/exe");
    }
    if (auto path = options.command.empty() ? Result<std::string>{std::string{}} : find_command(options.command[0]);
        source.events.enable_on_exec && path.ok()) {
        wish.programs.push_back(std::move(*path));
    }
    auto choice = PERFLEET_TRY(choose_call_chains(wish));
    if (!choice.reason.empty()) {
        report(choice.reason);
    }
    source.events.callchain = choice.has_chains;
    source.events.user_stack_bytes = choice.user_stack_bytes;
    source.kernel_unwinder = std::move(choice.kernel_unwinder);
    source.unwinds_samples = source.kernel_unwinder != nullptr;
    source.may_follow_frame_pointers = source.unwinds_samples && wish.mode == CallChainMode::kAuto;
    if (options.has_off_cpu) {
        choose_off_cpu(options, wish.kernel_unwinder, source, report);
    }
    return Done{};
}

}  // namespace perfleet
