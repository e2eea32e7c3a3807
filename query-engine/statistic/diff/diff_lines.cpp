#include "query-engine/statistic/diff/diff_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace perfleet {
namespace {

AnswerValue scaled(const std::optional<long double>& value, long double scale = 1) {
    AnswerValue answer;
    if (value) {
        answer = static_cast<double>(*value * scale);
    }
    return answer;
}

AnswerValue text(const std::string& value) {
    AnswerValue answer;
    if (!value.empty()) {
        answer = value;
    }
    return answer;
}

std::optional<long double> low_of(const std::optional<Interval>& interval) {
    return interval ? std::optional{interval->low} : std::nullopt;
}
std::optional<long double> high_of(const std::optional<Interval>& interval) {
    return interval ? std::optional{interval->high} : std::nullopt;
}

// Values aren't negative, so nothing falls by more than 100 %.
std::optional<Interval> relative_change(const Contrast& contrast) {
    return contrast.ratio ? std::optional{Interval{std::max(contrast.ratio->low, 0.0L) - 1,
                                                   std::max(contrast.ratio->high, 0.0L) - 1}}
                          : std::nullopt;
}

// The interval that verdicts and conditions refer to.
std::optional<Interval> change_interval(const DiffLine& line, const Contrast& contrast) {
    return line.is_share ? contrast.difference : relative_change(contrast);
}

// As many digits as a reader compares: 0.042, 0.31, 3.1, 31.
std::string short_number(long double value) {
    const long double size = std::abs(value);
    return fmt::format("{:.{}f}", static_cast<double>(value), size == 0 || size >= 1 ? 1 : size >= 0.1L ? 2 : 3);
}

std::string unit_of_change(const DiffLine& line) { return line.is_share ? "points" : "%"; }

// "3.1 % [2.2, 4.0]", or with its sign and the table's decimals.
std::string change_text(const DiffLine& line, long double change, const std::optional<Interval>& interval,
                        bool has_sign) {
    const bool flips = !has_sign && change < 0;
    const auto shown = [&](long double value) {
        return has_sign ? fmt::format("{:.2f}", static_cast<double>(value * 100))
                        : short_number((flips ? -value : value) * 100);
    };
    std::string said = (has_sign && change >= 0 ? "+" : "") + shown(change) + " " + unit_of_change(line);
    if (interval) {
        said += fmt::format(" [{}, {}]", shown(flips ? interval->high : interval->low),
                            shown(flips ? interval->low : interval->high));
    }
    return said;
}

enum class Outcome : std::uint8_t { kNone, kWithin, kUndecided, kExceeded };  // ascending: the worst one counts

// Computes intervals and p values once, on first use.
class JudgedLine {
public:
    JudgedLine(const DiffLine& judged, long double confidence) : line{&judged}, confidence_{confidence} {
        has_interval_ = judged.is_share && judged.p_value_is_below ? true : change().has_value();
        has_p_value_ = judged.p_value_at && judged.unknown.empty() &&
                       (judged.p_value_is_below || contrast().difference.has_value() || judged.is_ranked ||
                        !judged.effect.empty());
    }

    // Judges the line among others: its p value is multiplied by `factor` and is at least `p_least`. Intervals match
    // the verdict.
    void judge(long double factor, long double p_least, long double alpha) {
        factor_ = factor;
        p_least_ = p_least;
        confidence_ = 1 - alpha / factor;
        contrast_.reset();
        is_different = p_value_is_below(alpha / factor);
    }
    [[nodiscard]] long double p_adjusted() const { return std::min(1.0L, std::max(p_least_, factor_ * p_value())); }

    [[nodiscard]] const Contrast& contrast() const {
        if (!contrast_) {
            contrast_ = line->contrast_at ? line->contrast_at(confidence_) : Contrast{};
        }
        return *contrast_;
    }
    [[nodiscard]] bool has_interval() const { return has_interval_; }
    [[nodiscard]] std::optional<Interval> change() const { return change_interval(*line, contrast()); }

