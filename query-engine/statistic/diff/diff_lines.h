// The lines of a comparison while they are made: verdicts and outcomes come when all are there, for each counts among
// the others.
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
    std::vector<AnswerValue> identity;  // what tells it apart, as DiffLines' columns
    std::string name;                   // of the event or function, that a condition may name
    std::string figure;
    std::string unit;
    std::optional<long double> before;
    std::optional<long double> after;
    std::optional<long double> difference;
    // Of what verdicts and conditions speak: a fraction of what was before, or the difference of two shares.
    std::optional<long double> change;
    bool is_share = false;
    long double direction = 0;  // above 0: after is greater
    std::string word_above;     // "slower"
    std::string word_below;
    std::string effect;              // what a verdict says instead of the change
    std::string counted;             // "30 values": what decides how small a change is seen
    std::uint64_t runs = 0;          // of the side with fewer of them; 0: values aren't compared by runs
    std::uint64_t count_needed = 0;  // for an interval at all, where there is none
    // Empty where no interval is to be had, however many values there are.
    std::function<Contrast(long double confidence)> contrast_at;
    std::function<long double(long double limit)> p_value_at;  // of change = limit
    // Of a hundred thousand lines few intervals and p values decide anything. Where it is set, contrast_at() has a
    // difference at every confidence, and this tells cheaply whether p_value_at(0) is below a bound.
    std::function<bool(long double bound)> p_value_is_below;
    std::string unknown;  // why there is no verdict; empty: there is one
    // Lines with the same number are figures of the same series; its mean is told apart. 0: of none.
    std::size_t family = 0;
    bool is_mean = false;
    std::vector<AnswerValue> evidence;  // as DiffLines' columns
};

// Of a share of samples in percent; its name, identity and what was counted are the caller's.
[[nodiscard]] DiffLine share_line(const std::string& figure, const ClusteredShare& before, const ClusteredShare& after);

class DiffLines {
public:
    DiffLines(std::vector<AnswerColumn> identity, std::vector<AnswerColumn> evidence)
        : identity_{std::move(identity)}, evidence_{std::move(evidence)} {}

    void add(DiffLine line) { lines_.push_back(std::move(line)); }
    [[nodiscard]] bool empty() const { return lines_.empty(); }
    // Of lines of no series: the level that p values are held against for all of them together (joint_level.h). None:
    // each of n lines has an nth.
    void set_joint_level(std::optional<long double> level) { joint_level_ = level; }

    // Columns and rows, in the order in which they were added or, `by_relevance`, first those that fail, then those
    // with a difference by the least that it may be, then the others by how much they changed. Errors: kNotFound when a
    // condition is about no line.
    [[nodiscard]] Result<Done> finish(const DiffOptions& options, bool by_relevance, Answer& answer);

private:
    std::vector<AnswerColumn> identity_;
    std::vector<AnswerColumn> evidence_;
    std::vector<DiffLine> lines_;
    std::optional<long double> joint_level_;
};

}  // namespace perfleet
