#include "target-collector/source/linux/event/event_list.h"

#include <fnmatch.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "schemas/host/file_descriptor.h"
#include "target-collector/source/linux/event/perf_attr.h"
#include "target-collector/source/linux/event/pmu_event.h"
#include "target-collector/source/linux/event/tracepoint_finder.h"

namespace perfleet {
namespace {

constexpr std::size_t kNameWidth = 48;
constexpr std::size_t kUnitWidth = 8;

std::string trouble_of(int error) {
    switch (error) {
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
        case EINVAL: return "not on this machine";
        case EACCES:
        case EPERM: return "not allowed: run as root, or lower /proc/sys/kernel/perf_event_paranoid";
        default: return std::strerror(error);
    }
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
}

std::string line_of(const ListedEvent& listed) {
    std::string name{listed.event->name};
    if (!listed.event->alias.empty()) {
        name += " (" + std::string{listed.event->alias} + ")";
    }
    std::string line = "  " + padded(std::move(name), kNameWidth);
    line += listed.trouble.empty() ? std::string{listed.event->unit}
                                   : padded(std::string{listed.event->unit}, kUnitWidth) + listed.trouble;
    return line + "\n";
}

}  // namespace

std::vector<ListedEvent> try_named_events() {
    std::vector<ListedEvent> events;
    for (const NamedEvent& event : named_events()) {
        perf_event_attr attr{};
        attr.size = sizeof attr;
        attr.type = event.type;
        attr.config = event.config;
        attr.disabled = 1;
        FileDescriptor fd{open_perf_event(attr, 0, -1)};
        if (!fd && (errno == EACCES || errno == EPERM)) {
            attr.exclude_kernel = 1;  // allowed without privilege
            attr.exclude_hv = 1;
            fd.reset(open_perf_event(attr, 0, -1));
        }
        events.push_back({&event, fd ? std::string{} : trouble_of(errno)});
    }
    return events;
}

std::string list_events(const std::vector<ListedEvent>& events, const EventPlaces& places) {
    std::string text;
    for (const std::string_view category : event_categories()) {
        std::string lines;
        for (const ListedEvent& listed : events) {
            lines += listed.event->category == category ? line_of(listed) : std::string{};
        }
        text += lines.empty() ? std::string{} : std::string{category} + "\n" + lines;
    }
    const std::string tracefs = find_tracefs(places);
    text += "tracepoints\n  SYSTEM:NAME, such as sched:sched_switch; ";
    text += tracefs.empty() ? "they need tracefs, which can't be read here (run as root)\n"
                            : "all stand in " + tracefs + "/available_events\n";
    for (const std::string& pmu : pmu_names(places)) {
        std::string lines;
        for (const std::string& name : pmu_event_names(places, pmu)) {
            lines += "  " + pmu + "/" + name + "/\n";
        }
        text += lines.empty() ? std::string{} : "PMU " + pmu + "\n" + lines;
    }
    text +=
        "raw events of the processor\n"
        "  rHEX, such as r1a8, or cpu/event=0xa8,umask=1/: its manual has the numbers\n"
        "breakpoints\n"
        "  mem:ADDRESS[/LENGTH][:r|w|rw|x], such as mem:0x601040/8:w\n"
        "Behind a name: :u counts in user space only, :k in the kernel only; /period=N/ or /freq=N/ sets the rate.\n"
        "In braces: events that are counted all or none, for ratios: {cache-misses,instructions}, {cs,cpu-clock}:u\n";
    return text;
}

std::string list_matching_events(const std::vector<ListedEvent>& events, const std::vector<std::string>& patterns,
                                 const EventPlaces& places) {
    const auto is_wanted = [&](const std::string& name) {
        return std::ranges::any_of(patterns, [&](const std::string& pattern) {
            const std::string part = is_pattern(pattern) ? pattern : "*" + pattern + "*";
            return ::fnmatch(part.c_str(), name.c_str(), 0) == 0;
        });
    };
    std::string text;
    for (const ListedEvent& listed : events) {
        const NamedEvent& event = *listed.event;
        if (is_wanted(std::string{event.name}) || is_wanted(std::string{event.category}) ||
            (!event.alias.empty() && is_wanted(std::string{event.alias}))) {
            text += line_of(listed);
        }
    }
    for (const std::string& name : tracepoint_names(places)) {
        text += is_wanted(name) || is_wanted("tracepoint:" + name) ? "  " + name + "\n" : "";
    }
    return text;
}

}  // namespace perfleet
