#include "target-collector/source/linux/event/tracepoint_finder.h"

#include <dirent.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "schemas/host/suggestion.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/event_error.h"

namespace perfleet {
namespace {

// Formats of the tracers' own entries: hardly any of them can be opened as an event.
constexpr std::string_view kTracers = "ftrace";

// True if the text can be a path component below tracefs, or a pattern for one.
bool is_plain_name(std::string_view text) {
    return !text.empty() && text != "." && text != ".." && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_-.*?[]!").find(c) != std::string_view::npos;
    });
}

std::vector<std::string> folders_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* const dir = ::opendir(folder.c_str());
    if (dir == nullptr) {
        return names;
    }
    while (const dirent* entry = ::readdir(dir)) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            names.emplace_back(entry->d_name);
        }
    }
    ::closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
}

bool matches(const std::string& pattern, const std::string& name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

Error no_tracefs(std::string_view event, const EventPlaces& places) {
    const std::string& root = places.tracefs.front();
    return ::geteuid() != 0
               ? event_error(event,
                             "tracepoints need tracefs, which can't be read; run as root, or let all read it: "
                             "'sudo mount -t tracefs -o mode=755 tracefs " +
                                 root + "'",
                             ErrorCode::kPermission)
               : event_error(event,
                             "tracepoints need tracefs, which isn't mounted; try: mount -t tracefs tracefs " + root,
                             ErrorCode::kUnavailable);
}

// Finds the tracepoints of one event of -e.
class TracepointFinder {
public:
    TracepointFinder(std::string_view event, std::string root)
        : event_{event}, root_{std::move(root)}, systems_{root_ + "/events"} {}

    [[nodiscard]] Result<EventSpec> find(const std::string& system, const std::string& name) const {
        if (system == kTracers) {
            return event_error(event_, "entries of the kernel's own tracers aren't recorded; trace-cmd does it",
                               ErrorCode::kUnsupported);
        }
        const std::string place = systems_ + "/" + system + "/" + name;
        const auto id = read_small_file(place + "/id", 64);
        if (!id.ok()) {
            return id.error().code == ErrorCode::kPermission
                       ? event_error(event_,
                                     "'" + place +
                                         "/id' can't be read; run as root, or let root remount tracefs readable: "
                                         "mount -o remount,mode=755 " +
                                         root_,
                                     ErrorCode::kPermission)
                       : no_such(system, name);
        }
        EventSpec spec;
        const char* const end = id->data() + id->size();
        if (std::from_chars(id->data(), end, spec.config).ec != std::errc{}) {
            return Error{ErrorCode::kInvalid, "'" + place + "/id' holds no number"};
        }
        auto format = read_small_file(place + "/format", limits::kEventFormatSizeBytesMax - 1);
        if (!format.ok()) {
            return event_error(event_, format.error().message, format.error().code);
        }
        spec.name = system + ":" + name;
        spec.type = perf::kTypeTracepoint;
        spec.unit = "events";
        spec.format = std::move(*format);
        return spec;
    }

    [[nodiscard]] Result<std::vector<EventSpec>> find_all(const std::string& system, const std::string& name) const {
        std::vector<std::pair<std::string, std::string>> found;
        for (const std::string& folder : folders_in(systems_)) {
            if (!matches(system, folder) || (folder == kTracers && is_pattern(system))) {
                continue;
            }
            for (std::string& one : folders_in(systems_ + "/" + folder)) {
                if (matches(name, one)) {
                    found.emplace_back(folder, std::move(one));
                }
            }
        }
        if (found.empty()) {
            return no_such(system, name);
        }
        if (found.size() > limits::kEventsMax) {
            return event_error(
                event_, "it stands for " + std::to_string(found.size()) + " tracepoints, and a session has at most " +
                            std::to_string(limits::kEventsMax) + " events; narrow it" +
                            (system == "syscalls" ? ", or take raw_syscalls:sys_enter or "
                                                    "raw_syscalls:sys_exit, which are of all system calls"
                                                  : ""));
        }
        std::vector<EventSpec> specs;
        for (const auto& [folder, one] : found) {
            auto spec = PERFLEET_TRY(find(folder, one));
            specs.push_back(std::move(spec));
        }
        return specs;
    }

private:
    [[nodiscard]] Error no_such(const std::string& system, const std::string& name) const {
        const std::string folder = systems_ + "/" + system;
        const bool has_system = ::access(folder.c_str(), F_OK) == 0;
        std::string why = is_pattern(system) || is_pattern(name) ? "no tracepoint of this kernel matches"
                                                                 : "this kernel has no such tracepoint";
        std::vector<std::string> near;
        for (const std::string& one :
             has_system ? nearest_names(name, folders_in(folder)) : nearest_names(system, folders_in(systems_))) {
            near.push_back(has_system ? system + ":" + one : one + ":" + name);
        }
        if (!near.empty()) {
            why += suggestion_of(near);
        } else if (system.starts_with("sdt_")) {
            why += "; a program's SDT markers are added with 'perf buildid-cache --add PROGRAM' and 'perf probe " +
                   system + ":" + name + "'";
        } else if (system.starts_with("probe")) {
            why += "; probes are made with 'perf probe -x PROGRAM FUNCTION', and 'perf probe -l' lists them";
        } else {
            why += "; 'ls " + (has_system ? folder : systems_) + "' shows what it has";
        }
        return event_error(event_, why);
    }

    std::string_view event_;
    std::string root_;
    std::string systems_;
};

}  // namespace