    [[nodiscard]] bool has_p_value() const { return has_p_value_; }
    [[nodiscard]] long double p_value() const {
        if (!p_value_) {
            p_value_ = line->p_value_at(0);
        }
        return *p_value_;
    }
    [[nodiscard]] bool p_value_is_below(long double bound) const {
        return !p_value_ && line->p_value_is_below ? line->p_value_is_below(bound) : p_value() < bound;
    }

    [[nodiscard]] std::optional<long double> detectable() const {
        if (!has_p_value_ || !line->change) {
            return std::nullopt;
        }
        const auto& interval = line->is_share ? contrast().difference : contrast().ratio;
        return interval ? std::optional{detectable_change((interval->high - interval->low) / 2, confidence_)}
                        : std::nullopt;
    }
    [[nodiscard]] long double least_change() const {
        const auto interval = change();
        return interval ? std::min(std::abs(interval->low), std::abs(interval->high)) : 0;
    }

    const DiffLine* line;
    bool is_different = false;
    Outcome outcome = Outcome::kNone;
    bool is_primary = false;
    std::string condition;

private:
    long double confidence_;
    long double factor_ = 1;
    long double p_least_ = 0;
    bool has_interval_ = false;  // of the change
    bool has_p_value_ = false;
    mutable std::optional<Contrast> contrast_;
    mutable std::optional<long double> p_value_;
};

// How many runs would show a change as large as this one: the detectable change is proportional to 1 ÷ √runs.
std::string needed_runs_text(const DiffLine& line, long double detectable) {
    constexpr long double kRunsMax = 10'000;  // a need for more only means that there is hardly any change
    if (line.runs == 0 || !line.change || *line.change == 0) {
        return "";
    }
    const long double factor = detectable / std::abs(*line.change);
    const long double runs = std::ceil(static_cast<long double>(line.runs) * factor * factor);
    return factor <= 1 || runs > kRunsMax
               ? ""
               : fmt::format("; {:.0f} runs a side would show a change like this one", static_cast<double>(runs));
}

std::string verdict_of(const JudgedLine& judged, const std::optional<long double>& detectable, long double alpha,
                       std::size_t line_count) {
    const DiffLine& line = *judged.line;
    if (!line.p_value_at) {
        return "";
    }
    if (!line.unknown.empty()) {
        return "unknown: " + line.unknown;
    }
    if (!judged.has_p_value()) {
        return "too few values";
    }
    if (line.is_constant) {
        return "no difference shown: all values are equal";
    }
    if (judged.is_different) {
        const std::string& word = line.direction > 0 ? line.word_above : line.word_below;
        if (!line.effect.empty()) {
            return word + ": " + line.effect;
        }
        if (line.change && judged.has_interval()) {
            return word + " by " + change_text(line, *line.change, judged.change(), false);
        }
        const long double sign = line.direction > 0 ? 1 : -1;
        const auto& interval = judged.contrast().difference;
        return fmt::format("{} by {} {}", word, short_number(sign * *line.difference), line.unit) +
               (interval ? fmt::format(" [{}, {}]", short_number(sign > 0 ? interval->low : -interval->high),
                                       short_number(sign > 0 ? interval->high : -interval->low))
                         : "");
    }
    if (judged.p_value() < alpha) {
        return judged.is_primary
                   ? "no difference shown: alone it would be, not among all that --fail-if names"
                   : fmt::format("no difference shown: alone it would be, not among {} comparisons", line_count);
    }
    return detectable
               ? fmt::format("no difference shown; {} detect ≥ {} {}{}", line.counted, short_number(*detectable * 100),
                             unit_of_change(line), needed_runs_text(line, *detectable))
               : "no difference shown";
}

// One condition applied to one line.
struct Decision {
    const FailCondition* condition = nullptr;
    std::size_t line = 0;
    long double p_exceeded = 1;  // two-sided, where the change lies beyond the limit
    long double p_within = 1;    // where it lies within the limit
    bool is_exact = false;       // there is no interval: the change itself decides
};

Decision decide(const FailCondition& condition, const JudgedLine& judged, std::size_t index) {
    const DiffLine& line = *judged.line;
    Decision decision{&condition, index, 1, 1, !line.p_value_at && line.unknown.empty()};
    if (!line.change || !line.unknown.empty()) {
        return decision;
    }
    const bool is_beyond = condition.is_above ? *line.change > condition.limit : *line.change < condition.limit;
    if (decision.is_exact || judged.has_interval()) {
        (is_beyond ? decision.p_exceeded : decision.p_within) =
            decision.is_exact ? 0 : line.p_value_at(condition.limit);
    }
    return decision;
}

// `alpha` is the level for p values, shared by all checked conditions.
std::string decision_text(const Decision& decision, const JudgedLine& judged, Outcome outcome, long double alpha) {
    const DiffLine& line = *judged.line;
    const std::optional<Interval> interval =
        line.contrast_at ? change_interval(line, line.contrast_at(1 - alpha)) : std::nullopt;
    std::string said =
        fmt::format("--fail-if {}: {}: {} {}: {}", decision.condition->text,
                    outcome == Outcome::kExceeded ? kOutcomeExceeded : kOutcomeUndecided, line.name, line.figure,
                    line.change ? change_text(line, *line.change, interval, true) : "nothing to take a percentage of");
    if (!line.unknown.empty()) {
        return said + "; " + line.unknown;
    }
    if (decision.is_exact) {
        return said + "; it has no interval, so the measured values decide";
    }
    if (outcome == Outcome::kExceeded || !line.change) {
        return said;
    }
    if (!interval) {
        return said + (line.count_needed != 0
                           ? fmt::format("; {}, and an interval takes {} on each side", line.counted, line.count_needed)
                           : fmt::format("; {} are too few for an interval", line.counted));
    }
    const long double gap = std::abs(*line.change - decision.condition->limit);
    const long double half_width = (interval->high - interval->low) / 2;
    if (half_width > gap && gap > 0 && half_width < 100 * gap) {
        const long double factor = half_width / gap;
        said += fmt::format("; about {:.0f} times as many {} would decide",
                            std::ceil(static_cast<double>(factor * factor)), line.is_share ? "samples" : "values");
    }
    return said;
}

// Decides each condition by whether the whole interval lies beyond the limit, at a level shared by all conditions.
Result<Done> judge_conditions(const DiffOptions& options, std::vector<JudgedLine>& lines,
                              std::vector<std::string>& warnings) {
    const long double alpha = 1 - options.confidence;
    std::vector<Decision> decisions;
    for (const FailCondition& condition : options.conditions) {
        const std::size_t known = decisions.size();
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const DiffLine& line = *lines[i].line;
            if (line.figure == condition.figure && (condition.name.empty() || condition.name == line.name)) {
                decisions.push_back(decide(condition, lines[i], i));
            }
        }
        if (decisions.size() == known) {
            return Error{ErrorCode::kNotFound, "--fail-if " + condition.text + ": nothing of the kind was compared" +
                                                   (lines.empty() ? ": no series is on both sides" : "")};
        }
    }
    const auto primary_count =
        static_cast<std::size_t>(std::ranges::count_if(lines, [](const JudgedLine& one) { return one.is_primary; }));
    const long double shared_by_all = alpha / static_cast<long double>(std::max<std::size_t>(decisions.size(), 1));
    std::size_t undecided_count = 0;  // undecided functions of conditions without a function name
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        const Decision& decision = decisions[i];
        // A primary line has one interval, for all its conditions.
        const bool is_primary = lines[decision.line].is_primary;
        const long double among_all = is_primary ? alpha / static_cast<long double>(primary_count) : shared_by_all;
        const Outcome outcome = decision.p_exceeded < among_all ? Outcome::kExceeded
                                : decision.p_within < alpha     ? Outcome::kWithin
                                                                : Outcome::kUndecided;
        JudgedLine& judged = lines[decision.line];
        if (outcome > judged.outcome) {
            judged.outcome = outcome;
            judged.condition = decision.condition->text;
        }
        // Many functions may be undecided, and their lines say so: the warning only counts them.
        const bool is_counted =
            outcome == Outcome::kUndecided && judged.line->is_share && decision.condition->name.empty();
        if (is_counted) {
            ++undecided_count;
        } else if (outcome == Outcome::kExceeded || outcome == Outcome::kUndecided) {
            warnings.push_back(decision_text(decision, judged, outcome, among_all));
        }
        const bool is_last = i + 1 == decisions.size() || decisions[i + 1].condition != decision.condition;
        if (is_last && undecided_count != 0) {
            const FailCondition& condition = *decision.condition;
            warnings.push_back(
                fmt::format("--fail-if {}: undecided for {} function{}: more samples would decide; {}(FUNCTION) says "
                            "of one how many",
                            condition.text, undecided_count, undecided_count == 1 ? "" : "s", condition.figure));
            undecided_count = 0;
        }
    }
    return Done{};
}

