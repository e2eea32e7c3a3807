// Collects the lines of a comparison. Verdicts and outcomes are computed after the last line, because p values are
// adjusted for the number of lines.
//
// One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "query-engine/statistic/diff/diff.h"
#include "query-engine/statistic/number/comparison.h"
#include "query-engine/statistic/number/share_comparison.h"

namespace perfleet {

struct DiffLine {
    std::vector<AnswerValue> identity;  // the line's identity, as DiffLines' columns
    std::string name;                   // of the event or function; a condition may name it
    std::string figure;
    std::string unit;
    std::optional<long double> before;
    std::optional<long double> after;
    std::optional<long double> difference;
    // What verdicts and conditions use: a fraction of the value before, or the difference of two shares.
    std::optional<long double> change;
    bool is_share = false;
    long double direction = 0;  // above 0: after is greater
    std::string word_above;     // "slower"
    std::string word_below;
    std::string effect;              // replaces the change in the verdict's text
    std::string counted;             // "30 values": the count that limits what is detectable
    std::uint64_t runs = 0;          // of the side with fewer runs; 0: not compared by runs
    std::uint64_t count_needed = 0;  // needed for an interval, if there is none
    // Empty if no number of values would give an interval.
    std::function<Contrast(long double confidence)> contrast_at;
    std::function<long double(long double limit)> p_value_at;  // of change = limit
    // Optional shortcut, because most lines of a large profile need no interval. If it is set, contrast_at() has a
    // difference at every confidence, and this says cheaply whether p_value_at(0) is below a bound.
    std::function<bool(long double bound)> p_value_is_below;
    bool is_ranked = false;    // the p value needs no interval
    bool is_constant = false;  // all values of both sides are equal: no comparison that could show a difference
    std::string unknown;       // why there is no verdict; empty: there is one
    // Lines with the same number are figures of one series; its mean is marked. 0: no series.
    std::size_t family = 0;
    bool is_mean = false;
    std::vector<AnswerValue> evidence;  // as DiffLines' columns
};

// The line of a share of samples, in percent. The caller sets name, identity and counted.
[[nodiscard]] DiffLine share_line(const std::string& figure, const ClusteredShare& before, const ClusteredShare& after);

class DiffLines {
public:
    DiffLines(std::vector<AnswerColumn> identity, std::vector<AnswerColumn> evidence)
        : identity_{std::move(identity)}, evidence_{std::move(evidence)} {}

    void add(DiffLine line) { lines_.push_back(std::move(line)); }
    [[nodiscard]] bool empty() const { return lines_.empty(); }
    // For lines that belong to no series: the joint significance level of each line's p value (joint_level.h). None:
    // Bonferroni, level ÷ number of lines.
    void set_joint_level(std::optional<long double> level) { joint_level_ = level; }

    // Writes columns and rows, in the order of add() or, `by_relevance`, first lines that fail, then those with a
    // difference by the bound nearest 0, then the others by change. Errors: kNotFound when a condition matches no line.
    [[nodiscard]] Result<Done> finish(const DiffOptions& options, bool by_relevance, Answer& answer);

private:
    std::vector<AnswerColumn> identity_;
    std::vector<AnswerColumn> evidence_;
    std::vector<DiffLine> lines_;
    std::optional<long double> joint_level_;
};

}  // namespace perfleet
