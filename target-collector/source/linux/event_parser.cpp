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

// One -e.
class EventListParser {
public:
    // `events` are those of the lists before, and get this one's. All are borrowed.
    EventListParser(std::string_view list, const TracefsPlaces& places, std::vector<EventSpec>& events)
        : list_{list}, places_{places}, events_{events} {}

    Result<Done> parse() {
        for (;;) {
            if (auto done = next_is('{') ? parse_group() : parse_single(); !done.ok()) {
                return done;
            }
            if (at_ == list_.size()) {
                return Done{};
            }
            ++at_;  // the comma
        }
    }

private:
    [[nodiscard]] bool next_is(char c) const { return at_ < list_.size() && list_[at_] == c; }

    [[nodiscard]] Error trouble_at(std::size_t at, const std::string& what) const {
        return usage("-e " + std::string(list_.substr(0, kShownSizeMax)) + ": character " + std::to_string(at + 1) +
                     ": " + what);
    }

    std::string_view take_until(std::string_view ends) {
        const std::string_view text = list_.substr(at_, list_.find_first_of(ends, at_) - at_);
        at_ += text.size();
        return text;
    }

    Result<Done> parse_single() {
        const std::string_view text = take_until(",{}");
        if (next_is('{')) {
            return trouble_at(at_, "a group begins behind a comma, and has no name");
        }
        if (next_is('}')) {
            return trouble_at(at_, "there is no '{' to this '}'");
        }
        auto event = parse_event(text, places_);
        return event.ok() ? add(std::move(*event)) : Result<Done>{std::move(event).error()};
    }

    Result<Done> parse_group() {
        const std::size_t open = at_;
        std::vector<EventSpec> members;
        do {
            ++at_;  // '{' or a comma
            const std::string_view text = take_until(",{}");
            if (at_ == list_.size()) {
                return trouble_at(open, "the '}' to this '{' is missing");
            }
            if (next_is('{')) {
                return trouble_at(at_, "a group within a group; close the one before");
            }
            if (text.empty() && members.empty() && next_is('}')) {
                return trouble_at(open, "a group without events");
            }
            if (members.size() == kGroupEventsMax) {
                return trouble_at(open, "at most " + std::to_string(kGroupEventsMax) + " events in a group");
            }
            auto event = parse_event(text, places_);
            if (!event.ok()) {
                return std::move(event).error();
            }
            members.push_back(std::move(*event));
        } while (!next_is('}'));
        ++at_;
        if (at_ < list_.size() && !next_is(',')) {
            const std::size_t behind = at_;
            EventSpec modified;
            if (!next_is(':') || !take_modifier(take_until(",{}").substr(1), modified)) {
                return trouble_at(behind,
                                  "behind a group stands ':u' (user space only), ':k' (kernel only) or a comma");
            }
            if (at_ < list_.size() && !next_is(',')) {
                return trouble_at(at_, "a comma is missing");
            }
            for (EventSpec& member : members) {
                modify(member, modified);
            }
        }
        // One event by itself is no group, as in perf.
        const auto number = static_cast<std::uint16_t>(members.size() > 1 ? group_count() + 1 : 0);
        for (EventSpec& member : members) {
            member.group = number;
            if (auto done = add(std::move(member)); !done.ok()) {
                return done;
            }
        }
        return Done{};
    }

    // Adds the group's sides to those that the event asks for by itself.
    static void modify(EventSpec& event, const EventSpec& group) {
        const bool has_own = std::count(event.name.begin(), event.name.end(), ':') > (event.is_tracepoint() ? 1 : 0);
        const bool kernel = !group.exclude_kernel || (has_own && !event.exclude_kernel);
        const bool user = !group.exclude_user || (has_own && !event.exclude_user);
        if (has_own) {
            event.name.resize(event.name.rfind(':'));
        }
        event.name += std::string(":") + (user ? "u" : "") + (kernel ? "k" : "");
        event.exclude_kernel = !kernel;
        event.exclude_user = !user;
    }

    Result<Done> add(EventSpec event) {
        const bool is_twice = std::any_of(events_.begin(), events_.end(),
                                          [&](const EventSpec& other) { return other.name == event.name; });
        if (is_twice) {
            return usage("-e: '" + event.name + "' is named twice" +
                         (event.group != 0 && !event.exclude_kernel && !event.exclude_user
                              ? " (in another group ':uk' behind it makes another name of it)"
                              : ""));
        }
        if (events_.size() == limits::kEventsMax) {
            return usage("-e: at most " + std::to_string(limits::kEventsMax) + " events at once");
        }
        events_.push_back(std::move(event));
        return Done{};
    }

    // In this list and those before.
    [[nodiscard]] std::uint32_t group_count() const {
        std::uint32_t count = 0;
        for (const EventSpec& event : events_) {
            count = std::max<std::uint32_t>(count, event.group);
        }
        return count;
    }

    static constexpr std::size_t kShownSizeMax = 256;

    std::string_view list_;
    const TracefsPlaces& places_;
    std::vector<EventSpec>& events_;
    std::size_t at_ = 0;
};

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
        if (auto done = EventListParser{list, places, events}.parse(); !done.ok()) {
            return std::move(done).error();
        }
    }
    return events;
}

}  // namespace perfleet
