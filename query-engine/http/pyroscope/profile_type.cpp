#include "query-engine/http/pyroscope/profile_type.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "schemas/vocabulary/off_cpu.h"

namespace perfleet::pyroscope {
namespace {

constexpr const char* kCpu = "cpu";
constexpr const char* kSamples = "samples";
constexpr std::size_t kIdPartsCount = 5;

std::string unit_of(const std::string& unit) {
    return unit == "ns" ? "nanoseconds" : unit == "events" || unit.empty() ? "count" : unit;
}

bool is_clock(const std::string& event) {
    const std::string_view name = std::string_view{event}.substr(0, event.find_first_of(":#"));
    return name == "cpu-clock" || name == "task-clock";
}

bool is_of_heap(const std::string& event) {
    constexpr std::array<std::string_view, 4> kHeapNames{"alloc_objects", "alloc_space", "inuse_objects",
                                                         "inuse_space"};
    return std::ranges::find(kHeapNames, event) != kHeapNames.end();
}

OptionValues amount_of(const std::string& event) { return {{"event", event}}; }
OptionValues samples_of(const std::string& event) { return {{"event", event}, {"measure", std::string{"samples"}}}; }

// The first clock of perf and the types of imported CPU profiles are one.
std::vector<ProfileType> cpu_types(const Answer& events, std::set<std::string>& taken) {
    ProfileType time{"process_cpu", kCpu, "nanoseconds", kCpu, "nanoseconds", {}};
    ProfileType samples{"process_cpu", kSamples, "count", kCpu, "nanoseconds", {}};
    bool has_clock = false;
    bool has_profiles = false;
    for (const std::vector<AnswerValue>& row : events.rows) {
        const std::string& event = std::get<std::string>(row[0]);
        const bool is_first_clock = is_clock(event) && !has_clock;
        const bool is_profile = event == kCpu && std::get<std::string>(row[1]) == "ns";
        if (is_first_clock || is_profile) {
            taken.insert(event);
            time.selections.push_back(amount_of(event));
            has_clock |= is_first_clock;
            has_profiles |= is_profile;
        }
        if (is_first_clock) {
            samples.selections.push_back(samples_of(event));
        }
    }
    if (has_profiles) {
        taken.insert(kSamples);
        samples.selections.push_back(amount_of(kSamples));
    }
    return time.selections.empty() ? std::vector<ProfileType>{} : std::vector{std::move(time), std::move(samples)};
}

// Recorded and pushed rows may be of one type.
void add(std::vector<ProfileType>& types, ProfileType type) {
    const auto known = std::ranges::find(types, type.id(), &ProfileType::id);
    if (known == types.end()) {
        types.push_back(std::move(type));
    } else {
        known->selections.insert(known->selections.end(), type.selections.begin(), type.selections.end());
    }
}

// Of pushed profiles of locks and blocking, whose types are named alike; nullptr: of others.
const char* contended(const std::string& event) {
    return event.starts_with("mutex_") ? "mutex" : event.starts_with("block_") ? "block" : nullptr;
}

}  // namespace

std::vector<ProfileType> profile_types(const Answer& events) {
    std::set<std::string> taken;
    std::vector<ProfileType> types = cpu_types(events, taken);
    for (const std::vector<AnswerValue>& row : events.rows) {
        const std::string& event = std::get<std::string>(row[0]);
        const std::string& unit = unit_of(std::get<std::string>(row[1]));
        if (taken.contains(event)) {
            continue;
        }
        if (event == off_cpu::kBlocked) {
            add(types, {"off_cpu", "off_cpu", unit, "off_cpu", unit, {{{"off-cpu", true}}}});
        }
        if (is_of_heap(event)) {
            add(types, {"memory", event, unit, "space", "bytes", {amount_of(event)}});
            continue;
        }
        if (const char* const name = contended(event); name != nullptr) {
            add(types, {name,
                        event.substr(std::string_view{name}.size() + 1),
                        unit,
                        "contentions",
                        "count",
                        {amount_of(event)}});
            continue;
        }
        std::string name = event;
        std::ranges::replace(name, ':', '_');
        add(types, {name, name, unit, name, unit, {amount_of(event)}});
        add(types, {name, kSamples, "count", name, unit, {samples_of(event)}});
    }
    return types;
}

Result<ProfileType> find_type(const std::vector<ProfileType>& types, const std::string& id) {
    if (split_list(id, ':').size() != kIdPartsCount) {
        return Error{ErrorCode::kInvalid, "profile type '" + id.substr(0, 256) +
                                              "' isn't NAME:SAMPLE_TYPE:SAMPLE_UNIT:PERIOD_TYPE:PERIOD_UNIT"};
    }
    const auto found = std::ranges::find(types, id, &ProfileType::id);
    return found == types.end()
               ? Result<ProfileType>{Error{ErrorCode::kNotFound, "no profiles of type " + id.substr(0, 256)}}
               : Result<ProfileType>{*found};
}

}  // namespace perfleet::pyroscope
