// compare: runs two programs in turns, stores each run's times and counts as a session, and shows the verdict of
// `diff`.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon/option/program_options.h"
#include "query-engine/statistic/command.h"
#include "query-engine/statistic/diff/diff.h"
#include "query-engine/statistic/diff/fail_condition.h"
#include "query-engine/statistic/latency/option_text.h"
#include "query-engine/statistic/number/interval.h"
#include "query-engine/statistic/number/random_stream.h"
#include "query-engine/statistic/number/value_comparison.h"
#include "schemas/host/host_clock.h"
#include "schemas/text/layout.h"
#include "schemas/text/parse.h"
#include "schemas/text/utf8.h"
#include "storage/number/moments.h"
#include "target-collector/linux/command_line.h"
#include "target-collector/linux/host/machine_state.h"
#include "target-collector/linux/host/target_identity.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/query/diff_command.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/record/compare_plan.h"
#include "tools/perfleet/record/compare_verdict.h"
#include "tools/perfleet/record/counted_run.h"
#include "tools/perfleet/record/record.h"
#include "tools/perfleet/record/run_summary.h"
#include "tools/perfleet/session/session_destination.h"
#include "tools/perfleet/shell/invocation.h"
#include "tools/perfleet/shell/progress_line.h"
#include "tools/perfleet/shell/redirected_output.h"
#include "tools/perfleet/shell/terminal.h"

namespace perfleet {
namespace {

constexpr unsigned kRunsASideMax = 1'000;
constexpr std::size_t kParameterRunsMax = 1'000;  // of all values together, warm-up included
constexpr unsigned kRunsASide = 10;
constexpr unsigned kPreciseRunsASideMin = 5;    // --precision: with fewer runs an interval isn't reliable
constexpr unsigned kPreciseRunsASideMax = 100;  // unless -n says otherwise
constexpr const char* kPrimary = kRunTimes[0];
constexpr const char* kBaselineLabel = "baseline";

struct ComparedCommands {
    ComparePlan plan;
    std::vector<std::string> events;
    std::optional<unsigned> run_count;
    unsigned warmup_count = 1;
    std::optional<double> precision_percent;
    std::string reference;  // number or text of a command; empty: the first
    bool has_profile = false;
    bool ignores_failure = false;
    std::string save;
    std::string baseline;
    std::uint64_t bytes = 0;
    std::uint64_t items = 0;
    std::string data;
    QueryOptions query;
    OutputOptions output;
    bool fails_undecided = false;