std::string outcome_text(Outcome outcome) {
    switch (outcome) {
        case Outcome::kExceeded: return kOutcomeExceeded;
        case Outcome::kUndecided: return kOutcomeUndecided;
        case Outcome::kWithin: return kOutcomeWithin;
        case Outcome::kNone: break;
    }
    return "";
}

// Judges all verdicts together: if both sides are equal, at most 5 of 100 answers show any change (at 95 %). Series
// share this level equally. In a series the mean gets nine tenths and the other figures the rest, or all of it once the
// mean has changed (the fallback procedure: Wiens, 2003). Primary lines have a level of their own, which they share.
// Lines without a series share it equally, or use the joint level.
void judge_together(std::vector<JudgedLine>& judged, long double alpha, std::optional<long double> joint_level) {
    constexpr long double kShareOfMean = 0.9L;
    std::map<std::size_t, std::vector<JudgedLine*>> families;
    const auto primary_count =
        static_cast<long double>(std::ranges::count_if(judged, [](const JudgedLine& one) { return one.is_primary; }));
    for (JudgedLine& one : judged) {
        if (one.line->is_constant) {
            one.judge(1, 0, alpha);
        } else if (one.is_primary) {
            one.judge(primary_count, 0, alpha);
        } else if (one.has_p_value()) {
            families[one.line->family].push_back(&one);
        }
    }
    for (auto& [number, lines] : families) {
        const auto family_count = static_cast<long double>(families.size());
        if (number == 0 && families.size() == 1 && joint_level) {
            for (JudgedLine* one : lines) {
                one->judge(alpha / *joint_level, 0, alpha);
            }
            continue;
        }
        const auto mean = std::find_if(lines.begin(), lines.end(), [](JudgedLine* one) { return one->line->is_mean; });
        long double share = 1;
        long double least = 0;
        if (mean != lines.end()) {
            (*mean)->judge(family_count / (lines.size() == 1 ? 1 : kShareOfMean), 0, alpha);
            share = (*mean)->is_different ? 1 : 1 - kShareOfMean;
            least = (*mean)->is_different ? (*mean)->p_adjusted() : 0;
            lines.erase(mean);
        }
        for (JudgedLine* one : lines) {
            one->judge(family_count * static_cast<long double>(lines.size()) / share, least, alpha);
        }
    }
}

