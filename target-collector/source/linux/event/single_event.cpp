#include "target-collector/source/linux/event/single_event.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "schemas/host/suggestion.h"
#include "target-collector/source/linux/event/breakpoint_event.h"
#include "target-collector/source/linux/event/event_error.h"
#include "target-collector/source/linux/event/event_modifier.h"
#include "target-collector/source/linux/event/event_table.h"
#include "target-collector/source/linux/event/event_term.h"
#include "target-collector/source/linux/event/pmu_event.h"
#include "target-collector/source/linux/event/probe_name.h"
#include "target-collector/source/linux/event/tracepoint_finder.h"

namespace perfleet {
namespace {

using SingleEvents = std::vector<SingleEvent>;

constexpr std::size_t kEventSizeMax = 256;

// Event names of perf that aren't supported, and why.
struct RefusedEvent {
    std::string_view name;
    std::string_view why;
};
constexpr std::array kRefusedEvents{
    RefusedEvent{"duration_time", "perf stat measures it by itself; 'perfleet sessions' shows how long each took"},
    RefusedEvent{"user_time", "perf stat measures it by itself; record task-clock:u"},
    RefusedEvent{"system_time", "perf stat measures it by itself; record task-clock:k"},
    RefusedEvent{"bpf-output",
                 "it carries what a BPF program writes into it, and perfleet loads none; record the tracepoints or "
                 "probes that your program is attached to"},
};

bool is_bpf_file(std::string_view text) {
    return text.ends_with(".c") || text.ends_with(".o") || text.ends_with(".bpf");
}

// Names that perf maps to events of the processor's PMU, whatever that is called.
bool is_processor_alias(std::string_view name) {
    return name == "mem-loads" || name == "mem-stores" || name == "cycles-t" || name == "cycles-ct" ||
           name == "slots" || name.starts_with("topdown-");
}

struct ColonParts {
    std::string_view first;
    std::optional<std::string_view> rest;  // after the first colon; empty: no colon
};

ColonParts split_at_colon(std::string_view text) {
    const std::size_t colon = text.find(':');
    return {text.substr(0, colon),
            colon == std::string_view::npos ? std::nullopt : std::optional{text.substr(colon + 1)}};
}

// The parts before, between and after an event's slashes.
struct SlashParts {
    std::string_view head;
    std::optional<std::string_view> terms;
    std::string_view modifiers;
};

Result<SlashParts> split_at_slashes(std::string_view text) {
    SlashParts parts;
    const std::size_t open = text.find('/');
    parts.head = text.substr(0, open);
    if (open == std::string_view::npos) {
        return parts;
    }
    bool is_quoted = false;
    std::size_t close = open + 1;
    for (; close < text.size() && (is_quoted || text[close] != '/'); ++close) {
        is_quoted = is_quoted != (text[close] == '\'');
    }
    if (close >= text.size()) {
        return event_error(text, "the second '/' is missing; terms go between two, as in cycles/period=1000/");
    }
    parts.terms = text.substr(open + 1, close - open - 1);
    parts.modifiers = text.substr(close + 1);
    parts.modifiers.remove_prefix(parts.modifiers.starts_with(':') ? 1 : 0);
    return parts;
}

class SingleEventParser {
public:
    SingleEventParser(std::string_view text, const EventPlaces& places) : text_{text}, places_{places} {}

    Result<SingleEvents> parse() {
        if (is_breakpoint_spelling(text_)) {
            auto event = parse_breakpoint(text_);
            return event.ok() ? one(std::move(*event)) : Result<SingleEvents>{std::move(event).error()};
        }
        if (is_bpf_file(text_)) {
            return event_error(text_, "BPF programs aren't loaded; record the tracepoints or probes that it is for");
        }
        auto parts = PERFLEET_TRY(split_at_slashes(text_));
        if (!parts.head.empty() && parts.head[0] >= '0' && parts.head[0] <= '9') {
            return parse_numeric(parts);
        }
        return parse_named(parts);
    }

private:
    static SingleEvents one(SingleEvent event) {
        SingleEvents events;
        events.push_back(std::move(event));
        return events;
    }

