#include "query-engine/statistic/diff/diff_command.h"

#include <algorithm>

#include "query-engine/statistic/answer/usage.h"
#include "query-engine/statistic/latency/option_text.h"

namespace perfleet {
namespace {

constexpr std::size_t kLabelsMax = 8;

Result<Done> add_range(const std::string& option, const std::string& word, UtcNs now, Selection& side) {
    const std::size_t dots = word.find("..");
    const auto bound = [&](const std::string& text, std::optional<UtcNs>& time) -> Result<Done> {
        if (text.empty()) {
            return Done{};
        }
        const Result<UtcNs> parsed = parse_time(text, now);
        if (!parsed.ok()) {
            return Error{ErrorCode::kUsage, "--" + option + ": " + parsed.error().message};
        }
        time = *parsed;
        return Done{};
    };
    if (side.from || side.to) {
        return Error{ErrorCode::kUsage, "--" + option + ": one range of time at most, and none with --from or --until"};
    }
    PERFLEET_TRY(bound(word.substr(0, dots), side.from));
    PERFLEET_TRY(bound(word.substr(dots + 2), side.to));
    if (side.from && side.to && *side.to <= *side.from) {
        return Error{ErrorCode::kUsage, "--" + option + ": " + word.substr(0, 128) + " ends before it begins"};
    }
    return Done{};
}

Result<Done> read_labels(const std::string& text, DiffRequest& request) {
    std::vector<std::string> labels = split_list(text);
    if (labels.size() > kLabelsMax || std::find(labels.begin(), labels.end(), "") != labels.end()) {
        return option_error("by", text, "a list of at most 8 labels, such as target,build");
    }
    request.options.by = std::move(labels);
    request.options.chosen_labels.insert(request.options.by.begin(), request.options.by.end());
    return Done{};
}

Result<Done> read_percentiles(const std::string& text, DiffRequest& request) {
    if (text == "none") {
        request.options.means_alone = true;
        return Done{};
    }
    request.percentiles = PERFLEET_TRY(parse_percentiles_option("percentiles", text));
    return Done{};
}

Result<Done> read_pair(const std::string& text, DiffRequest& request) {
    request.options.pair = PERFLEET_TRY(parse_pair_option(text));
    return Done{};
}

Result<Done> read_confidence(const std::string& text, DiffRequest& request) {
    request.options.confidence = PERFLEET_TRY(parse_fraction_option("confidence", text));
    return Done{};
}

Result<Done> read_conditions(const std::string& text, DiffRequest& request) {
    request.options.conditions = PERFLEET_TRY(parse_fail_conditions(text));
    return Done{};
}

// The mean, the median and --percentiles, the maximum, and the figures that conditions name.
std::vector<LatencyFigure> figures_of(DiffRequest request) {
    std::vector<LatencyFigure> figures{{LatencyFigureKind::kMean, {}}};
    if (!request.options.means_alone) {
        if (request.percentiles.empty()) {
            request.percentiles = {Quantile::of_percent(90), Quantile::of_percent(95), Quantile::of_percent(99)};
        }
        request.percentiles.push_back(kMedian);
        figures.push_back({LatencyFigureKind::kMax, {}});
        for (const Quantile& quantile : request.percentiles) {
            figures.push_back({LatencyFigureKind::kQuantile, quantile});
        }
    }
    for (const FailCondition& condition : request.options.conditions) {
        if (const auto figure = parse_figure(condition.figure)) {
            figures.push_back(*figure);
        }
    }
    std::sort(figures.begin(), figures.end());
    figures.erase(std::unique(figures.begin(), figures.end()), figures.end());
    return figures;
}

Result<Done> check_combination(const OptionValues& values, DiffRequest& request) {
    const DiffOptions& diff = request.options;
    for (const auto& [name, subject] :
         {std::pair{"limit", DiffSubject::kLatency}, std::pair{"by", DiffSubject::kProfile},
          std::pair{"pair", DiffSubject::kProfile}, std::pair{"percentiles", DiffSubject::kProfile}}) {
        if (diff.subject == subject && values.contains(name)) {
            return usage(std::string{"--"} + name + ": --of " + std::get<std::string>(values.at("of")) +
                         " doesn't use it");
        }
    }
    if (!diff.pair.empty()) {
        request.options.subject = DiffSubject::kLatency;
    }
    return Done{};
}

}  // namespace

const OptionTable<DiffRequest>& diff_options() {
    static const OptionTable<DiffRequest> kTable =
        OptionTable<DiffRequest>{}
            .value({"before", OptionType::kText, "SIDE",
                    "one side: a session (digits, last~1), '{version=\"1\"}', -2h..-1h, or several of them"},
                   &DiffRequest::before)
            .value({"after", OptionType::kText, "SIDE", "the other side"}, &DiffRequest::after)
            .add({.name = "of",
                  .type = OptionType::kChoice,
                  .value_name = "WHAT",
                  .summary = "what to compare (default: latencies, where there are some)",
                  .choices = {"latency", "profile"}},
                 [](const OptionValue& value, DiffRequest& request) -> Result<Done> {
                     request.options.subject =
                         std::get<std::string>(value) == "latency" ? DiffSubject::kLatency : DiffSubject::kProfile;
                     return Done{};
                 })
            .text({"by", OptionType::kText, "LABELS",
                   "keep series apart by these labels, with commas: target, arch or your own"},
                  read_labels)
            .text({"pair", OptionType::kText, "START,STOP",
                   "latencies from one tracepoint to the next other one of the same thread, as of latency --pair"},
                  read_pair)
            .text({"percentiles", OptionType::kText, "LIST",
                   "which of latencies, with commas (default: 90,95,99); none: their means alone"},
                  read_percentiles)
            .text({"primary", OptionType::kText, "EVENT",
                   "test the mean of this event, or the figures of --fail-if, alone, and correct the others among "
                   "themselves"},
                  [](const std::string& text, DiffRequest& request) -> Result<Done> {
                      request.options.primary = text;
                      return Done{};
                  })
            .text({"confidence", OptionType::kText, "P", "of intervals and verdicts, in percent (default: 95)"},
                  read_confidence)
            .add({"limit", OptionType::kCount, "N", "functions of a profile at most (default: all)"},
                 [](const OptionValue& value, DiffRequest& request) -> Result<Done> {
                     request.options.row_count_max = std::get<std::uint64_t>(value);
                     return Done{};
                 })
            .add({"checklist", OptionType::kFlag, "", "name labels about the measurement that some runs lack"},
                 [](const OptionValue&, DiffRequest& request) -> Result<Done> {
                     request.options.names_checklist = true;
                     return Done{};
                 })
            .add({"within-run", OptionType::kFlag, "",
                  "verdicts about these runs alone, not about further ones: for one run a side"},
                 [](const OptionValue&, DiffRequest& request) -> Result<Done> {
                     request.options.within_run = true;
                     return Done{};
                 })
            .list("fail-if", "CONDITION",
                  "exit with 1 when this is shown: 'p99 > 5%', mean, median, max; of profiles 'self > 2%', "
                  "'children(main) < -2%', in percentage points. May be given several times",
                  read_conditions)
            .finish(check_combination);
    return kTable;
}

Result<Selection> parse_diff_side(const std::string& option, const std::string& text, const Selection& common,
                                  UtcNs now) {
    Selection side = common;
    bool has_matchers = false;
    std::string_view rest = text;
    for (std::size_t start = rest.find_first_not_of(' '); start != std::string_view::npos;
         start = rest.find_first_not_of(' ')) {
        rest.remove_prefix(start);
        const std::size_t end = rest.front() == '{' ? end_of_matchers(rest) : std::min(rest.find(' '), rest.size());
        const std::string word{rest.substr(0, end)};
        rest.remove_prefix(end);
        if (word.front() == '{') {
            const auto matchers = parse_matchers(word);
            if (!matchers.ok()) {
                return Error{ErrorCode::kUsage, "--" + option + ": " + matchers.error().message};
            }
            if (std::exchange(has_matchers, true)) {
                return Error{ErrorCode::kUsage, "--" + option + ": matchers go into one pair of braces"};
            }
            side.matchers.insert(side.matchers.end(), matchers->begin(), matchers->end());
        } else if (word.find("..") != std::string::npos) {
            PERFLEET_TRY(add_range(option, word, now, side));
        } else if (!side.session.empty()) {
            return Error{ErrorCode::kUsage, "--" + option + ": one session at most, and none with --session"};
        } else {
            side.session = word;
        }
    }
    return side;
}

Result<DiffQuestion> parse_diff(const OptionValues& values, const Selection& common, UtcNs now) {
    auto request = PERFLEET_TRY(diff_options().read(values));
    DiffQuestion question;
    question.options = request.options;
    question.options.figures = figures_of(request);
    const auto read_side = [&](const char* name, const std::string& text, Selection& side) -> Result<Done> {
        if (text.find_first_not_of(' ') == std::string::npos) {
            return usage(std::string{"--"} + name +
                         ": which side is that? Such as --before last~1 --after last, '{version=\"2\"}' or -2h..-1h");
        }
        side = PERFLEET_TRY(parse_diff_side(name, text, common, now));
        for (const Matcher& matcher : side.matchers) {
            question.options.chosen_labels.insert(matcher.label);
        }
        return Done{};
    };
    PERFLEET_TRY(read_side("before", request.before, question.before));
    PERFLEET_TRY(read_side("after", request.after, question.after));
    return question;
}

}  // namespace perfleet