std::string find_tracefs(const EventPlaces& places) {
    for (const std::string& root : places.tracefs) {
        if (::access((root + "/events").c_str(), R_OK | X_OK) == 0) {
            return root;
        }
    }
    return {};
}

bool is_pattern(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

Result<std::vector<EventSpec>> find_tracepoints(std::string_view event, std::string_view system, std::string_view name,
                                                const EventPlaces& places) {
    if (!is_plain_name(system) || !is_plain_name(name)) {
        return event_error(event, "this is no tracepoint; they are written SYSTEM:NAME, as sched:sched_switch");
    }
    const std::string root = find_tracefs(places);
    if (root.empty()) {
        return no_tracefs(event, places);
    }
    const TracepointFinder finder{event, root};
    if (is_pattern(system) || is_pattern(name)) {
        return finder.find_all(std::string(system), std::string(name));
    }
    auto spec = PERFLEET_TRY(finder.find(std::string(system), std::string(name)));
    std::vector<EventSpec> one;
    one.push_back(std::move(spec));
    return one;
}

bool has_tracepoint_system(std::string_view system, const EventPlaces& places) {
    const std::string root = find_tracefs(places);
    return !root.empty() && is_plain_name(system) && !is_pattern(system) &&
           ::access((root + "/events/" + std::string(system)).c_str(), F_OK) == 0;
}

std::vector<std::string> tracepoints_named(std::string_view name, const EventPlaces& places) {
    std::vector<std::string> found;
    const std::string root = find_tracefs(places);
    if (root.empty() || !is_plain_name(name) || is_pattern(name)) {
        return found;
    }
    for (const std::string& system : folders_in(root + "/events")) {
        if (::access((root + "/events/" + system + "/" + std::string(name) + "/id").c_str(), F_OK) == 0) {
            found.push_back(system + ":" + std::string(name));
        }
    }
    return found;
}

std::vector<std::string> tracepoint_names(const EventPlaces& places) {
    std::vector<std::string> found;
    const std::string root = find_tracefs(places);
    for (const std::string& system : root.empty() ? std::vector<std::string>{} : folders_in(root + "/events")) {
        for (const std::string& name : folders_in(root + "/events/" + system)) {
            found.push_back(system + ":" + name);
        }
    }
    return found;
}

std::vector<std::string> tracepoint_fields(std::string_view format) {
    std::vector<std::string> fields;
    constexpr std::string_view kField = "\tfield:";
    for (std::size_t at = format.find(kField); at != std::string_view::npos; at = format.find(kField, at + 1)) {
        std::string_view declaration = format.substr(at + kField.size());
        declaration = declaration.substr(0, declaration.find(';'));
        const std::string_view last = declaration.substr(declaration.find_last_of(" *") + 1);
        const std::string_view name = last.substr(0, last.find('['));
        if (!name.starts_with("common_")) {
            fields.emplace_back(name);
        }
    }
    return fields;
}

}  // namespace perfleet