    Result<SingleEvents> parse_named(const SlashParts& parts) {
        const auto [name, rest] = split_at_colon(parts.head);
        if (name == kProbeSystem && rest) {
            return parse_probes(*rest, parts);
        }
        // A tracepoint system may have the same name as an event or PMU.
        const bool can_be_tracepoint =
            rest && (is_pattern(name) || !is_modifier(*rest) || has_tracepoint_system(name, places_));
        SingleEvents known =
            can_be_tracepoint && has_tracepoint_system(name, places_) ? SingleEvents{} : find_known(name, parts);
        if (!known.empty()) {
            return finish(std::move(known), parts, rest);
        }
        if (can_be_tracepoint) {
            return parse_tracepoints(name, *rest, parts);
        }
        return rest || !parts.terms ? Result<SingleEvents>{unknown(name)} : parse_pmu(name, parts);
    }

    // Events of the table, cache events, raw events, and named events of PMUs without terms; otherwise none.
    [[nodiscard]] SingleEvents find_known(std::string_view name, const SlashParts& parts) const {
        SingleEvent event;
        event.base = name;
        if (const NamedEvent* const named = find_named_event(name)) {
            event.spec = spec_of(*named);
            event.spec.name.clear();
        } else if (const auto cache = parse_cache_event(name)) {
            set_processor_event(perf::kTypeHwCache, *cache, event.spec);
        } else if (const auto raw = parse_raw_config(name)) {
            set_processor_event(perf::kTypeRaw, *raw, event.spec);
        } else {
            return parts.terms ? SingleEvents{} : find_known_to_pmus(name);
        }
        return one(std::move(event));
    }

    static void set_processor_event(std::uint32_t type, std::uint64_t config, EventSpec& spec) {
        spec.type = type;
        spec.config = config;
        spec.unit = "events";
        spec.is_processor_event = true;
    }

    [[nodiscard]] SingleEvents find_known_to_pmus(std::string_view name) const {
        SingleEvents events;
        const std::vector<Pmu> pmus = find_pmus_with_event(places_, name);
        for (const Pmu& pmu : pmus) {
            if (auto spec = make_pmu_event(pmu, text_, name); spec.ok()) {
                const bool is_alone = pmus.size() == 1;
                events.push_back({std::move(*spec),
                                  is_alone ? std::string(name) : pmu.name + "/" + std::string(name) + "/",
                                  {},
                                  !is_alone,
                                  !is_alone});
            }
        }
        return events;
    }

    // Adds modifiers, and the terms that all kinds of events take.
    Result<SingleEvents> finish(SingleEvents events, const SlashParts& parts, std::optional<std::string_view> rest) {
        if (parts.terms && rest) {
            return event_error(text_, "modifiers go after the second '/'");
        }
        const std::string_view modifiers = parts.terms ? parts.modifiers : rest.value_or(std::string_view{});
        if (const std::string trouble = modifier_trouble(modifiers); !trouble.empty() && (rest || !modifiers.empty())) {
            return event_error(text_, trouble);
        }
        for (SingleEvent& event : events) {
            event.modifiers = modifiers;
            if (parts.terms) {
                PERFLEET_TRY(take_common_terms(text_, *parts.terms, event.spec));
                event.base += "/" + std::string(*parts.terms) + "/";
                event.ends_in_slash = true;
            }
        }
        return events;
    }

    // TYPE:CONFIG
    Result<SingleEvents> parse_numeric(const SlashParts& parts) {
        const auto [type_text, behind_type] = split_at_colon(parts.head);
        const auto [config_text, rest] = split_at_colon(behind_type.value_or(std::string_view{}));
        const auto type = parse_number(type_text);
        const auto config = parse_number(config_text);
        if (!type || !config || *type > std::numeric_limits<std::uint32_t>::max()) {
            return event_error(text_, "numbers are written TYPE:CONFIG, as 4:0x1a8; the same raw event is r1a8");
        }
        if (*type == perf::kTypeTracepoint) {
            return event_error(text_, "a tracepoint is named, for its fields to be known; 'grep -lx " +
                                          std::to_string(*config) + " /sys/kernel/tracing/events/*/*/id' finds it");
        }
        if (*type == perf::kTypeBreakpoint) {
            return event_error(text_, pmu_trouble("breakpoint"));
        }
        SingleEvent event;
        set_processor_event(static_cast<std::uint32_t>(*type), *config, event.spec);
        event.spec.is_processor_event = *type != perf::kTypeSoftware && *type <= perf::kTypeRaw;
        event.base = std::string(type_text) + ":" + std::string(config_text);
        return finish(one(std::move(event)), parts, rest);
    }