void sort_by_relevance(std::vector<JudgedLine>& lines) {
    std::stable_sort(lines.begin(), lines.end(), [](const JudgedLine& a, const JudgedLine& b) {
        const bool a_fails = a.outcome == Outcome::kExceeded;
        const bool b_fails = b.outcome == Outcome::kExceeded;
        if (a_fails != b_fails) {
            return a_fails;
        }
        if (a.is_different != b.is_different) {
            return a.is_different;
        }
        const auto weight = [](const JudgedLine& one) {
            return one.is_different ? one.least_change() : std::abs(one.line->change.value_or(0));
        };
        return weight(a) > weight(b);
    });
}

}  // namespace

DiffLine share_line(const std::string& figure, const ClusteredShare& before, const ClusteredShare& after) {
    DiffLine line;
    line.figure = figure;
    line.unit = "percent";
    line.before = before.share();
    line.after = after.share();
    line.difference = *line.after - *line.before;
    line.change = line.difference;
    line.direction = *line.difference;
    line.is_share = true;
    line.word_above = "more";
    line.word_below = "less";
    line.contrast_at = [=](long double confidence) { return share_contrast(before, after, confidence); };
    line.p_value_at = [=](long double limit) { return share_p_value(before, after, limit); };
    if (has_share_contrast(before, after)) {
        line.p_value_is_below = [=](long double bound) { return share_p_value_is_below(before, after, bound); };
    }
    return line;
}

