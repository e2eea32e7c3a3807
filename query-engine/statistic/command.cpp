#include "query-engine/statistic/command.h"

#include <algorithm>
#include <utility>

#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/counter/counters.h"
#include "query-engine/statistic/diff/diff_command.h"
#include "query-engine/statistic/kernel/kernel_entries.h"
#include "query-engine/statistic/kernel/utilisation.h"
#include "query-engine/statistic/latency/latency_command.h"
#include "query-engine/statistic/latency/tracepoints.h"
#include "query-engine/statistic/profile/annotate.h"
#include "query-engine/statistic/profile/series.h"
#include "query-engine/statistic/profile/subsecond.h"
#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/profile/tree.h"
#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/labels.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/session/session_changes.h"
#include "query-engine/statistic/session/symbol_inventory.h"
#include "query-engine/statistic/stack/frame_filter.h"

namespace perfleet {
namespace {

constexpr const char* kSharesFooter =
    "Shares are of samples: of n samples one is known to 100/sqrt(n) percentage points at\n"
    "worst, and an address may lie some instructions after its cause (docs/statistics.md).";

Result<Scan> open_scan(const QueryInput& input) {
    auto scan = PERFLEET_TRY(Scan::open(input.store, input.selection, input.context));
    PERFLEET_TRY(check_event(scan));
    filter_frames(scan, input.paths);
    return scan;
}

// A command over one scan. `make` takes the scan, a symbolizer, and the options.
template <class Options, class Make>
QueryCommand command(std::string name, std::string summary, std::string rows, const OptionTable<Options>& table,
                     Make make) {
    QueryCommand made;
    made.name = std::move(name);
    made.summary = std::move(summary);
    made.rows = std::move(rows);
    made.options = table.specs();
    made.check = [&table](const OptionValues& values, const Selection&, UtcNs) { return table.check(values); };
    made.run = [&table, make](const QueryInput& input) -> Result<Answer> {
        const auto options = PERFLEET_TRY(table.read(input.values));
        const auto scan = PERFLEET_TRY(open_scan(input));
        if (input.paths.symbolizer != nullptr) {
            return make(scan, *input.paths.symbolizer, options);
        }
        Symbolizer symbolizer{&input.store, input.paths, input.selection.symbols_size_bytes_max()};
        return make(scan, symbolizer, options);
    };
    return made;
}

// A command that lists what the store holds.
QueryCommand as_inventory(QueryCommand made, bool has_event) {
    made.is_inventory = true;
    made.filters = QueryFilters::kNone;
    made.has_event = has_event;
    return made;
}

template <class Make>
QueryCommand inventory(std::string name, std::string summary, std::string rows, bool has_event, Make make) {
    return as_inventory(
        command(std::move(name), std::move(summary), std::move(rows), no_options(),
                [make](const Scan& scan, Symbolizer&, const NoOptions&) -> Result<Answer> { return make(scan); }),
        has_event);
}

template <class Options>
QueryCommand profile(std::string name, std::string summary, const OptionTable<Options>& table,
                     Result<Answer> (*make)(const Scan&, Symbolizer&, const Options&)) {
    QueryCommand made = command(std::move(name), std::move(summary), "", table, make);
    made.footer = kSharesFooter;
    made.use = SessionUse::kProfile;
    made.filters = QueryFilters::kFrames;
    return made;
}

// Each side gets half of the memory.
Result<Answer> run_diff(const QueryInput& input) {
    Selection common = input.selection;
    common.memory_size_bytes_max /= 2;
    const auto question = PERFLEET_TRY(parse_diff(input.values, common, input.now));
    const auto open = [&](const char* name, const Selection& selection) -> Result<Scan> {
        Result<Scan> scan = Scan::open(input.store, selection, input.context);
        return scan.ok() ? std::move(scan)
                         : Error{scan.error().code, std::string{"--"} + name + ": " + scan.error().message};
    };
    auto before = PERFLEET_TRY(open("before", question.before));
    auto after = PERFLEET_TRY(open("after", question.after));
    if (const auto checked = check_event(before); !checked.ok() && !check_event(after).ok()) {
        return Error{checked.error()};
    }
    filter_frames(before, input.paths);
    filter_frames(after, input.paths);
    Symbolizer symbolizer{&input.store, input.paths, common.symbols_size_bytes_max()};
    return make_diff(before, after, symbolizer, question.options);
}

QueryCommand diff() {
    QueryCommand made;
    made.name = "diff";
    made.summary = "What changed between two runs, times or groups of targets";
    made.options = diff_options().specs();
    made.check = [](const OptionValues& values, const Selection& selection, UtcNs now) -> Result<Done> {
        const Result<DiffQuestion> question = parse_diff(values, selection, now);
        return question.ok() ? Result<Done>{Done{}} : Error{question.error()};
    };
    made.use = SessionUse::kLikeTheLast;
    made.filters = QueryFilters::kFrames;
    made.run = run_diff;
    return made;
}

QueryCommand annotate() {
    QueryCommand made = profile<NoOptions>(
        "annotate", "Where in a function the time went: its instructions and source lines with their samples",
        no_options(), [](const Scan& scan, Symbolizer& symbolizer, const NoOptions&) -> Result<Answer> {
            return make_annotate(scan, symbolizer);
        });
    made.check = [](const OptionValues&, const Selection& selection, UtcNs) -> Result<Done> {
        return selection.filter.symbols.empty() ? usage("annotate: name a function (perfleet top lists them)")
                                                : Result<Done>{Done{}};
    };
    return made;
}

std::vector<QueryCommand> make_commands() {
    std::vector<QueryCommand> commands;
    commands.push_back(profile("top", "Where the time went: symbols, images, commands or threads by samples",
                               top_options(), make_top));
    commands.back().aliases = {"report"};
    commands.push_back(profile("tree", "Callers and callees: call chains of the samples, from the outermost function",
                               tree_options(), make_tree));
    commands.push_back(annotate());
    commands.push_back(profile("series", "How a profile's amount changed over time, by command, unit, target or label",
                               series_options(), make_series));
    commands.push_back(profile("subsecond", "A profile by place within each second: patterns that a sum hides",
                               subsecond_options(), make_subsecond));
    commands.push_back(diff());
    commands.push_back(command(
        "latency", "Statistics of measured latencies: percentiles, intervals, validity warnings", "measured values",
        latency_options(),
        [](const Scan& scan, Symbolizer&, const LatencyOptions& options) { return make_latency(scan, options); }));
    commands.back().use = SessionUse::kDurations;
    commands.back().empty_hint =
        "they come from perfleet import, and from programs that measure themselves; --function IMAGE:FUNCTION measures "
        "here and now, --pair START,STOP takes the time between two tracepoints; for where the time goes: perfleet "
        "top";
    commands.push_back(command("tracepoints", "How often tracepoints were hit, what they measured, and its overhead",
                               "tracepoints", tracepoint_options(),
                               [](const Scan& scan, Symbolizer&, const TracepointOptions& options) {
                                   return make_tracepoints(scan, options);
                               }));
    commands.back().use = SessionUse::kTracepoints;
    commands.push_back(command(
        "counters", "Totals of counters", "counters", counter_options(),
        [](const Scan& scan, Symbolizer&, const CounterOptions& options) { return make_counters(scan, options); }));
    commands.push_back(command("kernel-entries", "Entries of a seL4 kernel: how many, which, how long",
                               "kernel entries", kernel_entry_options(), make_kernel_entries));
    commands.push_back(command("utilisation", "CPU utilisation by thread, as a seL4 kernel counted it",
                               "windows of utilisation", no_options(),
                               [](const Scan& scan, Symbolizer&, const NoOptions&) { return make_utilisation(scan); }));
    commands.push_back(as_inventory(
        command("sessions", "Runs of collectors: times, events and sizes", "sessions", session_list_options(),
                [](const Scan& scan, Symbolizer&, const SessionListOptions& options) {
                    return make_sessions(scan, options);
                }),
        false));
    commands.push_back(inventory("targets", "Hosts and boards that have sent data", "targets", false, make_targets));
    commands.push_back(inventory("labels", "Labels of targets, and their values", "labels", false, make_labels));
    commands.push_back(inventory("events", "Events that profiles can show", "events", false, make_events));
    commands.push_back(inventory("losses", "Rows produced, stored, expired and lost, with the reasons", "rows", true,
                                 [](const Scan& scan) { return make_losses(scan); }));
    commands.push_back(inventory("symbols", "Images that sessions name, and the symbols that the store has of them",
                                 "images", false, make_symbol_inventory));
    commands.push_back(inventory("controls", "Control requests that changed sessions while they ran",
                                 "control requests", false, make_controls));
    return commands;
}

// An empty table doesn't show whether the query or the recording was wrong.
void warn_of_no_rows(const QueryCommand& query, Answer& answer) {
    if (!answer.rows.empty() || query.rows.empty()) {
        return;
    }
    if (!query.empty_hint.empty()) {
        answer.warnings.push_back("no " + query.rows + " are in the selection: " + query.empty_hint);
    } else if (answer.warnings.empty()) {
        answer.warnings.push_back("no " + query.rows + " are in the selection" +
                                  (query.is_inventory ? "" : " (perfleet losses lists what there is)"));
    }
}

// Errors: kUsage: an option that the command doesn't have, or a value that it can't have.
Result<Selection> check(const QueryCommand& query, const OptionValues& values, UtcNs now) {
    const std::vector<OptionSpec> selection_of_it = query.selection();
    for (const auto& [name, value] : values) {
        if (find_option(query.options, name) == nullptr && find_option(selection_of_it, name) == nullptr) {
            return usage(query.name + " has no option --" + name.substr(0, 64));
        }
    }
    auto selection = PERFLEET_TRY(read_selection(values, now));
    selection.reads_large_texts = !query.is_inventory;
    selection.use = query.use_with(values);
    PERFLEET_TRY(query.check(values, selection, now));
    return selection;
}

}  // namespace

SessionUse QueryCommand::use_with(const OptionValues& values) const {
    const bool pairs = use != SessionUse::kProfile && use != SessionUse::kAny && values.contains("pair");
    return pairs ? SessionUse::kTracepoints : use;
}

std::vector<OptionSpec> QueryCommand::selection() const {
    std::vector<OptionSpec> all;
    for (const OptionSpec& option : selection_options()) {
        const bool is_of_frames = is_frame_filter(option.name);
        const bool is_of_rows = is_row_filter(option.name);
        const bool is_of_events = option.name == "event" || option.name == "off-cpu" || option.name == "measure";
        if ((has_event || !is_of_events) && (!is_of_frames || filters == QueryFilters::kFrames) &&
            (!is_of_rows || filters != QueryFilters::kNone)) {
            all.push_back(option);
        }
    }
    return all;
}

std::span<const QueryCommand> query_commands() {
    static const std::vector<QueryCommand> kCommands = make_commands();
    return kCommands;
}

Result<const QueryCommand*> find_query_command(std::string_view name) {
    for (const QueryCommand& query : query_commands()) {
        if (query.name == name || std::find(query.aliases.begin(), query.aliases.end(), name) != query.aliases.end()) {
            return &query;
        }
    }
    return usage("there is no command \"" + std::string{name.substr(0, 64)} + "\"");
}

Result<Done> check_query(std::string_view command, const OptionValues& values, UtcNs now) {
    const auto query = PERFLEET_TRY(find_query_command(command));
    const Result<Selection> selection = check(*query, values, now);
    return selection.ok() ? Result<Done>{Done{}} : Error{selection.error()};
}

Result<Answer> run_query(std::string_view command, const OptionValues& values, const StoreReader& store,
                         const SymbolPaths& paths, UtcNs now, QueryContext* context) {
    const auto query = PERFLEET_TRY(find_query_command(command));
    const auto selection = PERFLEET_TRY(check(*query, values, now));
    auto answer = PERFLEET_TRY(query->run({values, selection, store, paths, now, context}));
    const std::string filters = filters_text(values);
    const bool is_filtered_out = !filters.empty() && answer.rows.empty() && answer.ledger.produced != 0;
    if (is_filtered_out) {  // which is why the other warnings are there
        answer.warnings = {"no row passes " + filters + " (without it the query shows what there is)"};
    }
    for (const std::string& note : store.damage()) {
        const std::string warning = "not readable: " + note;
        if (std::find(answer.warnings.begin(), answer.warnings.end(), warning) == answer.warnings.end()) {
            answer.warnings.push_back(warning);
        }
    }
    warn_of_no_rows(*query, answer);
    if (!filters.empty() && !answer.rows.empty()) {
        answer.warnings.emplace_back(
            "counts are of the rows that pass the filters; the ledger is of all of the selection");
    }
    return answer;
}

}  // namespace perfleet
