#include "query-engine/statistic/diff_command.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "query-engine/statistic/option_text.h"
#include "query-engine/statistic/usage.h"

namespace perfleet {
namespace {

constexpr std::array<std::string_view, 8> kDiffOptions{"before",      "after",      "of",      "by",
                                                       "percentiles", "confidence", "fail-if", "limit"};
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
        return Error{ErrorCode::kUsage, "--" + option + ": one range of time at most, and none with --from or --to"};
    }
    if (Result<Done> done = bound(word.substr(0, dots), side.from); !done.ok()) {
        return done;
    }
    if (Result<Done> done = bound(word.substr(dots + 2), side.to); !done.ok()) {
        return done;
    }
    if (side.from && side.to && *side.to <= *side.from) {
        return Error{ErrorCode::kUsage, "--" + option + ": " + word.substr(0, 128) + " ends before it begins"};
    }
    return Done{};
}

Result<std::vector<std::string>> parse_labels(const std::string& text) {
    std::vector<std::string> labels;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        labels.push_back(text.substr(start, end - start));
        if (labels.back().empty() || labels.size() > kLabelsMax) {
            return option_error("by", text, "a list of at most 8 labels, such as target,build");
        }
        start = end + 1;
    }
    return labels;
}

// Mean, median and what --percentiles says; the greatest value; what conditions are about.
Result<std::vector<LatencyFigure>> parse_figures(const std::map<std::string, std::string>& options,
                                                 const std::vector<FailCondition>& conditions) {
    const auto text = options.find("percentiles");
    auto percentiles = parse_percentiles_option("percentiles", text == options.end() ? "90,95,99" : text->second);
    if (!percentiles.ok()) {
        return std::move(percentiles).error();
    }
    percentiles->push_back(kMedian);
    std::vector<LatencyFigure> figures;
    for (const Quantile& quantile : *percentiles) {
        figures.push_back({LatencyFigureKind::kQuantile, quantile});
    }
    for (const FailCondition& condition : conditions) {
        if (const auto figure = parse_figure(condition.figure)) {
            figures.push_back(*figure);
        }
    }
    figures.push_back({LatencyFigureKind::kMean, {}});
    figures.push_back({LatencyFigureKind::kMax, {}});
    std::sort(figures.begin(), figures.end());
    figures.erase(std::unique(figures.begin(), figures.end()), figures.end());
    return figures;
}

}  // namespace

bool is_diff_option(std::string_view name) {
    return std::find(kDiffOptions.begin(), kDiffOptions.end(), name) != kDiffOptions.end();
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
                return Error{ErrorCode::kUsage, "--" + option + ": matchers stand in one pair of braces"};
            }
            side.matchers.insert(side.matchers.end(), matchers->begin(), matchers->end());
        } else if (word.find("..") != std::string::npos) {
            if (Result<Done> added = add_range(option, word, now, side); !added.ok()) {
                return std::move(added).error();
            }
        } else if (!side.session.empty()) {
            return Error{ErrorCode::kUsage, "--" + option + ": one session at most, and none with --session"};
        } else {
            side.session = word;
        }
    }
    return side;
}

Result<DiffQuestion> parse_diff(const std::map<std::string, std::string>& options, const Selection& common, UtcNs now) {
    DiffQuestion question;
    for (const auto& [name, side] : {std::pair{"before", &question.before}, std::pair{"after", &question.after}}) {
        const auto text = options.find(name);
        if (text == options.end() || text->second.find_first_not_of(' ') == std::string::npos) {
            return Error{ErrorCode::kUsage, std::string{"--"} + name +
                                                ": which side is that? Such as --before last~1 --after last, "
                                                "'{version=\"2\"}' or -2h..-1h"};
        }
        auto parsed = parse_diff_side(name, text->second, common, now);
        if (!parsed.ok()) {
            return std::move(parsed).error();
        }
        *side = std::move(*parsed);
        for (const Matcher& matcher : side->matchers) {
            question.options.chosen_labels.insert(matcher.label);
        }
    }
    DiffOptions& diff = question.options;
    for (const auto& [name, text] : options) {
        if (name == "of") {
            if (text != "latency" && text != "profile") {
                return option_error(name, text, "latency or profile");
            }
            diff.subject = text == "latency" ? DiffSubject::kLatency : DiffSubject::kProfile;
        } else if (name == "by") {
            auto labels = parse_labels(text);
            if (!labels.ok()) {
                return std::move(labels).error();
            }
            diff.by = std::move(*labels);
            diff.chosen_labels.insert(diff.by.begin(), diff.by.end());
        } else if (name == "confidence") {
            const auto fraction = parse_fraction_option(name, text);
            if (!fraction.ok()) {
                return Error{fraction.error()};
            }
            diff.confidence = *fraction;
        } else if (name == "fail-if") {
            auto conditions = parse_fail_conditions(text);
            if (!conditions.ok()) {
                return std::move(conditions).error();
            }
            diff.conditions = std::move(*conditions);
        } else if (name == "limit") {
            std::uint64_t limit = 0;
            const char* end = text.data() + text.size();
            const auto [rest, status] = std::from_chars(text.data(), end, limit);
            if (status != std::errc{} || rest != end) {
                return option_error(name, text, "a whole number");
            }
            diff.row_count_max = limit;
        }
    }
    for (const auto& [name, subject] :
         {std::pair{"limit", DiffSubject::kLatency}, std::pair{"by", DiffSubject::kProfile},
          std::pair{"percentiles", DiffSubject::kProfile}}) {
        if (options.contains("of") && diff.subject == subject && options.contains(name)) {
            return usage(std::string{"--"} + name + ": --of " + options.at("of") + " doesn't use it");
        }
    }
    auto figures = parse_figures(options, diff.conditions);
    if (!figures.ok()) {
        return std::move(figures).error();
    }
    diff.figures = std::move(*figures);
    return question;
}

}  // namespace perfleet