Result<Done> DiffLines::finish(const DiffOptions& options, bool by_relevance, Answer& answer) {
    const long double alpha = 1 - options.confidence;
    std::vector<JudgedLine> judged;
    for (const DiffLine& line : lines_) {
        judged.emplace_back(line, options.confidence);
    }
    for (JudgedLine& one : judged) {
        const DiffLine& line = *one.line;
        one.is_primary =
            !options.primary.empty() && ((line.is_mean && line.name == options.primary) ||
                                         std::ranges::any_of(options.conditions, [&](const FailCondition& condition) {
                                             return line.figure == condition.figure &&
                                                    (condition.name.empty() || condition.name == line.name);
                                         }));
    }
    judge_together(judged, alpha, joint_level_);
    const auto tested_count =
        static_cast<std::size_t>(std::count_if(judged.begin(), judged.end(), [](const JudgedLine& one) {
            return one.has_p_value() && !one.is_primary && !one.line->is_constant;
        }));
    PERFLEET_TRY(judge_conditions(options, judged, answer.warnings));
    if (by_relevance) {
        sort_by_relevance(judged);
    }
    answer.columns = identity_;
    for (const AnswerColumn& column : std::vector<AnswerColumn>{{"figure", ""},
                                                                {"unit", ""},
                                                                {"before", ""},
                                                                {"after", ""},
                                                                {"difference", ""},
                                                                {"difference_low", ""},
                                                                {"difference_high", ""},
                                                                {"change", "percent"},
                                                                {"change_low", "percent"},
                                                                {"change_high", "percent"},
                                                                {"p", ""},
                                                                {"p_adjusted", ""},
                                                                {"detectable", "percent"},
                                                                {"verdict", ""},
                                                                {"primary", ""},
                                                                {"condition", ""},
                                                                {"outcome", ""}}) {
        answer.columns.push_back(column);
    }
    answer.columns.insert(answer.columns.end(), evidence_.begin(), evidence_.end());
    for (const JudgedLine& one : judged) {
        if (options.row_count_max && answer.rows.size() >= *options.row_count_max) {
            break;
        }
        const DiffLine& line = *one.line;
        const long double scale = line.is_share ? 100 : 1;
        const bool has_before = line.before && *line.before > 0 && line.change;
        std::vector<AnswerValue> row = line.identity;
        row.emplace_back(line.figure);
        row.emplace_back(line.unit);
        row.push_back(scaled(line.before, scale));
        row.push_back(scaled(line.after, scale));
        row.push_back(scaled(line.difference, scale));
        row.push_back(scaled(low_of(one.contrast().difference), scale));
        row.push_back(scaled(high_of(one.contrast().difference), scale));
        row.push_back(scaled(!has_before     ? std::nullopt
                             : line.is_share ? std::optional{*line.after / *line.before - 1}
                                             : line.change,
                             100));
        const auto change = relative_change(one.contrast());
        row.push_back(scaled(low_of(change), 100));
        row.push_back(scaled(high_of(change), 100));
        row.push_back(scaled(one.has_p_value() ? std::optional{one.p_value()} : std::nullopt));
        row.push_back(scaled(one.has_p_value() ? std::optional{one.p_adjusted()} : std::nullopt));
        const std::optional<long double> detectable = one.detectable();
        row.push_back(scaled(detectable, 100));
        row.push_back(text(verdict_of(one, detectable, alpha, tested_count)));
        row.push_back(text(options.primary.empty() ? "" : one.is_primary ? "yes" : "no"));
        row.push_back(text(one.condition));
        row.push_back(text(outcome_text(one.outcome)));
        row.insert(row.end(), line.evidence.begin(), line.evidence.end());
        answer.rows.push_back(std::move(row));
    }
    return Done{};
}

}  // namespace perfleet