    [[nodiscard]] unsigned turn_count() const {
        return warmup_count + run_count.value_or(precision_percent ? kPreciseRunsASideMax : kRunsASide);
    }
};

struct MeasuredRun {
    ImportedRun run;
    ImportPlace place;
};

struct Measured {
    std::vector<MeasuredRun> runs;
    std::vector<MeasuredSide> sides;
    int signal = 0;                  // that has ended it; 0: none
    bool is_precise_enough = false;  // for --precision
};

ImportedSeries series_of(const std::string& event, const std::string& unit, std::uint64_t value) {
    ImportedSeries series;
    series.kind = Kind::kTracepoint;
    series.event = event;
    series.unit = unit;
    series.values = {value};
    return series;
}

// A failed run is no measurement: then nothing is compared.
Result<Done> check_status(const ComparedSide& side, int exit_status) {
    if (exit_status == 0) {
        return Done{};
    }
    return Error{ErrorCode::kInvalid, side.name + " (" + printable(side.text) + ") ended with status " +
                                          std::to_string(exit_status) +
                                          ": nothing is compared (--ignore-failure compares anyway)"};
}

// Runs the text of --prepare, --setup or --cleanup; the signal that has ended it.
Result<int> run_beside(const char* option, const std::string& text, const std::string& shell) {
    if (text.empty()) {
        return 0;
    }
    const auto run = PERFLEET_TRY(run_counted({shell.empty() ? "sh" : shell, "-c", text}, {}));
    if (run.signal == 0 && run.exit_status != 0) {
        return Error{ErrorCode::kInvalid, fmt::format("{} '{}' ended with status {}: nothing is compared", option,
                                                      printable(text), run.exit_status)};
    }
    return run.signal;
}

// A separate run, so that sampling doesn't affect the measured time. Works as `perfleet record -g`.
Result<Done> profile_run(const ComparedSide& side, const std::string& comparison, const std::string& folder) {
    std::vector<std::string> words{
        "-q", "-g", "--label", "comparison=" + comparison, "--label", "side=" + side.name, "--label", "run=profile"};
    std::reverse(words.begin(), words.end());
    CLI::App app;
    CommandLine parsed;
    describe_command_line(CommandLineForm::kRecord, app, parsed);
    app.parse(words);
    parsed.options.command = side.words;
    auto line = PERFLEET_TRY(finish_command_line(std::move(parsed)));
    const auto recording = PERFLEET_TRY(record(
        std::move(line->options), folder, [](const LogEvent&) {}, nullptr));
    if (recording.not_stored || !recording.summary.everything_acknowledged) {
        return Error{ErrorCode::kIo, "the profile of " + std::string{side.name} + " could not be stored" +
                                         (recording.not_stored ? ": " + recording.not_stored->message : "")};
    }
    return check_status(side, recording.summary.command_exit_status);
}

// Half the width of the interval of elapsed: of B ÷ A, of the greatest of several, or of one command's mean by itself.
std::optional<long double> half_width(std::span<const MeasuredSide> sides, std::size_t reference,
                                      long double confidence) {
    if (sides.size() == 1) {
        Moments moments;
        for (const ComparedRun& run : sides[0].elapsed) {
            moments.merge(run.moments);
        }
        const auto interval = mean_interval(moments, MeanBasis::kStudent, confidence);
        return interval && *moments.mean() > 0 ? std::optional{interval->high / *moments.mean() - 1} : std::nullopt;
    }
    const long double of_each = 1 - (1 - confidence) / static_cast<long double>(sides.size() - 1);
    long double greatest = 0;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        const auto ratio =
            i == reference ? std::optional{Interval{1, 1}} : elapsed_ratio(sides[reference], sides[i], of_each);
        if (!ratio) {
            return std::nullopt;
        }
        greatest = std::max(greatest, (ratio->high - ratio->low) / 2);
    }
    return greatest;
}

class Runner {
public:
    Runner(const ComparedCommands& options, std::span<const ComparedSide> sides, std::vector<EventSpec> events,
           std::string comparison, std::string folder)
        : options_{options},
          events_{std::move(events)},
          comparison_{std::move(comparison)},
          folder_{std::move(folder)} {
        for (const ComparedSide& side : sides) {
            MeasuredSide& measured = measured_.sides.emplace_back();
            measured.side = side;
            for (std::size_t i = 1; i < kRunTimes.size(); ++i) {
                measured.others.push_back({kRunTimes[i], "ns"});
            }
            for (const EventSpec& event : events_) {
                measured.others.push_back({event.name, event.unit});
            }
        }
    }

