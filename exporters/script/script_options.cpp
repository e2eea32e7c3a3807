#include "exporters/script/script_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace perfleet {
namespace {

constexpr std::uint32_t kTypeTracepoint = 2;  // perf_event_attr.type

constexpr std::array<std::pair<std::string_view, ScriptField>, 20> kNames{
    {{"comm", ScriptField::kComm},       {"pid", ScriptField::kPid},           {"tid", ScriptField::kTid},
     {"cpu", ScriptField::kCpu},         {"tod", ScriptField::kTod},           {"time", ScriptField::kTime},
     {"period", ScriptField::kPeriod},   {"event", ScriptField::kEvent},       {"trace", ScriptField::kTrace},
     {"addr", ScriptField::kAddr},       {"data_src", ScriptField::kDataSrc},  {"weight", ScriptField::kWeight},
     {"ip", ScriptField::kIp},           {"sym", ScriptField::kSym},           {"symoff", ScriptField::kSymoff},
     {"dso", ScriptField::kDso},         {"iregs", ScriptField::kIregs},       {"uregs", ScriptField::kUregs},
     {"brstack", ScriptField::kBrstack}, {"phys_addr", ScriptField::kPhysAddr}}};

// Fields that only perf script has, with the reason.
struct RefusedField {
    std::string_view name;
    std::string_view reason;
};
constexpr std::string_view kNotRecorded = "isn't recorded";
constexpr std::string_view kInPerf = "is printed by perf script alone (perfleet export --to perf.data)";
constexpr std::array kRefused{RefusedField{"data_page_size", kInPerf},
                              RefusedField{"code_page_size", kInPerf},
                              RefusedField{"brstacksym", kInPerf},
                              RefusedField{"brstackoff", kInPerf},
                              RefusedField{"brstackinsn", kInPerf},
                              RefusedField{"brstackinsnlen", kInPerf},
                              RefusedField{"ins_lat", kInPerf},
                              RefusedField{"retire_lat", kInPerf},
                              RefusedField{"cgroup", kInPerf},
                              RefusedField{"flags", kNotRecorded},
                              RefusedField{"callindent", kNotRecorded},
                              RefusedField{"synth", kNotRecorded},
                              RefusedField{"ipc", kNotRecorded},
                              RefusedField{"machine_pid", kNotRecorded},
                              RefusedField{"vcpu", kNotRecorded},
                              RefusedField{"bpf-output", kNotRecorded},
                              RefusedField{"misc", kNotRecorded},
                              RefusedField{"metric", kNotRecorded},
                              RefusedField{"srcline", kInPerf},
                              RefusedField{"srccode", kInPerf},
                              RefusedField{"insn", kInPerf},
                              RefusedField{"insnlen", kInPerf},
                              RefusedField{"dsoff", kInPerf}};

std::string names() {
    std::string text;
    for (const auto& [name, field] : kNames) {
        text += (text.empty() ? "" : ", ") + std::string{name};
    }
    return text;
}

Result<Done> read_fields(const std::string& text, ScriptOptions& options) {
    options.fields.clear();
    std::size_t change_count = 0;
    for (const std::string& part : split_list(text)) {
        const bool is_change = part.starts_with('+') || part.starts_with('-');
        change_count += is_change ? 1 : 0;
        const std::string_view name = std::string_view{part}.substr(is_change ? 1 : 0);
        const auto found =
            std::find_if(kNames.begin(), kNames.end(), [&](const auto& known) { return known.first == name; });
        const auto refused =
            std::find_if(kRefused.begin(), kRefused.end(), [&](const auto& other) { return other.name == name; });
        if (found == kNames.end() && refused != kRefused.end()) {
            return Error{ErrorCode::kUsage, "fields: '" + std::string{name} + "' " + std::string{refused->reason} +
                                                "; there are " + names()};
        }
        if (found == kNames.end() && name.find(':') != std::string_view::npos) {
            return Error{ErrorCode::kUsage, "fields: '" + part +
                                                "': fields by the type of event aren't supported; name " +
                                                "those of all events, and choose an event with --event"};
        }
        if (found == kNames.end()) {
            return option_error("fields", part, "a field: " + names() + ", or with + or - before it");
        }
        options.fields.push_back({found->second, !part.starts_with('-')});
    }
    if (change_count != 0 && change_count != options.fields.size()) {
        return option_error("fields", text, "either a list of fields or changes of the default ones (+FIELD, -FIELD)");
    }
    options.changes_defaults = change_count != 0;
    return Done{};
}

}  // namespace

std::string_view field_name(ScriptField field) {
    return std::find_if(kNames.begin(), kNames.end(), [&](const auto& known) { return known.second == field; })->first;
}

ScriptFields ScriptOptions::fields_of(const ExportedEvent& event, bool has_tracepoint_chains) const {
    const bool is_tracepoint = event.type == kTypeTracepoint;
    ScriptFields shown;
    if (fields.empty() || changes_defaults) {
        using enum ScriptField;
        for (const ScriptField field : {kComm, kTid, kCpu, kTime, kEvent}) {
            shown.set(field, true);
        }
        shown.set(kPid, is_json);
        shown.set(kPeriod, !is_tracepoint);
        shown.set(kTrace, is_tracepoint);
        for (const ScriptField field : {kIp, kSym, kSymoff, kDso}) {
            shown.set(field, !is_tracepoint || has_tracepoint_chains);
        }
    }
    for (const Change& change : fields) {
        shown.set(change.field, change.is_added);
    }
    if (!is_tracepoint) {
        shown.set(ScriptField::kTrace, false);
    }
    return shown;
}

const OptionTable<ScriptOptions>& script_options() {
    static const OptionTable<ScriptOptions> kTable =
        OptionTable<ScriptOptions>{}
            .text({.name = "fields",
                   .type = OptionType::kText,
                   .value_name = "FIELDS",
                   .summary = "what to print, with commas: " + names() +
                              "; +FIELD and -FIELD change the default ones. As perf script's",
                   .aliases = {"F"}},
                  read_fields)
            .add({.name = "hide-call-graph",
                  .type = OptionType::kFlag,
                  .value_name = "",
                  .summary = "print the innermost frame only, in the row's line",
                  .aliases = {"G"}},
                 [](const OptionValue&, ScriptOptions& options) {
                     options.hides_call_graph = true;
                     return Result<Done>{Done{}};
                 })
            .flag("ns", &ScriptOptions::is_ns, "print times with nine digits instead of six")
            .choice({.name = "format",
                     .value_name = "FORMAT",
                     .summary = "text as perf script prints it, or json: an object a line"},
                    &ScriptOptions::is_json, {{"text", false}, {"json", true}})
            .finish([](const OptionValues& values, ScriptOptions& options) -> Result<Done> {
                const auto has = [&](ScriptField field) {
                    return std::any_of(options.fields.begin(), options.fields.end(),
                                       [&](const auto& change) { return change.field == field && change.is_added; });
                };
                if (!options.fields.empty() && !options.changes_defaults && !has(ScriptField::kIp) &&
                    (has(ScriptField::kSym) || has(ScriptField::kSymoff) || has(ScriptField::kDso))) {
                    return option_error("fields", std::get<std::string>(values.at("fields")),
                                        "with ip: sym, symoff and dso are printed beside it");
                }
                return Done{};
            });
    return kTable;
}

}  // namespace perfleet
