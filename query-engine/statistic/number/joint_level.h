// The significance level for each of many shares that keeps the joint error rate.
//
// Functions of a profile aren't independent comparisons: their shares add up to one, callers include their callees, and
// small shares can hardly differ. If the sides don't differ, runs may be reassigned to either side. The distribution of
// the smallest p value of all lines over such reassignments gives the level at which a single p value is rare among all
// (Westfall and Young, 1993, single-step minP). It assumes only that runs of equal sides are exchangeable.
//
// One thread. Plain values. Not for runs that belong to both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perfleet {

class JointLevel {
public:
    // With more lines level() gives nothing.
    static constexpr std::size_t kLinesMax = 20'000;
    // Number of reassignments of runs to sides: all, or this many from a fixed seed. With fewer than the minimum
    // level() gives nothing.
    static constexpr std::size_t kWaysMax = 2'000;
    static constexpr std::size_t kWaysMin = 60;

    // Samples of each run, all above 0; runs of the side before come first.
    JointLevel(std::vector<std::uint64_t> counts, std::size_t before_count);

    // A line's hits in each run, in the order of the counts.
    void add(std::span<const std::uint64_t> hits);

    // The level for a single line's p value that keeps `alpha` for all lines together: between alpha ÷ lines and alpha.
    // Nothing for too many lines or too few runs.
    [[nodiscard]] std::optional<long double> level(long double alpha) const;

private:
    [[nodiscard]] std::vector<std::vector<std::uint32_t>> ways() const;
    [[nodiscard]] double least_p_value(std::span<const std::uint32_t> before) const;

    std::vector<double> counts_;
    std::size_t before_count_;
    std::vector<double> hits_;  // by line, then run
    std::size_t line_count_ = 0;
};

}  // namespace perfleet
