// compare: two programs run in turns, their times and counts stored, a session a run, and the verdict of `diff`.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "query-engine/statistic/command.h"
#include "query-engine/statistic/number/random_stream.h"
#include "schemas/text/utf8.h"
#include "storage/engine/folder.h"
#include "storage/engine/open_engine.h"
#include "storage/store/open_store.h"
#include "target-collector/linux/machine_state.h"
#include "target-collector/linux/target_identity.h"
#include "target-collector/source/linux/event_parser.h"
#include "tools/perfleet/command_options.h"
#include "tools/perfleet/counted_run.h"
#include "tools/perfleet/diff_command.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/invocation.h"

namespace perfleet {
namespace {

constexpr const char* kBetween = ":::";
constexpr unsigned kRunsASideMax = 1'000;

struct ComparedCommands {
    std::vector<std::string> words;  // A ::: B
    std::vector<std::string> events;
    unsigned run_count = 10;
    unsigned warmup_count = 1;
    std::string data;
    QueryOptions query;
    OutputOptions output;
    bool fails_undecided = false;
};

struct ComparedSide {
    const char* name;
    std::vector<std::string> command;
};

Result<std::array<ComparedSide, 2>> sides_of(const std::vector<std::string>& words) {
    const auto between = std::find(words.begin(), words.end(), kBetween);
    std::array<ComparedSide, 2> sides{ComparedSide{"A", {words.begin(), between}}, ComparedSide{"B", {}}};
    if (between != words.end()) {
        sides[1].command.assign(between + 1, words.end());
    }
    const bool has_more =
        std::find(sides[1].command.begin(), sides[1].command.end(), kBetween) != sides[1].command.end();
    if (sides[0].command.empty() || sides[1].command.empty() || has_more) {
        return Error{ErrorCode::kUsage, "two commands, with ::: between them: perfleet compare -- ./old ::: ./new"};
    }
    return sides;
}

// Standard output is the verdict's: what the programs print there is dropped, as long as this is there.
class OutputDropped {
public:
    OutputDropped() : kept_{::dup(STDOUT_FILENO)} {
        const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) {
            (void)::dup2(null, STDOUT_FILENO);
            ::close(null);
        }
    }
    ~OutputDropped() {
        if (kept_ >= 0) {
            (void)::dup2(kept_, STDOUT_FILENO);
            ::close(kept_);
        }
    }
    OutputDropped(const OutputDropped&) = delete;
    OutputDropped& operator=(const OutputDropped&) = delete;

private:
    int kept_;
};

struct MeasuredRun {
    ImportedRun run;
    ImportPlace place;
};

ImportedSeries series_of(const std::string& event, const std::string& unit, std::uint64_t value) {
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = event;
    series.unit = unit;
    series.values = {value};
    return series;
}

std::string command_text(const std::vector<std::string>& command) {
    std::string text;
    for (const std::string& word : command) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

// A run that fails is no measurement: nothing is compared then.
Result<CountedRun> run_whole(const ComparedSide& side, std::span<const EventSpec> events) {
    auto run = run_counted(side.command, events);
    if (run.ok() && run->exit_status != 0) {
        return Error{ErrorCode::kInvalid, std::string{side.name} + " (" + printable(command_text(side.command)) +
                                              ") ended with status " + std::to_string(run->exit_status) +
                                              ": nothing is compared"};
    }
    return run;
}

Result<std::vector<MeasuredRun>> measure(const ComparedCommands& options, const std::array<ComparedSide, 2>& sides,
                                         std::span<const EventSpec> events, const std::string& comparison,
                                         RandomStream& random) {
    const OutputDropped dropped;
    std::vector<MeasuredRun> measured;
    for (unsigned turn = 0; turn < options.warmup_count + options.run_count; ++turn) {
        // Both in each turn, so that what changes slowly meets both; which is first is drawn, so that neither profits.
        const std::size_t first = random.below(2);
        for (const std::size_t index : {first, 1 - first}) {
            const ComparedSide& side = sides[index];
            const UtcNs start = utc_now();
            const auto run = run_whole(side, events);
            if (!run.ok()) {
                return Error{run.error()};
            }
            if (turn < options.warmup_count) {
                continue;
            }
            MeasuredRun& one = measured.emplace_back();
            one.place = {host_name(), "", start, command_text(side.command)};
            for (const auto& [name, text] : machine_state()) {
                one.run.labels[name] = text;
            }
            one.run.labels["status"] = "ok";
            one.run.labels["comparison"] = comparison;
            one.run.labels["side"] = side.name;
            one.run.labels["warmup"] = std::to_string(options.warmup_count) + " runs";
            for (std::size_t i = 0; i < kRunTimes.size(); ++i) {
                one.run.series.push_back(series_of(kRunTimes[i], "ns", run->times_ns[i]));
            }
            for (std::size_t i = 0; i < events.size(); ++i) {
                if (const auto& count = run->counts[i]; count && count->scaled()) {
                    one.run.series.push_back(series_of(events[i].name, events[i].unit,
                                                       static_cast<std::uint64_t>(std::llround(*count->scaled()))));
                }
            }
        }
    }
    return measured;
}

Result<Done> store_runs(const std::vector<MeasuredRun>& measured, const std::string& folder) {
    const auto store = open_store(folder);
    if (!store.ok()) {
        return Error{store.error()};
    }
    for (const MeasuredRun& one : measured) {
        if (const auto stored = store_run(one.run, one.place, **store); !stored.ok()) {
            return Error{stored.error()};
        }
    }
    return Done{};
}

int run_compare(ComparedCommands& options) {
    if (options.fails_undecided && !options.query.values.contains("fail-if")) {
        return report_error({ErrorCode::kUsage, "--fail-undecided: needs --fail-if"});
    }
    const auto sides = sides_of(options.words);
    const auto events =
        parse_events(options.events.empty() ? std::vector<std::string>{kCountedEventsDefault} : options.events, {});
    const Result<std::string> folder = data_folder_of(options.data);
    for (const Error* error : {sides.ok() ? nullptr : &sides.error(), events.ok() ? nullptr : &events.error(),
                               folder.ok() ? nullptr : &folder.error()}) {
        if (error != nullptr) {
            return report_error(*error);
        }
    }
    if (auto made = is_folder(*folder) ? prepare_writer_folder(*folder) : Done{}; !made.ok()) {
        return report_error({made.error().code, made.error().message + " (name another data folder with --data)"});
    }
    const std::string comparison = std::to_string(static_cast<std::uint64_t>(utc_now().value));
    RandomStream random{std::random_device{}()};
    const auto measured = measure(options, *sides, *events, comparison, random);
    if (!measured.ok()) {
        return report_error(measured.error());
    }
    if (const auto stored = store_runs(*measured, *folder); !stored.ok()) {
        return report_error(stored.error());
    }
    options.query.data = *folder;
    for (const auto& [option, side] : {std::pair{"before", "A"}, std::pair{"after", "B"}}) {
        options.query.values[option] = "{comparison=\"" + comparison + "\",side=\"" + side + "\"}";
    }
    return show_diff(options.query, options.output, options.fails_undecided);
}

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
    CLI::App* command = app.add_subcommand("compare", "Run two programs in turns and say what differs");
    const auto options = std::make_shared<ComparedCommands>();
    command->footer(
        "perfleet compare [-n RUNS] -- A... ::: B...\n\n"
        "Each turn runs both, in an order that is drawn. Times and counts of each run are stored\n"
        "as a session with the labels comparison and side; the verdict is that of perfleet diff.\n"
        "What A and B print on standard output is dropped. A run that fails ends it.\n\n"
        "Examples:\n"
        "  perfleet compare -- ./old input ::: ./new input\n"
        "  perfleet compare -n 20 --fail-if 'mean > 5%' -- ./old ::: ./new");
    command->add_option("-n,--runs", options->run_count, "Runs of each side (default: 10)")
        ->type_name("N")
        ->check(CLI::Range(2U, kRunsASideMax));
    command->add_option("--warmup", options->warmup_count, "Runs of each side before, not counted (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(0U, kRunsASideMax));
    command->add_option("-e,--event", options->events, "Events to count, as for `perfleet stat`, with commas between")
        ->type_name("EVENTS")
        ->allow_extra_args(false);
    command->add_option("--data", options->data, "Data folder (default: where `perfleet record` writes)")
        ->type_name("DIR");
    // Those of `diff` that are about the verdict.
    static const std::vector<OptionSpec> kVerdictOptions = [] {
        std::vector<OptionSpec> found;
        for (const OptionSpec& option : (*find_query_command("diff"))->options) {
            if (option.name == "fail-if" || option.name == "confidence" || option.name == "percentiles") {
                found.push_back(option);
            }
        }
        return found;
    }();
    add_command_options(*command, kVerdictOptions, options->query.values);
    command->add_flag("--fail-undecided", options->fails_undecided,
                      "Exit with 1 also when the data can't tell whether it holds");
    add_output_options(*command, options->output);
    command->add_option("commands", options->words, "The two programs, behind --, with ::: between them")
        ->type_name("COMMAND")
        ->required();
    command->positionals_at_end();
    command->callback([&invocation, options] { invocation.run = [options] { return run_compare(*options); }; });
}

}  // namespace perfleet