    Result<SingleEvents> parse_pmu(std::string_view name, const SlashParts& parts) {
        if (const std::string trouble = pmu_trouble(name); !trouble.empty()) {
            return event_error(text_, trouble, ErrorCode::kUnsupported);
        }
        const std::vector<Pmu> pmus = find_pmus(places_, name);
        if (pmus.empty()) {
            return no_such_pmu(places_, text_, name);
        }
        const bool is_one_of_many = pmus.size() > 1;
        SingleEvents events;
        for (const Pmu& pmu : pmus) {
            auto spec = PERFLEET_TRY(make_pmu_event(pmu, text_, *parts.terms));
            if (is_one_of_many && !spec.name.empty()) {
                spec.name += "/" + pmu.name;  // so that names are unique
            }
            events.push_back(
                {std::move(spec), pmu.name + "/" + std::string(*parts.terms) + "/", {}, true, is_one_of_many});
        }
        return finish(std::move(events), {parts.head, std::nullopt, {}},
                      parts.modifiers.empty() ? std::nullopt : std::optional{parts.modifiers});
    }

    Result<SingleEvents> parse_probes(std::string_view name, const SlashParts& parts) const {
        if (parts.terms) {
            return event_error(text_, "a probe has no terms: leave out the text between the slashes");
        }
        auto specs = PERFLEET_TRY(find_probes(text_, name, places_.probes));
        SingleEvents events;
        for (EventSpec& spec : specs) {
            SingleEvent event;
            event.base = spec.name;
            event.spec = std::move(spec);
            event.is_one_of_many = is_pattern(name);
            events.push_back(std::move(event));
        }
        return events;
    }

    Result<SingleEvents> parse_tracepoints(std::string_view system, std::string_view behind_system,
                                           const SlashParts& parts) {
        const auto [name, rest] = split_at_colon(behind_system);
        auto specs = PERFLEET_TRY(find_tracepoints(text_, system, name, places_));
        SingleEvents events;
        for (EventSpec& spec : specs) {
            SingleEvent event;
            event.base = std::exchange(spec.name, {});
            event.spec = std::move(spec);
            event.is_one_of_many = is_pattern(system) || is_pattern(name);
            events.push_back(std::move(event));
        }
        return finish(std::move(events), parts, rest);
    }

    [[nodiscard]] Error unknown(std::string_view name) const {
        for (const RefusedEvent& refused : kRefusedEvents) {
            if (refused.name == name) {
                return event_error(text_, std::string(refused.why), ErrorCode::kUnsupported);
            }
        }
        if (is_processor_alias(name)) {
            return event_error(text_,
                               "not supported by this machine: no PMU has an event '" + std::string(name) +
                                   "'; --list-events shows what there is",
                               ErrorCode::kUnsupported);
        }
        if (const std::vector<Pmu> pmus = find_pmus(places_, name); pmus.size() == 1 && pmus.front().name == name) {
            const std::vector<std::string> events = pmu_event_names(places_, pmus.front().name);
            return event_error(text_, "this is a PMU, of which an event is named, as " + pmus.front().name + "/" +
                                          (events.empty() ? "config=1" : events.front()) + "/");
        }
        std::vector<std::string> near = tracepoints_named(name, places_);
        if (near.empty()) {
            std::vector<std::string> candidates = event_names();
            for (std::string& of_pmu : pmu_event_names(places_)) {
                candidates.push_back(std::move(of_pmu));
            }
            near = nearest_names(name, candidates);
        }
        return event_error(
            text_, "there is no such event" + (near.empty() ? "; --list-events shows those with a name, and there are "
                                                              "tracepoints (sched:sched_switch), raw events (r1a8) and "
                                                              "breakpoints (mem:0x601040:w)"
                                                            : suggestion_of(near)));
    }