    Result<Measured> measure(std::size_t reference, long double confidence) {
        // Standard output is for the verdict: the programs' output is dropped.
        const RedirectedOutput dropped{FileDescriptor{::open("/dev/null", O_WRONLY | O_CLOEXEC)}.get()};
        ProgressLine progress{"compare"};
        const ProgressReport report = progress.report();
        PERFLEET_TRY(run_all("--setup", &ComparedSide::setup));
        std::vector<std::size_t> order(measured_.sides.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const unsigned turn_count = options_.turn_count();
        for (unsigned turn = 0; turn < turn_count && measured_.signal == 0; ++turn) {
            if (report) {
                report(turn, turn_count);
            }
            if (options_.precision_percent && turn >= options_.warmup_count + kPreciseRunsASideMin &&
                is_precise_enough(reference, confidence)) {
                break;
            }
            // Each turn runs all, so that slow changes affect all; their order is random, so that none gains from it.
            for (std::size_t left = order.size(); left > 1; --left) {
                std::swap(order[left - 1], order[random_.below(left)]);
            }
            for (std::size_t at = 0; at < order.size() && measured_.signal == 0; ++at) {
                PERFLEET_TRY(run_once(measured_.sides[order[at]], turn));
            }
        }
        PERFLEET_TRY(run_all("--cleanup", &ComparedSide::cleanup));
        measured_.is_precise_enough = !options_.precision_percent || is_precise_enough(reference, confidence);
        return std::move(measured_);
    }

private:
    [[nodiscard]] bool is_precise_enough(std::size_t reference, long double confidence) const {
        const auto half = half_width(measured_.sides, reference, confidence);
        return half && *half * 100 <= *options_.precision_percent;
    }

    Result<Done> run_all(const char* option, std::string ComparedSide::*text) {
        std::set<std::string> done;
        for (const MeasuredSide& measured : measured_.sides) {
            if (measured_.signal == 0 && done.insert(measured.side.*text).second) {
                measured_.signal = PERFLEET_TRY(run_beside(option, measured.side.*text, options_.plan.shell));
            }
        }
        return Done{};
    }

    Result<Done> run_once(MeasuredSide& measured, unsigned turn) {
        const ComparedSide& side = measured.side;
        measured_.signal = PERFLEET_TRY(run_beside("--prepare", side.prepare, options_.plan.shell));
        if (measured_.signal != 0) {
            return Done{};
        }
        const FileDescriptor input{::open(side.input.c_str(), O_RDONLY | O_CLOEXEC)};
        if (!input) {
            return error_from_errno(errno, "--input " + side.input);
        }
        const RedirectedOutput from{input.get(), STDIN_FILENO};
        const UtcNs start = utc_now();
        const auto run = PERFLEET_TRY(run_counted(side.words, events_));
        if (run.signal != 0) {
            measured_.signal = run.signal;
            return Done{};
        }
        PERFLEET_TRY(options_.ignores_failure ? Done{} : check_status(side, run.exit_status));
        if (turn < options_.warmup_count) {
            return Done{};
        }
        PERFLEET_TRY(options_.has_profile ? profile_run(side, comparison_, folder_) : Done{});
        ComparedRun& elapsed = measured.elapsed.emplace_back();
        elapsed.number = turn;
        elapsed.values = {run.times_ns[0]};
        elapsed.moments.add(run.times_ns[0]);
        measured.failed_count += run.exit_status != 0 ? 1 : 0;
        MeasuredRun& one = measured_.runs.emplace_back();
        one.place = {host_name(), "", start, side.text, "compare"};
        one.run.labels = machine_labels();
        one.run.labels.insert({{"status", "ok"},
                               {"comparison", comparison_},
                               {"side", side.name},
                               {"run", "counted"},
                               {"turn", std::to_string(turn - options_.warmup_count + 1)},
                               {"warmup", counted_noun(options_.warmup_count, "run")}});
        if (run.exit_status != 0) {
            one.run.labels["exit_status"] = std::to_string(run.exit_status);
        }
        if (!options_.save.empty()) {
            one.run.labels[kBaselineLabel] = options_.save;
        }
        for (const auto& [name, value] : side.parameters) {
            one.run.labels["parameter_" + name] = value;
        }
        for (std::size_t i = 0; i < kRunTimes.size(); ++i) {
            one.run.series.push_back(series_of(kRunTimes[i], "ns", run.times_ns[i]));
            if (i != 0) {
                measured.others[i - 1].moments.add(run.times_ns[i]);
            }
        }
        for (std::size_t i = 0; i < events_.size(); ++i) {
            if (const auto& count = run.counts[i]; count && count->scaled()) {
                const auto value = static_cast<std::uint64_t>(std::llround(*count->scaled()));
                one.run.series.push_back(series_of(events_[i].name, events_[i].unit, value));
                measured.others[kRunTimes.size() - 1 + i].moments.add(value);
            }
        }
        return Done{};
    }

    // Read once a second: that takes longer than a short run.
    const std::map<std::string, std::string>& machine_labels() {
        const auto now = std::chrono::steady_clock::now();
        if (machine_labels_.empty() || now - labels_read_ > std::chrono::seconds{1}) {
            machine_labels_.clear();
            for (const auto& [name, text] : machine_state()) {
                machine_labels_[name] = text;
            }
            labels_read_ = now;
        }
        return machine_labels_;
    }

    const ComparedCommands& options_;
    std::vector<EventSpec> events_;
    std::string comparison_;
    std::string folder_;
    RandomStream random_{std::random_device{}()};
    std::map<std::string, std::string> machine_labels_;
    std::chrono::steady_clock::time_point labels_read_;
    Measured measured_;
};

Result<Done> store_runs(const std::vector<MeasuredRun>& measured, const std::string& folder) {
    const auto destination = PERFLEET_TRY(open_destination(folder));
    destination->defer_sync();
    for (const MeasuredRun& one : measured) {
        PERFLEET_TRY(store_run(one.run, one.place, *destination));
    }
    return destination->sync();
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

// --confidence.
Result<long double> confidence_of(const ComparedCommands& options) {
    const auto given = options.query.values.find("confidence");
    return given == options.query.values.end()
               ? Result<long double>{DiffOptions{}.confidence}
               : parse_fraction_option("confidence", std::get<std::string>(given->second));
}

// Of the interval of elapsed, which --precision is about: it shares the level with what --fail-if names.
long double confidence_of_elapsed(long double confidence, std::span<const FailCondition> conditions,
                                  std::span<const EventSpec> events) {
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

// The half-width that --precision is about, in the digits of the table.
void note_precision(const Measured& measured, std::size_t reference, long double confidence) {
    const auto half = half_width(measured.sides, reference, confidence);
    const std::string known = half ? fmt::format("+-{:.2f} %", static_cast<double>(*half * 100)) : "no precision";
    const auto interval = measured.sides.size() == 2
                              ? elapsed_ratio(measured.sides[reference], measured.sides[1 - reference], confidence)
                              : std::nullopt;
    print_note(fmt::format(
        "{}: {} of elapsed is known to {}{}",
        measured.sides.size() == 1 ? counted_noun(measured.sides[0].elapsed.size(), "run")
                                   : std::to_string(measured.sides[0].elapsed.size()) + " runs of each side",
        measured.sides.size() == 1 ? "the mean" : "the change", known,
        interval
            ? fmt::format(" [{:+.2f} %, {:+.2f} %]", static_cast<double>((std::max(interval->low, 0.0L) - 1) * 100),
                          static_cast<double>((interval->high - 1) * 100))
            : ""));
}

// Which command the others are compared with. Errors: kUsage.
Result<std::size_t> reference_of(const ComparedCommands& options, std::span<const ComparedSide> sides) {
    if (options.reference.empty()) {
        return std::size_t{0};
    }
    const auto number = number_of<std::size_t>(options.reference);
    for (std::size_t i = 0; i < sides.size(); ++i) {
        if (number == i + 1 || options.reference == sides[i].name || options.reference == sides[i].text) {
            return i;
        }
    }
    return Error{ErrorCode::kUsage, "--reference: '" + printable(options.reference) + "' is neither the number (1 to " +
                                        std::to_string(sides.size()) + ") nor the text of a command"};
}

// Options that are about several sides, and how many runs there are.
Result<Done> check_sides(const ComparedCommands& options, std::span<const ComparedSide> sides) {
    for (const auto& [is_given, name] : {std::pair{options.query.values.contains("fail-if"), "--fail-if"},
                                         std::pair{options.query.values.contains("percentiles"), "--percentiles"},
                                         std::pair{options.has_profile && options.baseline.empty(), "--profile"}}) {
        if (is_given && sides.size() == 1 && options.baseline.empty()) {
            return Error{ErrorCode::kUsage, std::string{name} + ": compares commands, with ::: between them: " +
                                                "perfleet compare -- ./old ::: ./new"};
        }
    }
    for (const auto& [text, name] : {std::pair{options.save, "--save"}, std::pair{options.baseline, "--baseline"}}) {
        if (!text.empty() && (sides.size() != 1 || options.has_profile)) {
            return Error{ErrorCode::kUsage, std::string{name} + ": of one command, without --profile"};
        }
    }
    const std::size_t count = sides.size() * options.turn_count();
    if (sides[0].parameters.empty()) {
        return Done{};
    }
    if (count > kParameterRunsMax) {
        return Error{ErrorCode::kUsage,
                     fmt::format("--parameter: {} runs, at most {}: name fewer values, or fewer runs "
                                 "with -n",
                                 count, kParameterRunsMax)};
    }
    print_note(fmt::format("{}: {}, {}{} each", counted_noun(count, "run"), counted_noun(sides.size(), "command"),
                           options.precision_percent ? "at most " : "", counted_noun(options.turn_count(), "run")));
    return Done{};
}

// The newest comparison that was saved with this name. Errors: kNotFound.
Result<std::string> find_baseline(const ComparedCommands& options, const std::string& folder) {
    QueryOptions query;
    query.data = folder;
    query.takes_all = true;
    query.values["select"] = std::string{"{"} + kBaselineLabel + "=\"" + options.baseline + "\"}";
    const auto labels = PERFLEET_TRY(ask_table(query, **find_query_command("labels")));
    std::string newest;  // nanoseconds, of as many digits
    for (const std::vector<AnswerValue>& row : labels.rows) {
        if (row[0] == AnswerValue{std::string{"comparison"}}) {
            newest = std::max(newest, std::get<std::string>(row[1]));
        }
    }
    return !newest.empty() ? Result<std::string>{newest}
                           : Error{ErrorCode::kNotFound, "--baseline " + printable(options.baseline) +
                                                             ": no run is saved by this name; save one with --save " +
                                                             printable(options.baseline)};
}

SummaryOptions summary_options(const ComparedCommands& options, std::size_t reference, long double confidence) {
    return {reference, confidence, static_cast<double>(options.bytes != 0 ? options.bytes : options.items),
            options.bytes != 0   ? "B"
            : options.items != 0 ? "items"
                                 : ""};
}

// The summary of all commands; below the two sides' table it omits the figures of that table.
Result<Done> print_summary(const ComparedCommands& options, const Measured& measured, const SummaryOptions& how,
                           bool has_diff) {
    const Answer summary = summarise_runs(measured.sides, how);
    if (options.output.format == "markdown") {
        return print_answer(summary_for_markdown(summary), options.output);
    }
    if (has_diff && !options.output.is_text()) {
        return Done{};  // one answer on standard output
    }
    return options.output.is_text()
               ? print_answer(summary, summary_text(summary, measured.sides, !has_diff, how, options.output.screen()),
                              options.output)
               : print_answer(summary, options.output);
}

Result<int> run_compare(ComparedCommands& options) {
    options.plan.shell = options.plan.shell == "none" ? "" : options.plan.shell;  // as hyperfine
    const auto conditions = PERFLEET_TRY(check_options(options));
    const auto sides = PERFLEET_TRY(plan_sides(options.plan));
    const auto reference = PERFLEET_TRY(reference_of(options, sides));
    PERFLEET_TRY(check_sides(options, sides));
    const auto counted = PERFLEET_TRY(counted_events(options.events));
    const std::string folder = PERFLEET_TRY(writable_data_folder_of(options.data, options.has_profile));
    const std::string baseline = options.baseline.empty() ? "" : PERFLEET_TRY(find_baseline(options, folder));
    if (!counted.warning.empty()) {
        print_note(counted.warning);
    }
    const std::string comparison = std::to_string(static_cast<std::uint64_t>(utc_now().value));
    std::vector<FailCondition> of_times = conditions;
    std::erase_if(of_times, is_of_profile);
    ComparedRuns compared{options.query, options.output, options.fails_undecided, conditions};
    compared.query.data = folder;
    compared.primary = primary_of(of_times, options.precision_percent.has_value());
    compared.confidence = PERFLEET_TRY(confidence_of(options));
    compared.reference = sides[reference].name;
    compared.before = baseline.empty() ? comparison : baseline;
    compared.after = comparison;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        if (i != reference || !baseline.empty()) {
            compared.others.push_back(sides[i].name);
        }
    }
    const long double confidence = confidence_of_elapsed(compared.confidence, of_times, counted.events);
    Runner runner{options, sides, counted.events, comparison, folder};
    const auto measured = PERFLEET_TRY(runner.measure(reference, confidence));
    if (measured.signal != 0) {
        return kEndBySignal + measured.signal;
    }
    PERFLEET_TRY(store_runs(measured.runs, folder));
    for (const MeasuredSide& side : measured.sides) {
        if (side.failed_count != 0) {
            print_warning(fmt::format("{} of {} runs of {} ended with another status than 0", side.failed_count,
                                      side.elapsed.size(), side.side.name));
        }
    }
    if (options.precision_percent) {
        note_precision(measured, reference, confidence);
    }
    const SummaryOptions how = summary_options(options, reference, confidence);
    const bool has_times = compared.has_times();
    int status = 0;
    if (has_times) {
        // Markdown has one table: the summary.
        std::optional<RedirectedOutput> dropped;
        if (options.output.format == "markdown") {
            dropped.emplace(FileDescriptor{::open("/dev/null", O_WRONLY | O_CLOEXEC)}.get());
        }
        status = exit_status(print_verdicts(compared, false));
    }
    status = status == 0 && !measured.is_precise_enough ? kExitUndecided : status;
    if (has_times && options.output.is_text()) {
        std::printf("\n");
    }
    PERFLEET_TRY(print_summary(options, measured, how, has_times));
    if (!options.has_profile) {
        return status;
    }
    if (options.output.is_text()) {
        std::printf("\n");
    }
    status = worse_status(status, exit_status(print_verdicts(compared, true)));
    for (const std::string& other : compared.others) {
        const auto [before, after] = compared.selections(other, "profile");
        print_note("a flame graph of the difference: perfleet flamegraph --before '" + before + "' --select '" + after +
                   "' -o difference.html" + (options.data.empty() ? "" : " --data " + options.data));
    }
    return status;
}

// Two values at least; several uses of the option stay apart.
void takes_name_and_values(CLI::Option& option, CLI::App&) {
    option.type_size(2, CLI::detail::expected_max_vector_size);
}

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
    const auto [command, options] = add_command<ComparedCommands>(
        app, invocation, "compare", "Run two programs in turns and show the differences", run_compare);
    command->footer(
        "perfleet compare [-n RUNS] -- A... [::: B... [::: C...]]\n\n"
        "Each turn runs all commands, in random order. Times and counts of each run are\n"
        "stored as a session with the labels comparison and side; the verdict on two is that of\n"
        "perfleet diff; more are compared with the first, or --reference, and corrected together:\n"
        "--fail-if, --percentiles and --profile compare each as perfleet diff does. Standard output\n"
        "of commands is dropped. A failed run ends the comparison. --profile profiles each in runs\n"
        "of their own, so that sampling costs no measured time.\n\n"
        "Examples:\n"
        "  perfleet compare -- ./old input ::: ./new input\n"
        "  perfleet compare --precision 1 --fail-if 'mean(elapsed) > 5%' -- ./old ::: ./new\n"
        "  perfleet compare --profile -- ./old ::: ./new\n"
        "  perfleet compare --parameter threads 1..8 -- ./sort -j {threads}\n"
        "  perfleet compare --shell sh 'gzip < file' 'zstd < file'\n"
        "  perfleet compare --save main -- ./program    and later\n"
        "  perfleet compare --baseline main -- ./program");
    add_options(
        *command,
        {{"-n,-r,--runs N", options->run_count, "Runs of each command (default: 10; with --precision 100 at most)",
          is_between(2U, kRunsASideMax)},
         {"-w,--warmup N", options->warmup_count, "Runs of each command before, not counted (default: 1)",
          is_between(0U, kRunsASideMax)},
         {"--precision P", options->precision_percent,
          "Run until the change of the elapsed time, or of one command its mean, is known to +- P percent",
          is_between(0.01, 1'000.0)},
         {"--reference WHICH", options->reference, "The command with which others are compared: its number or text"},
         {"-L,--parameter,--parameter-list NAME VALUE...", options->plan.parameters,
          "Run with each value in place of {NAME}: words, or a range 1..8; several make all combinations",
          takes_name_and_values},
         {"-S,--shell SHELL", options->plan.shell,
          "Run each command by this shell (sh, bash); quoted ones need no :::", is_not_empty},
         {"-p,--prepare TEXT", options->plan.prepare,
          "Shell command before each run: one for all, or one for each command", is_one_each},
         {"-s,--setup TEXT", options->plan.setup, "Shell command before the first run of each command"},
         {"-c,--cleanup TEXT", options->plan.cleanup, "Shell command after the last run of each command"},
         {"--input FILE", options->plan.input, "Standard input of each run (default: none)", is_not_empty},
         {"-i,--ignore-failure", options->ignores_failure, "Compare runs that end with another status than 0, too"},
         {"--save NAME", options->save, "Keep the runs of one command as a baseline", is_not_empty},
         {"--baseline NAME", options->baseline, "Compare one command with a baseline of --save", is_not_empty},
         {"--bytes SIZE", options->bytes, "Amount of work of one run, to show the throughput", is_size},
         {"--items N", options->items, "Amount of work of one run, to show the throughput", excludes({"--bytes"})},
         {"--profile", options->has_profile, "Also profile each, as `perfleet record -g`, and compare the profiles"},
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
    add_options(*command, {{"commands COMMAND", options->plan.words, "The commands, after --, with ::: between them",
                            is_required}});
    command->positionals_at_end();
}

}  // namespace perfleet
