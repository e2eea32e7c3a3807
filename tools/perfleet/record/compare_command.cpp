// compare: runs two programs in turns, stores each run's times and counts as a session, and shows the verdict of
// `diff`.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon/option/program_options.h"
#include "query-engine/statistic/command.h"
#include "query-engine/statistic/diff/diff.h"
#include "query-engine/statistic/diff/fail_condition.h"
#include "query-engine/statistic/latency/option_text.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/value_comparison.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/utf8.h"
#include "storage/number/moments.h"
#include "target-collector/linux/command_line.h"
#include "target-collector/linux/host/machine_state.h"
#include "target-collector/linux/host/target_identity.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/query/diff_command.h"
#include "tools/perfleet/record/counted_run.h"
#include "tools/perfleet/record/record.h"
#include "tools/perfleet/session/session_destination.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/redirected_output.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr const char* kBetween = ":::";
constexpr unsigned kRunsASideMax = 1'000;
constexpr unsigned kRunsASide = 10;
constexpr unsigned kPreciseRunsASideMin = 5;    // --precision: with fewer runs an interval says little
constexpr unsigned kPreciseRunsASideMax = 100;  // unless -n says otherwise
constexpr const char* kPrimary = kRunTimes[0];

struct ComparedCommands {
    std::vector<std::string> words;  // the words A ::: B
    std::vector<std::string> events;
    std::optional<unsigned> run_count;
    unsigned warmup_count = 1;
    std::optional<double> precision_percent;
    bool has_profile = false;
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

struct MeasuredRun {
    ImportedRun run;
    ImportPlace place;
};

struct Measured {
    std::vector<MeasuredRun> runs;
    int signal = 0;                         // that has ended it; 0: none
    std::optional<Interval> interval;       // of B ÷ A, for elapsed times
    std::optional<long double> half_width;  // of it
};

ImportedSeries series_of(const std::string& event, const std::string& unit, std::uint64_t value) {
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = event;
    series.unit = unit;
    series.values = {value};
    return series;
}

std::string command_text(const std::vector<std::string>& command) { return fmt::format("{}", fmt::join(command, " ")); }

// A failed run is no measurement: then nothing is compared.
Result<Done> check_status(const ComparedSide& side, int exit_status) {
    if (exit_status == 0) {
        return Done{};
    }
    return Error{ErrorCode::kInvalid, std::string{side.name} + " (" + printable(command_text(side.command)) +
                                          ") ended with status " + std::to_string(exit_status) +
                                          ": nothing is compared"};
}

// A separate run, so that sampling doesn't affect the measured time. Works as `perfleet record -g`.
Result<Done> profile_run(const ComparedSide& side, const std::string& comparison, const std::string& folder) {
    std::vector<std::string> words{
        "-q",      "-g",          "--label", "comparison=" + comparison, "--label", std::string{"side="} + side.name,
        "--label", "run=profile", "--"};
    words.insert(words.end(), side.command.begin(), side.command.end());
    std::reverse(words.begin(), words.end());
    CLI::App app;
    CommandLine parsed;
    describe_command_line(CommandLineForm::kRecord, app, parsed);
    app.parse(words);
    auto line = PERFLEET_TRY(finish_command_line(std::move(parsed)));
    const auto recording = PERFLEET_TRY(record(
        std::move(line->options), folder, [](const LogEvent&) {}, nullptr));
    if (recording.not_stored || !recording.summary.everything_acknowledged) {
        return Error{ErrorCode::kIo, "the profile of " + std::string{side.name} + " could not be stored" +
                                         (recording.not_stored ? ": " + recording.not_stored->message : "")};
    }
    return check_status(side, recording.summary.command_exit_status);
}

// Half the width of the interval of B ÷ A, for elapsed times; nothing if there is none yet.
class ElapsedTimes {
public:
    explicit ElapsedTimes(long double confidence) : confidence_{confidence} {}