    std::string_view text_;
    const EventPlaces& places_;
};

// "hz:99" and "ms:10" in Hz; 0: neither.
std::uint64_t rate_hz(std::string_view text) {
    constexpr std::pair<std::string_view, std::uint64_t> kInASecond[]{{"s", 1}, {"ms", 1000}, {"us", 1'000'000}};
    const auto [unit, value] = split_at_colon(text);
    const std::uint64_t number = value ? parse_number(*value).value_or(0) : 0;
    for (const auto& [name, count] : kInASecond) {
        if (name == unit && number != 0 && count % number == 0) {
            return count / number;
        }
    }
    return unit == "hz" ? number : 0;
}

// The kinds of events of bpftrace, with their short names.
constexpr std::string_view kFunctionsOfKernel[]{"kprobe", "kretprobe", "kfunc", "kretfunc",
                                                "fentry", "fexit",     "k",     "kr"};
constexpr std::string_view kFunctionsOfPrograms[]{"uprobe", "uretprobe", "u", "ur"};
constexpr std::string_view kCounted[]{"software", "s", "hardware", "h"};

// Also what bpftrace calls events: tracepoint:SYSTEM:NAME, profile:hz:N, software:NAME:COUNT.
Result<std::vector<SingleEvent>> parse_as_bpftrace(std::string_view text, const EventPlaces& places) {
    const auto [kind, rest] = split_at_colon(text);
    const auto is_one_of = [kind = kind](std::span<const std::string_view> kinds) {
        return std::ranges::find(kinds, kind) != kinds.end();
    };
    if (!rest || has_tracepoint_system(kind, places)) {
        return SingleEventParser{text, places}.parse();
    }
    if (kind == "tracepoint" || kind == "t") {
        return SingleEventParser{*rest, places}.parse();
    }
    if (kind == "profile" || kind == "p") {
        const std::uint64_t hertz = rate_hz(*rest);
        auto events = PERFLEET_TRY(SingleEventParser("cpu-clock", places).parse());
        if (hertz == 0) {
            return event_error(text, "after profile: comes a rate in whole Hz, or a part of a second: hz:99, ms:10");
        }
        events.front().spec.frequency_hz = hertz;
        return events;
    }
    if (is_one_of(kCounted)) {
        const auto [name, count] = split_at_colon(*rest);
        const std::string period = count && !count->empty() ? "/period=" + std::string{*count} + "/" : "";
        return SingleEventParser{std::string{name} + period, places}.parse();
    }
    if (const bool is_of_kernel = is_one_of(kFunctionsOfKernel); is_of_kernel || is_one_of(kFunctionsOfPrograms)) {
        const std::string function = (is_of_kernel ? "kernel:" : "") + std::string(*rest);
        return event_error(
            text, "calls of a function are timed by 'perfleet latency --function " + function + " -- COMMAND'");
    }
    if (kind == "usdt" || kind == "U") {
        return event_error(text, "probes are tracepoints here: make one with 'perf probe' and name it, as sdt_libc:x");
    }
    if (kind == "interval" || kind == "i") {
        return event_error(text, "counts at intervals are printed by 'perfleet stat -I 100 -- COMMAND'");
    }
    if (kind == "watchpoint" || kind == "w") {
        return event_error(text, "breakpoints are written mem:ADDRESS/LENGTH:rw, as mem:0x601040/8:w");
    }
    if (const auto near = tracepoints_named(*rest, places); kind == "rawtracepoint" && !near.empty()) {
        return SingleEventParser{near.front(), places}.parse();
    }
    return SingleEventParser{text, places}.parse();
}

}  // namespace

Result<std::vector<SingleEvent>> parse_single_event(std::string_view text, const EventPlaces& places) {
    if (text.empty()) {
        return Error{ErrorCode::kUsage, "-e: an event's name is missing (a comma too many?)"};
    }
    if (text.size() > kEventSizeMax) {
        return Error{ErrorCode::kUsage, "-e: an event has at most " + std::to_string(kEventSizeMax) + " characters"};
    }
    return parse_as_bpftrace(text, places);
}

}  // namespace perfleet
