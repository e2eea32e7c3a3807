#include "exporters/rows/event_table.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "schemas/perf/perf_event.h"
#include "schemas/perf/recorded_attr.h"
#include "schemas/text/numbered_name.h"

namespace perfleet {
namespace {

constexpr std::size_t kRecordedAttrSizeBytesMin = 64;
constexpr std::size_t kRecordedAttrSizeBytesMax = 128;  // perf 6.1 refuses larger ones

// Ids of generated formats: above those of the running kernel's tracepoints, within the 16 bits of common_type.
constexpr std::uint64_t kKernelLogIdFirst = 60'000;

// Bits of perf_event_attr's flags.
constexpr std::uint64_t kExcludeUser = 1U << 4;
constexpr std::uint64_t kExcludeKernel = 1U << 5;
constexpr std::uint64_t kFreq = 1U << 10;
constexpr std::uint64_t kInheritStat = 1U << 11;
constexpr std::uint64_t kSampleIdAll = 1U << 18;
constexpr std::uint64_t kUseClockid = 1U << 25;
constexpr std::uint64_t kSideBand =
    1U << 8 | 1U << 9 | 1U << 13 | 1U << 23 | 1U << 24;  // mmap comm task mmap2 comm_exec

// The number after "ID:" of a tracepoint's format.
std::optional<std::uint64_t> format_id(std::string_view format) {
    for (std::size_t at = format.find("ID:"); at != std::string_view::npos; at = format.find("ID:", at + 1)) {
        if (at != 0 && format[at - 1] != '\n') {
            continue;
        }
        const std::size_t first = format.find_first_not_of(" \t", at + 3);
        std::uint64_t id = 0;
        if (first != std::string_view::npos &&
            std::from_chars(format.data() + first, format.data() + format.size(), id).ec == std::errc{}) {
            return id;
        }
    }
    return std::nullopt;
}

std::uint16_t group_of(const SessionRecord& session, Series series) {
    const EventRecord* const event = session.event_at(series.event);
    return event != nullptr ? event->group : std::uint16_t{0};
}

// Sample fields that are written.
constexpr std::uint64_t kWrittenFields =
    perf::sample_type::kDetails | perf::sample_type::kIdentifier | perf::sample_type::kIp | perf::sample_type::kTid |
    perf::sample_type::kTime | perf::sample_type::kAddr | perf::sample_type::kRead | perf::sample_type::kId |
    perf::sample_type::kStreamId | perf::sample_type::kCpu | perf::sample_type::kPeriod |
    perf::sample_type::kCallchain | perf::sample_type::kRaw;

std::uint64_t recorded_sample_type(std::string_view attr) {
    return perf::attr_field(attr, perf::attr_offset::kSampleType) & kWrittenFields;
}

// Whether perf finds the event of each record if the attrs of the session's events are written as they were recorded.
bool can_keep_attrs(const SessionRecord& session) {
    namespace type = perf::sample_type;
    const std::vector<EventRecord>& events = session.events;
    const auto all = [&](const auto& condition) { return std::all_of(events.begin(), events.end(), condition); };
    if (events.empty() ||
        !all([](const EventRecord& event) { return event.attr.size() >= kRecordedAttrSizeBytesMin; })) {
        return false;
    }
    const auto fields = [](const EventRecord& event) { return recorded_sample_type(event.attr); };
    if (events.size() == 1 || all([&](const EventRecord& event) { return (fields(event) & type::kIdentifier) != 0; })) {
        return true;
    }
    constexpr std::uint64_t kBesideId = type::kIdentifier | type::kIp | type::kTid | type::kTime | type::kAddr |
                                        type::kId | type::kStreamId | type::kCpu;
    return (fields(events.front()) & type::kId) != 0 && all([&](const EventRecord& event) {
               return (fields(event) & kBesideId) == (fields(events.front()) & kBesideId);
           });
}

// Selected samples and tracepoints that have rows, or are in a group with such; all if attrs are kept. Groups are in
// the order of the events, because perf wants a group's events side by side.
std::vector<Series> wanted_series(const Scan& scan, std::size_t session_index, bool wants_all, bool wants_entries) {
    const ScannedSession& session = scan.sessions()[session_index];
    const std::vector<EventRecord>& events = session.record.events;
    std::vector<Series> wanted;
    std::set<std::uint16_t> groups;
    const auto is_exported = [&](Series series) {
        const EventRecord* const event = session.record.event_at(series.event);
        const bool is_counter_alone =
            series.kind == Kind::kCounter && event != nullptr && event->kind == Kind::kCounter;
        const bool is_log_entries = wants_entries && series.kind == Kind::kKernelEntry && event != nullptr &&
                                    kernel_log_event(*event, series.kind).has_value();
        const bool has_samples = traits_of(series.kind).has_call_chain || is_log_entries;
        return (has_samples || is_counter_alone) && scan.is_selected(session_index, series);
    };
    for (const Series series : session.series) {
        if (is_exported(series)) {
            wanted.push_back(series);
            groups.insert(group_of(session.record, series));
        }
    }
    groups.erase(0);
    if (groups.empty() && !wants_all) {
        return wanted;
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
        const Series series{events[i].kind, EventNumber{static_cast<std::uint16_t>(i)}};
        if ((wants_all || groups.contains(events[i].group)) && is_exported(series) &&
            std::find(wanted.begin(), wanted.end(), series) == wanted.end()) {
            wanted.push_back(series);
        }
    }
    std::stable_sort(wanted.begin(), wanted.end(), [](Series a, Series b) { return a.event.value < b.event.value; });
    return wanted;
}

void store(std::string& attr, std::size_t offset, std::uint64_t value, std::size_t size_bytes) {
    std::memcpy(attr.data() + offset, &value, size_bytes);
}

}  // namespace

std::uint64_t ExportedEvent::sample_type() const {
    namespace type = perf::sample_type;
    if (!recorded_attr.empty()) {
        // perf refuses a whole file because of raw data of a tracepoint without a format.
        const bool has_raw = raw || !is_tracepoint;
        return recorded_sample_type(recorded_attr) & (has_raw ? ~std::uint64_t{0} : ~type::kRaw);
    }
    return type::kIdentifier | type::kIp | type::kTid | type::kTime | type::kCpu | type::kPeriod |
           (callchain ? type::kCallchain : 0) | (raw ? type::kRaw : 0);
}

bool ExportedEvent::has_branch_index() const {
    return (perf::attr_field(recorded_attr, perf::attr_offset::kBranchSampleType) &
            perf::branch_sample_type::kHwIndex) != 0;
}

bool ExportedEvent::has_chains_of_branches() const {
    return (perf::attr_field(recorded_attr, perf::attr_offset::kBranchSampleType) &
            perf::branch_sample_type::kCallStack) != 0;
}

std::uint64_t ExportedEvent::read_format() const {
    return perf::attr_field(recorded_attr, perf::attr_offset::kReadFormat);
}

std::string_view ExportedEvent::recorded_name() const { return recorded_attr.empty() ? name : without_number(name); }

std::string ExportedEvent::attr() const {
    namespace offset = perf::attr_offset;
    if (!recorded_attr.empty()) {
        std::string attr = recorded_attr;
        const std::uint64_t flags = perf::attr_field(attr, offset::kFlags);
        store(attr, 0, type, 4);
        store(attr, 4, attr.size(), 4);
        store(attr, 8, config, 8);
        store(attr, offset::kSampleType, sample_type(), 8);
        store(attr, offset::kFlags, flags | kSampleIdAll, 8);
        return attr;
    }
    std::string attr(kAttrSizeBytes, '\0');
    store(attr, 0, type, 4);
    store(attr, 4, kAttrSizeBytes, 4);
    store(attr, 8, config, 8);
    store(attr, 16, period, 8);
    store(attr, offset::kSampleType, sample_type(), 8);
    store(attr, offset::kFlags,
          kSampleIdAll | kUseClockid | (is_frequency ? kFreq : 0) | (exclude_kernel ? kExcludeKernel : 0) |
              (exclude_user ? kExcludeUser : 0) | (id == 1 ? kSideBand : 0),
          8);
    store(attr, 92, static_cast<std::uint32_t>(clock_id), 4);
    return attr;
}

EventTable::EventTable(const Scan& scan, std::vector<std::string>& warnings, KernelLogs logs)
    : logs_{logs}, keeps_attrs_{scan.sessions().size() == 1 && can_keep_attrs(scan.sessions().front().record)} {
    for (std::size_t session_index = 0; session_index < scan.sessions().size(); ++session_index) {
        for (const Series series :
             wanted_series(scan, session_index, keeps_attrs_, logs_ == KernelLogs::kAsTracepoints)) {
            add(session_index, scan.sessions()[session_index].record, series, warnings);
        }
    }
    if (keeps_attrs_) {
        std::size_t size_bytes = 0;
        for (const ExportedEvent& event : events_) {
            size_bytes = std::max(size_bytes, std::min(event.recorded_attr.size(), kRecordedAttrSizeBytesMax));
        }
        for (ExportedEvent& event : events_) {
            event.recorded_attr.resize(size_bytes, '\0');
        }
    }
    // perf report shows a sample without a chain with the previous one's chain.
    if (std::any_of(events_.begin(), events_.end(), [](const ExportedEvent& event) { return event.callchain; })) {
        for (ExportedEvent& event : events_) {
            event.callchain = event.callchain || event.log;
        }
    }
    find_groups(scan, warnings);
}

void EventTable::find_groups(const Scan& scan, std::vector<std::string>& warnings) {
    using Members = std::vector<std::size_t>;  // in events_
    std::map<std::pair<std::size_t, std::uint16_t>, Members> members;
    for (const Entry& entry : entries_) {
        Members& group =
            members[{entry.session_index, group_of(scan.sessions()[entry.session_index].record, entry.series)}];
        if (std::find(group.begin(), group.end(), entry.event_index) == group.end()) {
            group.push_back(entry.event_index);
        }
    }
    std::vector<std::set<Members>> of_event(events_.size());  // the groups of each event
    for (const Entry& entry : entries_) {
        const std::uint16_t group = group_of(scan.sessions()[entry.session_index].record, entry.series);
        of_event[entry.event_index].insert(group == 0 ? Members{} : members[{entry.session_index, group}]);
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const Members& group = *of_event[i].rbegin();
        if (group.size() < 2 || group.front() != i) {
            continue;
        }
        if (!has_rows(scan, i)) {
            warnings.push_back(events_[i].name +
                               " has no samples, and leads a group: perf would show none of it; exported without it");
            continue;
        }
        bool is_whole = true;
        for (std::size_t k = 0; k < group.size(); ++k) {
            is_whole = is_whole && group[k] == i + k && of_event[group[k]].size() == 1;
        }
        if (is_whole) {
            groups_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(group.size())});
        } else {
            warnings.push_back(
                events_[i].name +
                ": its group isn't the same in all sessions; exported without it (--session chooses one)");
        }
    }
}

