#include "target-collector/source/linux/event_parser.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/limits.h"
#include "target-collector/source/linux/event_table.h"
#include "target-collector/source/linux/small_file.h"

namespace perfleet {
namespace {

constexpr std::size_t kEventNameSizeMax = 256;

Error usage(std::string message) { return {ErrorCode::kUsage, std::move(message)}; }

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "'" : i + 1 == names.size() ? " or '" : ", '") + names[i] + "'";
    }
    return text;
}

Error unknown_event(std::string_view name) {
    const std::vector<std::string> near = near_names(name, event_names());
    std::string message = "-e: there is no event '" + std::string(name) + "'; ";
    message += near.empty() ? "known are cpu-clock, page-faults, context-switches, cycles and others, tracepoints "
                              "(sched:sched_switch) and raw events (r1a8)"
                            : "did you mean " + list_of(near) + "?";
    return usage(std::move(message));
}

// True for text that can be one component of a path below tracefs.
bool is_plain_name(std::string_view text) {
    return !text.empty() && text != "." && text != ".." && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    });
}

std::vector<std::string> near_files(const std::string& folder, std::string_view wanted) {
    std::vector<std::string> names;
    DIR* const dir = ::opendir(folder.c_str());
    if (dir == nullptr) {
        return names;
    }
    while (const dirent* entry = ::readdir(dir)) {
        if (entry->d_type == DT_DIR) {
            names.emplace_back(entry->d_name);
        }
    }
    ::closedir(dir);
    return near_names(wanted, names);
}

Result<Done> find_tracepoint(std::string_view system, std::string_view event, const TracefsPlaces& places,
                             EventSpec& spec) {
    const std::string name = std::string(system) + ":" + std::string(event);
    const std::string root = find_tracefs(places);
    if (root.empty()) {
        if (::geteuid() != 0) {
            return Error{ErrorCode::kPermission, "-e " + name +
                                                     ": tracepoints need tracefs, which can't be read; run as "
                                                     "root, or let root mount it readable: mount -t tracefs -o "
                                                     "mode=755 tracefs " +
                                                     places.roots.front()};
        }
        return Error{ErrorCode::kUnavailable, "-e " + name +
                                                  ": tracepoints need tracefs, which isn't mounted; try: "
                                                  "mount -t tracefs tracefs " +
                                                  places.roots.front()};
    }
    const std::string systems = root + "/events";
    const std::string folder = systems + "/" + std::string(system);
    const std::string place = folder + "/" + std::string(event);
    auto id = read_small_file(place + "/id", 64);
    if (!id.ok()) {
        if (id.error().code == ErrorCode::kPermission) {
            return Error{ErrorCode::kPermission, "-e " + name + ": '" + place +
                                                     "/id' can't be read; run as root, or let root remount tracefs "
                                                     "readable: mount -o remount,mode=755 " +
                                                     root};
        }
        const bool has_system = ::access(folder.c_str(), F_OK) == 0;
        const std::vector<std::string> near = has_system ? near_files(folder, event) : near_files(systems, system);
        std::string message = "-e: this kernel has no tracepoint '" + name + "'";
        if (near.empty()) {
            message += "; 'ls " + (has_system ? folder : systems) + "' shows what it has";
        } else {
            message += has_system ? "; did you mean " + list_of(near) + " of '" + std::string(system) + "'?"
                                  : "; did you mean the system " + list_of(near) + "?";
        }
        return usage(std::move(message));
    }
    const char* const end = id->data() + id->size();
    if (std::from_chars(id->data(), end, spec.config).ec != std::errc{}) {
        return Error{ErrorCode::kInvalid, "'" + place + "/id' holds no number"};
    }
    auto format = read_small_file(place + "/format", limits::kEventFormatSizeBytesMax - 1);
    if (!format.ok()) {
        return Error{format.error().code, "-e " + name + ": " + format.error().message};
    }
    spec.type = perf::kTypeTracepoint;
    spec.unit = "events";
    spec.format = std::move(*format);
    return Done{};
}

