#include "target-collector/source/linux/event/pmu_event.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "schemas/host/suggestion.h"
#include "target-collector/process/small_file.h"
#include "target-collector/source/linux/event/cpu_list.h"
#include "target-collector/source/linux/event/event_error.h"
#include "target-collector/source/linux/event/event_table.h"
#include "target-collector/source/linux/event/event_term.h"

namespace perfleet {
namespace {

constexpr std::size_t kFileSizeBytesMax = 4'096;
constexpr std::size_t kShownMax = 12;

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

std::string line_of(const std::string& path) {
    const auto text = read_small_file(path, kFileSizeBytesMax);
    return text.ok() ? text->substr(0, text->find('\n')) : std::string{};
}

bool is_file_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

// Other files in the folder are attributes of events.
bool is_event_file(const std::string& name) {
    return !name.ends_with(".scale") && !name.ends_with(".unit") && !name.ends_with(".per-pkg") &&
           !name.ends_with(".snapshot");
}

std::vector<std::string> events_in(const std::string& folder) {
    std::vector<std::string> names = names_in_folder(folder + "/events");
    std::erase_if(names, [](const std::string& name) { return !is_event_file(name); });
    return names;
}

bool has_event(const std::string& folder, std::string_view name) {
    return is_file_name(name) && is_event_file(std::string(name)) && exists(folder + "/events/" + std::string(name));
}

// "uncore_imc_0" is one of "uncore_imc": the rest is the number of the unit.
bool is_one_of(std::string_view name, std::string_view family) {
    if (!name.starts_with(family)) {
        return false;
    }
    name.remove_prefix(family.size());
    name.remove_prefix(name.starts_with('_') ? 1 : 0);
    return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool matches(const std::string& name, std::string_view pattern) {
    constexpr std::string_view kUncore = "uncore_";
    const std::string_view short_name =
        name.starts_with(kUncore) ? std::string_view(name).substr(kUncore.size()) : std::string_view(name);
    const std::string pattern_text{pattern};
    return short_name == pattern || is_one_of(name, pattern) || is_one_of(short_name, pattern) ||
           ::fnmatch(pattern_text.c_str(), name.c_str(), 0) == 0;
}

Pmu read_pmu(const std::string& devices, const std::string& name) {
    Pmu pmu{name, devices + "/" + name, 0, {}, false};
    const auto type = read_integer_file(pmu.folder + "/type");
    pmu.type = type ? static_cast<std::uint32_t>(*type) : 0;
    pmu.is_processor = name == "cpu" || exists(pmu.folder + "/cpus");
    pmu.cpus = parse_cpu_list(line_of(pmu.folder + (pmu.is_processor ? "/cpus" : "/cpumask")));
    return pmu;
}

std::vector<Pmu> pmus_where(const EventPlaces& places, const auto& is_wanted) {
    std::vector<Pmu> pmus;
    for (const std::string& name : names_in_folder(places.pmus)) {
        if (is_wanted(name)) {
            pmus.push_back(read_pmu(places.pmus, name));
        }
    }
    return pmus;
}

// "config1:0-7,32" and a value: stores the value's bits, lowest first, in these positions.
bool fill_bits(std::string_view format, std::uint64_t value, EventSpec& spec, std::string& trouble) {
    const std::size_t colon = format.find(':');
    const std::string_view field = format.substr(0, colon);
    std::uint64_t* const target = field == "config"    ? &spec.config
                                  : field == "config1" ? &spec.config1
                                  : field == "config2" ? &spec.config2
                                                       : nullptr;
    if (target == nullptr || colon == std::string_view::npos) {
        trouble = "the kernel requires it in '" + std::string(field) + "', which perfleet can't fill in";
        return false;
    }
    const std::vector<std::uint32_t> bits = parse_cpu_list(format.substr(colon + 1));  // same syntax as a CPU list
    if (bits.empty() || bits.back() > 63) {
        trouble = "its format '" + std::string(format) + "' isn't understood";
        return false;
    }
    if (bits.size() < 64 && (value >> bits.size()) != 0) {
        char limit[32];
        std::snprintf(limit, sizeof limit, "at most %#llx",
                      static_cast<unsigned long long>((std::uint64_t{1} << bits.size()) - 1));
        trouble = limit;
        return false;
    }
    for (std::size_t i = 0; i < bits.size(); ++i) {
        const std::uint64_t mask = std::uint64_t{1} << bits[i];
        *target = ((value >> i) & 1U) != 0 ? *target | mask : *target & ~mask;
    }
    return true;
}

// Fills an event from terms of one PMU.
class PmuEventMaker {
public:
    PmuEventMaker(const Pmu& pmu, std::string_view event) : pmu_{pmu}, event_{event} {
        spec_.type = pmu.type;
        spec_.unit = "events";
        spec_.is_processor_event = pmu.is_processor;
        spec_.cpus = pmu.cpus;
    }

    Result<EventSpec> make(std::string_view terms) {
        const std::vector<EventTerm> all = split_terms(terms);
        // Terms of the named event come first; the user's terms override them.
        for (const EventTerm& term : all) {
            if (const std::string_view alias = alias_of(term); !alias.empty()) {
                PERFLEET_TRY(take_alias(std::string(alias), all));
            }
        }
        for (const EventTerm& term : all) {
            PERFLEET_TRY(alias_of(term).empty() ? take(term) : Result<Done>{Done{}});
        }
        return std::move(spec_);
    }

private:
    // "cache-misses" or "event=cache-misses"; empty if the term names no event.
    [[nodiscard]] std::string_view alias_of(const EventTerm& term) const {
        if (!term.value) {
            return has_event(pmu_.folder, term.name) || software_event(term.name) != nullptr ? term.name
                                                                                             : std::string_view{};
        }
        return term.name == "event" && has_event(pmu_.folder, *term.value) ? *term.value : std::string_view{};
    }

    // Linux has no files for software events.
    [[nodiscard]] const NamedEvent* software_event(std::string_view name) const {
        const NamedEvent* const named = pmu_.type == perf::kTypeSoftware ? find_named_event(name) : nullptr;
        return named != nullptr && named->type == perf::kTypeSoftware ? named : nullptr;
    }

    Result<Done> take_alias(const std::string& alias, const std::vector<EventTerm>& given) {
        if (const NamedEvent* const named = software_event(alias)) {
            spec_.config = named->config;
            spec_.unit = named->unit;
            return Done{};
        }
        const std::string file = pmu_.folder + "/events/" + alias;
        const std::string terms = line_of(file);
        for (const EventTerm& term : split_terms(terms)) {
            if (term.value == "?") {
                const bool is_given = std::any_of(given.begin(), given.end(), [&](const EventTerm& other) {
                    return other.name == term.name && other.value;
                });
                if (!is_given) {
                    return event_error(event_, "'" + alias + "' needs a value of '" + std::string(term.name) +
                                                   "': write " + pmu_.name + "/" + alias + "," +
                                                   std::string(term.name) + "=…/");
                }
                continue;
            }
            PERFLEET_TRY(take(term));
        }
        const std::string unit = line_of(file + ".unit");
        const std::string scale = line_of(file + ".scale");
        spec_.unit = unit.empty() ? "events" : unit;
        if (!scale.empty() && scale != "1" && scale != "1.0") {
            spec_.unit = scale + " " + spec_.unit;  // one count stands for this many
        }
        return Done{};
    }

    Result<Done> take(const EventTerm& term) {
        if (auto taken = take_common_term(event_, term, spec_); !taken.ok() || *taken) {
            return taken.ok() ? Result<Done>{Done{}} : Result<Done>{std::move(taken).error()};
        }
        const std::string format =
            is_file_name(term.name) ? line_of(pmu_.folder + "/format/" + std::string(term.name)) : std::string{};
        if (format.empty()) {
            if (const auto raw = term.value ? std::nullopt : parse_raw_config(term.name)) {
                spec_.config = *raw;
                return Done{};
            }
            return unknown_term(term);
        }
        const auto value = term.value ? parse_number(*term.value) : std::optional<std::uint64_t>{1};
        std::string trouble = "a number must follow it, decimal or 0x…";
        if (!value || !fill_bits(format, *value, spec_, trouble)) {
            return event_error(event_, "'" + std::string(term.name) + "': " + trouble);
        }
        return Done{};
    }

    [[nodiscard]] Error unknown_term(const EventTerm& term) const {
        std::vector<std::string> terms = names_in_folder(pmu_.folder + "/format");
        std::vector<std::string> candidates = terms;
        for (const std::string& name : events_in(pmu_.folder)) {
            candidates.push_back(name);
        }
        for (const std::string& name : pmu_.type == perf::kTypeSoftware ? event_names() : std::vector<std::string>{}) {
            if (software_event(name) != nullptr) {
                candidates.push_back(name);
            }
        }
        for (const std::string& name : common_term_names()) {
            terms.push_back(name);
            candidates.push_back(name);
        }
        const std::string meant = did_you_mean(term.name, candidates);
        terms.resize(std::min(terms.size(), kShownMax));
        return event_error(event_, "the PMU '" + pmu_.name + "' has no term or event '" + std::string(term.name) + "'" +
                                       (meant.empty() ? "; it has " + quoted_list(terms) : meant));
    }

    const Pmu& pmu_;
    std::string_view event_;
    EventSpec spec_;
};

}  // namespace

std::vector<Pmu> find_pmus(const EventPlaces& places, std::string_view pattern) {
    if (is_file_name(pattern) && exists(places.pmus + "/" + std::string(pattern))) {
        return {read_pmu(places.pmus, std::string(pattern))};
    }
    return pmus_where(places, [&](const std::string& name) { return matches(name, pattern); });
}

std::vector<Pmu> find_pmus_with_event(const EventPlaces& places, std::string_view event_name) {
    return pmus_where(places, [&](const std::string& name) { return has_event(places.pmus + "/" + name, event_name); });
}

std::vector<std::string> pmu_names(const EventPlaces& places) { return names_in_folder(places.pmus); }

std::vector<std::string> pmu_event_names(const EventPlaces& places, const std::string& pmu) {
    return events_in(places.pmus + "/" + pmu);
}

std::vector<std::string> pmu_event_names(const EventPlaces& places) {
    std::vector<std::string> names;
    for (const std::string& pmu : pmu_names(places)) {
        for (std::string& name : pmu_event_names(places, pmu)) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

Result<EventSpec> make_pmu_event(const Pmu& pmu, std::string_view event, std::string_view terms) {
    if (!read_integer_file(pmu.folder + "/type")) {
        return Error{ErrorCode::kInvalid, "'" + pmu.folder + "/type' holds no number"};
    }
    return PmuEventMaker{pmu, event}.make(terms);
}

Error no_such_pmu(const EventPlaces& places, std::string_view event, std::string_view name) {
    const std::vector<std::string> names = pmu_names(places);
    if (const std::string meant = did_you_mean(name, names); !meant.empty()) {
        return event_error(event, "there is no PMU '" + std::string(name) + "'" + meant);
    }
    std::string why = "not supported by this machine: it has no PMU '" + std::string(name) + "'";
    if (name.starts_with("cpu") || name.starts_with("arm")) {
        why += " (no hardware counters, or they are hidden from this virtual machine); try '-e cpu-clock'";
    } else {
        std::vector<std::string> shown = names;
        shown.resize(std::min(shown.size(), kShownMax));
        why += shown.empty() ? "; try '-e cpu-clock'" : "; it has " + quoted_list(shown);
    }
    return event_error(event, why, ErrorCode::kUnsupported);
}

std::string pmu_trouble(std::string_view name) {
    for (const std::string_view aux : {"intel_pt", "intel_bts", "cs_etm", "arm_spe", "hisi_ptt", "coresight"}) {
        if (name.starts_with(aux)) {
            return "AUX area tracing isn't recorded; 'perf record -e " + std::string(name) + "//' does it";
        }
    }
    if (name == "uprobe" || name == "kprobe") {
        return "probes are tracepoints here: make one with 'perf probe' and name it, as probe_xz:main";
    }
    if (name == "tracepoint") {
        return "tracepoints are written SYSTEM:NAME, as sched:sched_switch";
    }
    if (name == "breakpoint") {
        return "breakpoints are written mem:ADDRESS, as mem:0x601040:w";
    }
    return {};
}

}  // namespace perfleet
