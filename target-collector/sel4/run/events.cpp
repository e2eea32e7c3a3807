#include "target-collector/sel4/run/events.h"

#include "schemas/vocabulary/uncovered_time.h"

namespace perfleet::sel4 {
namespace {

constexpr std::string_view kCycles = "cycles";
constexpr std::string_view kSampleUnit = "samples";
constexpr std::string_view kCyclesUnknown = "cycles (running unknown)";
constexpr std::string_view kTimer = "timer";
constexpr std::string_view kTimerUnknown = "timer (running unknown)";
constexpr std::array<std::string_view, kTracepointIdsMax> kTracepointNames{
    "tracepoint-0", "tracepoint-1", "tracepoint-2", "tracepoint-3",
    "tracepoint-4", "tracepoint-5", "tracepoint-6", "tracepoint-7"};

bool knows_who_runs(const KernelFeatures& features) {
    return features.is_mcs || features.mode == BenchmarkMode::kUtilisation;
}

}  // namespace

RunEvents::RunEvents(const KernelFeatures& features, std::uint64_t sample_period, const EventCounters& counters,
                     std::span<const std::string_view> tracepoint_names) {
    const bool is_known = knows_who_runs(features);
    add_samples(is_known ? kTimer : kTimerUnknown, features, sample_period);
    add("call round trip", Kind::kLatency, kCycles);
    add("notification round trip", Kind::kLatency, kCycles);
    add("collector time", Kind::kCounter, kCycles);
    add_samples(is_known ? kCycles : kCyclesUnknown, features, sample_period);
    add(kUncoveredTimeEvent, Kind::kCounter, kCycles);
    for (std::size_t i = 0; i < counters.count(); ++i) {
        add(counters.name(i), Kind::kCounter, {});
    }
    first_of_mode_.value = static_cast<std::uint16_t>(count_);
    if (features.mode == BenchmarkMode::kUtilisation) {
        add("utilisation", Kind::kUtilisation, kCycles, describe(features, {}));
    } else if (features.mode == BenchmarkMode::kKernelEntries) {
        add("kernel_entries", Kind::kKernelEntry, kCycles, describe(features, {}));
    } else if (features.mode == BenchmarkMode::kTracepoints) {
        add("tracepoints of unknown id", Kind::kTracepoint, kCycles, describe(features, {}));
        for (std::uint64_t id = 0; id + 1 < LogSource::event_count(features); ++id) {
            add(id < tracepoint_names.size() ? tracepoint_names[id] : kTracepointNames[id], Kind::kTracepoint, kCycles,
                describe(features, {.tracepoint_id = id}));
        }
    }
}

void RunEvents::add_samples(std::string_view name, const KernelFeatures& features, std::uint64_t period) {
    EventDescription& event = events_[count_];
    const bool is_known = knows_who_runs(features);
    // How long the thread has run is known, or each sample counts once.
    add(name, Kind::kSample, is_known ? kCycles : kSampleUnit, describe(features, {.is_running_unknown = !is_known}));
    event.period = period;
    event.exclude_kernel = true;
    event.callchain = true;
}

void RunEvents::add(std::string_view name, Kind kind, std::string_view unit, std::string_view format) {
    EventDescription& event = events_[count_++];
    event.name = name;
    event.kind = kind;
    event.unit = unit;
    event.format = format;
}

std::string_view RunEvents::describe(const KernelFeatures& features, const EventFacts& facts) {
    return formats_[format_count_++].emplace(features, facts).text();
}

}  // namespace perfleet::sel4