    void add(std::size_t side, std::uint64_t time_ns) {
        ComparedRun& run = runs_[side].emplace_back();
        run.number = runs_[side].size();  // the turn: both sides' runs are a pair
        run.values = {time_ns};
        run.moments.add(time_ns);
    }
    [[nodiscard]] std::optional<long double> half_width() const {
        const auto ratio = interval();
        return ratio ? std::optional{(ratio->high - ratio->low) / 2} : std::nullopt;
    }
    // Of B ÷ A: the one that diff shows.
    [[nodiscard]] std::optional<Interval> interval() const {
        if (runs_[0].size() < 2 || runs_[1].size() < 2) {
            return std::nullopt;
        }
        const ValueComparison comparison{runs_[0], runs_[1], true};
        return comparison.contrast({LatencyFigureKind::kMean, {}}, confidence_).ratio;
    }

private:
    std::array<std::vector<ComparedRun>, 2> runs_;
    long double confidence_;
};

Result<Measured> measure(const ComparedCommands& options, const std::array<ComparedSide, 2>& sides,
                         std::span<const EventSpec> events, const std::string& comparison, const std::string& folder,
                         long double confidence, RandomStream& random) {
    // Standard output is for the verdict: the programs' output is dropped.
    const RedirectedOutput dropped{FileDescriptor{::open("/dev/null", O_WRONLY | O_CLOEXEC)}.get()};
    ProgressLine progress{"compare"};
    const ProgressReport report = progress.report();
    Measured measured;
    ElapsedTimes elapsed{confidence};
    const unsigned turn_count =
        options.warmup_count +
        options.run_count.value_or(options.precision_percent ? kPreciseRunsASideMax : kRunsASide);
    for (unsigned turn = 0; turn < turn_count; ++turn) {
        if (report) {
            report(turn, turn_count);
        }
        if (options.precision_percent && turn >= options.warmup_count + kPreciseRunsASideMin) {
            if (const auto half = elapsed.half_width(); half && *half * 100 <= *options.precision_percent) {
                break;
            }
        }
        // Each turn runs both, so that slow changes affect both; their order is random, so that neither gains from it.
        const std::size_t first = random.below(2);
        for (const std::size_t index : {first, 1 - first}) {
            const ComparedSide& side = sides[index];
            const UtcNs start = utc_now();
            const auto run = PERFLEET_TRY(run_counted(side.command, events));
            if (run.signal != 0) {
                measured.signal = run.signal;
                return measured;
            }
            PERFLEET_TRY(check_status(side, run.exit_status));
            if (turn < options.warmup_count) {
                continue;
            }
            PERFLEET_TRY(options.has_profile ? profile_run(side, comparison, folder) : Done{});
            elapsed.add(index, run.times_ns[0]);
            MeasuredRun& one = measured.runs.emplace_back();
            one.place = {host_name(), "", start, command_text(side.command)};
            for (const auto& [name, text] : machine_state()) {
                one.run.labels[name] = text;
            }
            one.run.labels["status"] = "ok";
            one.run.labels["comparison"] = comparison;
            one.run.labels["side"] = side.name;
            one.run.labels["run"] = "counted";
            one.run.labels["turn"] = std::to_string(turn - options.warmup_count + 1);
            one.run.labels["warmup"] = std::to_string(options.warmup_count) + " runs";
            for (std::size_t i = 0; i < kRunTimes.size(); ++i) {
                one.run.series.push_back(series_of(kRunTimes[i], "ns", run.times_ns[i]));
            }
            for (std::size_t i = 0; i < events.size(); ++i) {
                if (const auto& count = run.counts[i]; count && count->scaled()) {
                    one.run.series.push_back(series_of(events[i].name, events[i].unit,
                                                       static_cast<std::uint64_t>(std::llround(*count->scaled()))));
                }
            }
        }
    }
    measured.interval = elapsed.interval();
    measured.half_width = elapsed.half_width();
    return measured;
}

Result<Done> store_runs(const std::vector<MeasuredRun>& measured, const std::string& folder) {
    const auto destination = PERFLEET_TRY(open_destination(folder));
    for (const MeasuredRun& one : measured) {
        PERFLEET_TRY(store_run(one.run, one.place, *destination));
    }
    return Done{};
}

bool is_of_profile(const FailCondition& condition) {
    return condition.figure == "self" || condition.figure == "children";
}

// Conditions of --fail-if, separated by commas: those about profiles, or the others.
std::string conditions_of(std::span<const FailCondition> conditions, bool of_profile) {
    std::string text;
    for (const FailCondition& condition : conditions) {
        if (is_of_profile(condition) == of_profile) {
            text += (text.empty() ? "" : ",") + condition.text;
        }
    }
    return text;
}

Result<std::vector<FailCondition>> check_options(const ComparedCommands& options) {
    const auto given = options.query.values.find("fail-if");
    if (given == options.query.values.end()) {
        return options.fails_undecided
                   ? Result<std::vector<FailCondition>>{Error{ErrorCode::kUsage, "--fail-undecided: needs --fail-if"}}
                   : std::vector<FailCondition>{};
    }
    auto conditions = parse_fail_conditions(std::get<std::string>(given->second));
    if (conditions.ok() && !options.has_profile && !conditions_of(*conditions, true).empty()) {
        return Error{ErrorCode::kUsage,
                     "--fail-if: " + conditions_of(*conditions, true) + " is about profiles: add --profile"};
    }
    return conditions;
}

// The event that is tested alone: elapsed, if --precision or no condition is about it, or the first that one names.
std::string primary_of(std::span<const FailCondition> conditions, bool has_precision) {
    const auto named = std::ranges::find_if(conditions, [](const FailCondition& one) { return !one.name.empty(); });
    return has_precision || named == conditions.end() ? kPrimary : named->name;
}

// Of the interval of elapsed, which --precision is about: it shares the level with what --fail-if names.
Result<long double> confidence_of(const ComparedCommands& options, std::span<const FailCondition> conditions,
                                  std::span<const EventSpec> events) {
    const auto given = options.query.values.find("confidence");
    const long double confidence =
        given == options.query.values.end()
            ? DiffOptions{}.confidence
            : PERFLEET_TRY(parse_fraction_option("confidence", std::get<std::string>(given->second)));
    std::set<std::pair<std::string, std::string>> primary{{"mean", kPrimary}};
    for (const FailCondition& condition : conditions) {
        std::vector<std::string> names{condition.name};
        if (condition.name.empty()) {
            names.assign(kRunTimes.begin(), kRunTimes.end());
            std::ranges::transform(events, std::back_inserter(names), &EventSpec::name);
        }
        for (const std::string& name : names) {
            primary.emplace(condition.figure, name);
        }
    }
    return 1 - (1 - confidence) / static_cast<long double>(primary.size());
}

Result<int> run_compare(ComparedCommands& options) {
    const auto conditions = PERFLEET_TRY(check_options(options));
    const auto sides = PERFLEET_TRY(sides_of(options.words));
    const auto counted = PERFLEET_TRY(counted_events(options.events));
    const std::string folder = PERFLEET_TRY(writable_data_folder_of(options.data, options.has_profile));
    if (!counted.warning.empty()) {
        print_note(counted.warning);
    }
    const std::string comparison = std::to_string(static_cast<std::uint64_t>(utc_now().value));
    RandomStream random{std::random_device{}()};
    std::vector<FailCondition> of_times = conditions;
    std::erase_if(of_times, is_of_profile);
    const long double confidence = PERFLEET_TRY(confidence_of(options, of_times, counted.events));
    const auto measured = PERFLEET_TRY(measure(options, sides, counted.events, comparison, folder, confidence, random));
    if (measured.signal != 0) {
        return kEndBySignal + measured.signal;
    }
    PERFLEET_TRY(store_runs(measured.runs, folder));
    if (options.precision_percent) {
        print_note(fmt::format(
            "{} runs of each side: the change of elapsed is known to {}", measured.runs.size() / 2,
            measured.half_width
                ? fmt::format("+-{:.2f} % [{:+.2f} %, {:+.2f} %]", static_cast<double>(*measured.half_width * 100),
                              static_cast<double>((std::max(measured.interval->low, 0.0L) - 1) * 100),
                              static_cast<double>((measured.interval->high - 1) * 100))
                : "no precision"));
    }
    const auto selector = [&](const char* side, const char* run) {
        return "{comparison=\"" + comparison + "\",side=\"" + side + "\",run=\"" + run + "\"}";
    };
    const auto show = [&](const char* subject, const char* run) {
        QueryOptions query = options.query;
        query.data = folder;
        query.values["of"] = subject;
        query.values.erase("fail-if");
        const bool of_profile = query.values["of"] == OptionValue{"profile"};
        if (const std::string text = conditions_of(conditions, of_profile); !text.empty()) {
            query.values["fail-if"] = text;
        }
        if (of_profile) {
            query.values.erase("percentiles");
        } else {
            query.values.try_emplace("percentiles", "none");
            query.values["primary"] = primary_of(of_times, options.precision_percent.has_value());
        }
        for (const auto& [option, side] : {std::pair{"before", "A"}, std::pair{"after", "B"}}) {
            query.values[option] = selector(side, run);
        }
        return exit_status(show_diff(query, options.output, options.fails_undecided));
    };
    const bool is_imprecise =
        options.precision_percent && !(measured.half_width && *measured.half_width * 100 <= *options.precision_percent);
    const int verdict = show("latency", "counted");
    const int status = verdict == 0 && is_imprecise ? kExitUndecided : verdict;
    if (!options.has_profile) {
        return status;
    }
    if (options.output.is_text()) {
        std::printf("\n");
    }
    const int profile_status = show("profile", "profile");
    print_note("a flame graph of the difference: perfleet flamegraph --before '" + selector("A", "profile") +
               "' --select '" + selector("B", "profile") + "' -o difference.html" +
               (options.data.empty() ? "" : " --data " + options.data));
    return status == 0 || profile_status == 0 ? std::max(status, profile_status) : std::min(status, profile_status);
}

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<ComparedCommands>(
        app, invocation, "compare", "Run two programs in turns and say what differs", run_compare);
    command->footer(
        "perfleet compare [-n RUNS] -- A... ::: B...\n\n"
        "Each turn runs both, in an order that is drawn. Times and counts of each run are stored\n"
        "as a session with the labels comparison and side; the verdict is that of perfleet diff.\n"
        "What A and B print on standard output is dropped. A run that fails ends it. --profile\n"
        "profiles each side in runs of their own, so that sampling costs no measured time.\n\n"
        "Examples:\n"
        "  perfleet compare -- ./old input ::: ./new input\n"
        "  perfleet compare --precision 1 --fail-if 'mean(elapsed) > 5%' -- ./old ::: ./new\n"
        "  perfleet compare --profile -- ./old ::: ./new");
    add_options(*command,
                {{"-n,--runs N", options->run_count, "Runs of each side (default: 10; with --precision 100 at most)",
                  is_between(2U, kRunsASideMax)},
                 {"--warmup N", options->warmup_count, "Runs of each side before, not counted (default: 1)",
                  is_between(0U, kRunsASideMax)},
                 {"--precision P", options->precision_percent,
                  "Run until the change of the elapsed time is known to +- P percent", is_between(0.01, 1'000.0)},
                 {"--profile", options->has_profile,
                  "Also profile each side, as `perfleet record -g`, and compare the profiles"},
                 {"-e,--event EVENTS", options->events, "Events to count, as for `perfleet stat`, with commas between",
                  is_one_each},
                 data_row(options->data)});
    // The options of `diff` that affect the verdict.
    static const std::vector<OptionSpec> kVerdictOptions = [] {
        std::vector<OptionSpec> found;
        for (const OptionSpec& option : (*find_query_command("diff"))->options) {
            if (option.name == "fail-if" || option.name == "confidence" || option.name == "percentiles") {
                found.push_back(option);
            }
        }
        return found;
    }();
    add_options(*command, kVerdictOptions, options->query.values);
    add_options(*command, {fail_undecided_row(options->fails_undecided)});
    add_options(*command, output_rows(options->output));
    add_options(*command, {{"commands COMMAND", options->words, "The two programs, behind --, with ::: between them",
                            is_required}});
    command->positionals_at_end();
}

}  // namespace perfleet
