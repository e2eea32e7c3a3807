// How strictly each of many shares must be compared so that all together rarely differ by chance.
//
// Functions of a profile aren't independent comparisons: their shares add up to one, callers hold what they call, and
// small ones can hardly differ. Runs that don't differ may be given to either side: what the smallest p value of all
// lines is then, over the ways to do so, says at which level one of a line is rare among all (Westfall and Young, 1993,
// single-step minP). It takes no distribution for granted, only that runs of equal sides are exchangeable.
//
// One thread. Plain values. Not for runs that are in both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perfleet {

class JointLevel {
public:
    // More lines aren't looked at: level() has none.
    static constexpr std::size_t kLinesMax = 20'000;
    // Ways to give runs to sides: all of them, or so many by a fixed seed. Fewer than the least say nothing.
    static constexpr std::size_t kWaysMax = 2'000;
    static constexpr std::size_t kWaysMin = 60;

    // Samples of each run; those before come first. All above 0.
    JointLevel(std::vector<std::uint64_t> counts, std::size_t before_count);

    // A line's hits, as the counts.
    void add(std::span<const std::uint64_t> hits);

    // Below this a line's p value is less than `alpha` among all lines: from alpha ÷ lines to alpha. None: too many
    // lines, too few runs.
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