bool EventTable::has_rows(const Scan& scan, std::size_t event_index) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        const std::vector<Series>& series = scan.sessions()[entry.session_index].series;
        return entry.event_index == event_index &&
               std::find(series.begin(), series.end(), entry.series) != series.end();
    });
}

void EventTable::add(std::size_t session_index, const SessionRecord& session, Series series,
                     std::vector<std::string>& warnings) {
    ExportedEvent event;
    if (const EventRecord* const record = session.event_at(series.event)) {
        event.name = record->name;
        event.type = record->perf_type;
        event.config = record->perf_config;
        event.period = record->period;
        event.is_frequency = record->is_frequency;
        event.exclude_kernel = record->exclude_kernel;
        event.exclude_user = record->exclude_user;
        event.callchain = record->callchain;
        event.format = record->format;
        event.recorded_attr = keeps_attrs_ ? record->attr : std::string{};
        event.counts_threads = logs_ == KernelLogs::kAsTracepoints &&
                               (perf::attr_field(event.recorded_attr, perf::attr_offset::kFlags) & kInheritStat) != 0;
        take_as_log(event, *record, series);
    } else {
        event.name = "event-" + std::to_string(series.event.value);
        event.type = perf::kTypeSoftware;
        event.config = perf::kConfigDummy;
    }
    event.clock_id = session.linux_clockid >= 0 ? session.linux_clockid : 1;
    event.is_tracepoint = event.type == perf::kTypeTracepoint;
    if (event.is_tracepoint && !event.log) {
        const auto id = format_id(event.format);
        if (id && event.name.find(':') != std::string::npos) {
            event.config = *id;
            event.raw = session.kind_of(series) == Kind::kTracepoint;
        } else {
            // perf refuses a whole file because of one tracepoint without a format.
            warnings.push_back(event.name + ": its format isn't stored; exported without its fields");
            event.type = perf::kTypeSoftware;
            event.config = perf::kConfigDummy;
            event.format.clear();
        }
    }
    if (event.type == perf::kTypeSoftware && event.config == perf::kConfigDummy && event.recorded_attr.empty()) {
        event.config = perf::kConfigCpuClock;  // perf script shows no frames of dummy events
    }
    // Series of one event, or events of several sessions that are the same.
    const auto of_event = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.session_index == session_index && entry.series.event == series.event &&
               traits_of(entry.series.kind).has_call_chain && traits_of(series.kind).has_call_chain;
    });
    const auto known = std::find_if(events_.begin(), events_.end(), [&](const ExportedEvent& other) {
        return of_event != entries_.end()
                   ? &other == &events_[of_event->event_index]
                   : !keeps_attrs_ && other.name == event.name && other.type == event.type &&
                         other.config == event.config && other.raw == event.raw && other.log == event.log;
    });
    if (known != events_.end()) {
        known->callchain = known->callchain || event.callchain;
        entries_.push_back({session_index, series, static_cast<std::size_t>(known - events_.begin())});
        return;
    }
    event.id = events_.size() + 1;
    entries_.push_back({session_index, series, events_.size()});
    events_.push_back(std::move(event));
}