bool parse_raw(std::string_view text, EventSpec& spec) {
    if (text.size() < 2 || text.size() > 17 || text[0] != 'r') {
        return false;
    }
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), spec.config, 16);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return false;
    }
    spec.type = perf::kTypeRaw;
    spec.unit = "events";
    return true;
}

bool take_modifier(std::string_view modifier, EventSpec& spec) {
    if (modifier.empty()) {
        return false;
    }
    bool user = false;
    bool kernel = false;
    for (const char c : modifier) {
        if (c != 'u' && c != 'k') {
            return false;
        }
        user = user || c == 'u';
        kernel = kernel || c == 'k';
    }
    spec.exclude_kernel = !kernel;
    spec.exclude_user = !user;
    return true;
}

Result<EventSpec> parse_event(std::string_view text, const TracefsPlaces& places) {
    if (text.empty()) {
        return usage("-e: an event's name is missing (a comma too many?)");
    }
    if (text.size() > kEventNameSizeMax) {
        return usage("-e: an event's name has at most " + std::to_string(kEventNameSizeMax) + " characters");
    }
    EventSpec spec;
    spec.name = text;
    std::string_view name = text;
    std::string_view second;
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
        second = name.substr(colon + 1);
        name = name.substr(0, colon);
        const NamedEvent* named = find_named_event(name);
        const bool is_own = named != nullptr || parse_raw(name, spec);
        if (is_own && !take_modifier(second, spec)) {
            return usage("-e " + std::string(text) +
                         ": after the colon stands 'u' (user space only) or 'k' (kernel only)");
        }
        if (!is_own) {
            std::string_view event = second;
            if (const std::size_t last = second.find(':'); last != std::string_view::npos) {
                event = second.substr(0, last);
                if (!take_modifier(second.substr(last + 1), spec)) {
                    return usage("-e " + std::string(text) +
                                 ": after the second colon stands 'u' (user space only) or 'k' (kernel only)");
                }
            }
            if ((event == "u" || event == "k" || event == "uk" || event == "ku") && event.data() == second.data()) {
                return unknown_event(name);
            }
            if (!is_plain_name(name) || !is_plain_name(event)) {
                return usage("-e: '" + std::string(text) +
                             "' is no tracepoint; they are written system:name, as "
                             "sched:sched_switch");
            }
            if (auto found = find_tracepoint(name, event, places, spec); !found.ok()) {
                return found.error();
            }
            return spec;
        }
    }
    if (const NamedEvent* named = find_named_event(name)) {
        spec.type = named->type;
        spec.config = named->config;
        spec.unit = named->unit;
        return spec;
    }
    if (parse_raw(name, spec)) {
        return spec;
    }
    return unknown_event(name);
}

}  // namespace

bool EventSpec::is_tracepoint() const { return type == perf::kTypeTracepoint; }

std::string find_tracefs(const TracefsPlaces& places) {
    for (const std::string& root : places.roots) {
        if (::access((root + "/events").c_str(), R_OK | X_OK) == 0) {
            return root;
        }
    }
    return {};
}

Result<std::vector<EventSpec>> parse_events(const std::vector<std::string>& lists, const TracefsPlaces& places) {
    std::vector<EventSpec> events;
    for (const std::string& list : lists) {
        std::size_t begin = 0;
        while (begin <= list.size()) {
            const std::size_t end = std::min(list.find(',', begin), list.size());
            auto event = parse_event(std::string_view(list).substr(begin, end - begin), places);
            if (!event.ok()) {
                return event.error();
            }
            const bool is_twice = std::any_of(events.begin(), events.end(),
                                              [&](const EventSpec& other) { return other.name == event->name; });
            if (is_twice) {
                return usage("-e: '" + event->name + "' is named twice");
            }
            if (events.size() == limits::kEventsMax) {
                return usage("-e: at most " + std::to_string(limits::kEventsMax) + " events at once");
            }
            events.push_back(std::move(*event));
            begin = end + 1;
        }
    }
    return events;
}

}  // namespace perfleet
