#include "target-collector/source/linux/event/probe_name.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "target-collector/process/file_contents.h"
#include "target-collector/process/proc_reader.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/event_error.h"
#include "target-collector/source/linux/event/tracepoint_finder.h"

namespace perfleet {
namespace {

// The text in a field that may lack a NUL.
template <std::size_t kSize>
std::string_view text_of(const char (&field)[kSize]) {
    return {field, static_cast<std::size_t>(std::find(field, field + kSize, '\0') - field)};
}

}  // namespace

bool is_probe_name(std::string_view name) {
    return !name.empty() && name.size() < PERFLEET_PROBE_NAME_SIZE && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view{"_-."}.find(c) != std::string_view::npos;
    });
}

ProbeName probe_name_of(const perfleet_probe_name& entry) {
    const std::string_view name = text_of(entry.name);
    const std::string_view unit = text_of(entry.unit);
    const bool is_unit = unit.empty() || is_probe_name(unit);
    if (entry.version != 1 || entry.id >= PERFLEET_PROBE_IDS || entry.is_value > 1 || !is_probe_name(name) ||
        !is_unit) {
        return {};
    }
    return {std::string{name}, entry.is_value != 0 ? std::string{unit} : "ns", entry.is_value != 0};
}

void add_probe_names(std::vector<ProbeName>& into, std::span<const ProbeName> more) {
    for (const ProbeName& name : more) {
        if (into.size() < kProbeNamesMax &&
            std::ranges::none_of(into, [&](const auto& other) { return other.name == name.name; })) {
            into.push_back(name);
        }
    }
}

std::vector<ProbeName> probe_names_of(std::span<const perfleet_probe_name> entries) {
    std::map<std::uint8_t, std::vector<ProbeName>> by_id;
    for (const perfleet_probe_name& entry : entries) {
        if (ProbeName name = probe_name_of(entry); !name.name.empty()) {
            by_id[entry.id].push_back(std::move(name));
        }
    }
    std::vector<ProbeName> names;
    for (const auto& [id, of_id] : by_id) {
        add_probe_names(names, of_id);
    }
    return names;
}

std::vector<ProbeName> probe_names_of_file(const std::string& path, ImageReader& reader) {
    struct stat status {};
    const FileDescriptor file = open_regular_file(path, status);
    return file ? probe_names_of(reader.probe_entries(file.get())) : std::vector<ProbeName>{};
}

std::vector<ProbeName> probe_names_of_processes(std::span<const std::uint32_t> pids, ImageReader& reader) {
    std::set<std::array<std::uint64_t, 3>> seen;  // device and inode
    std::vector<ProbeName> names;
    for (const std::uint32_t pid : pids) {
        for (const ProcMapping& mapping : proc_mappings(pid)) {
            if (mapping.inode == 0 ||
                !seen.insert({mapping.device_major, mapping.device_minor, mapping.inode}).second) {
                continue;
            }
            const FileDescriptor file =
                FileContents::open({pid, mapping.start, mapping.end, mapping.path, mapping.device_major,
                                    mapping.device_minor, mapping.inode, std::nullopt, 0});
            if (file) {
                add_probe_names(names, probe_names_of(reader.probe_entries(file.get())));
            }
        }
    }
    return names;
}

Result<std::vector<EventSpec>> find_probes(std::string_view event, std::string_view name,
                                           std::span<const ProbeName> known) {
    std::vector<EventSpec> specs;
    const auto add = [&specs](const ProbeName& probe) {
        EventSpec spec;
        spec.name = std::string{kProbeSystem} + ":" + probe.name;
        spec.type = perf::kTypeSoftware;
        spec.config = perf::kConfigDummy;  // for exports; nothing is opened
        spec.unit = probe.unit;
        spec.exclude_kernel = true;
        spec.is_probe = true;
        spec.probe_name = probe.name;
        spec.is_probe_value = probe.is_value;
        spec.is_nowhere = true;
        specs.push_back(std::move(spec));
    };
    if (!is_pattern(name)) {
        if (!is_probe_name(name)) {
            return event_error(event, "a probe's name has letters, digits, '_', '-' and '.', at most " +
                                          std::to_string(PERFLEET_PROBE_NAME_SIZE - 1) + " in all");
        }
        const auto found = std::ranges::find(known, name, &ProbeName::name);
        add(found != known.end() ? *found : ProbeName{std::string{name}, "ns", false});
        return specs;
    }
    const std::string pattern{name};
    for (const ProbeName& probe : known) {
        if (probe.name != kOtherProbes && ::fnmatch(pattern.c_str(), probe.name.c_str(), 0) == 0) {
            add(probe);
        }
    }
    add({std::string{kOtherProbes}, "ns", false});
    return specs;
}

}  // namespace perfleet