// A tracepoint with fields, which exists in no kernel's tracefs. One name has one id, and so one format.
void EventTable::take_as_log(ExportedEvent& event, const EventRecord& record, Series series) const {
    if (logs_ == KernelLogs::kAsStored || keeps_attrs_) {
        return;
    }
    event.log = kernel_log_event(record, series.kind);
    if (!event.log) {
        return;
    }
    event.name = kernel_log_name(record, series.kind);
    const auto named = std::find_if(events_.begin(), events_.end(),
                                    [&](const ExportedEvent& other) { return other.log && other.name == event.name; });
    event.type = perf::kTypeTracepoint;
    event.config = named != events_.end() ? named->config : kKernelLogIdFirst + events_.size();
    event.period = 1;
    event.callchain = false;
    event.raw = true;
    event.format = kernel_log_format(*event.log, event.name, event.config);
}

void EventTable::exclude_kernel() {
    for (ExportedEvent& event : events_) {
        event.exclude_kernel = true;
    }
}

const ExportedEvent* EventTable::find(std::size_t session_index, EventNumber event) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.session_index == session_index && entry.series.event == event;
    });
    return found == entries_.end() ? nullptr : &events_[found->event_index];
}

const ExportedEvent* EventTable::find(std::size_t session_index, Series series) const {
    for (const Entry& entry : entries_) {
        const bool is_counts = series.kind == Kind::kCounter && entry.series.event == series.event &&
                               events_[entry.event_index].counts_threads;
        // Losses are of the event's own kind, though its rows may have details.
        const bool is_other_kind = entry.series.event == series.event && traits_of(series.kind).has_call_chain &&
                                   traits_of(entry.series.kind).has_call_chain;
        if (entry.session_index == session_index && (entry.series == series || is_counts || is_other_kind)) {
            return &events_[entry.event_index];
        }
    }
    return nullptr;
}

}  // namespace perfleet
