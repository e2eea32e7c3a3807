// Percentiles by the formula of "(Micro)benchmarking Linux kernel functions", to compare with that article's figures.
// Not for anything else: its index rule takes the upper neighbour where it should average, averages where it shouldn't,
// and reads past the end for high percentiles of small samples.
//
//   index = p × n ÷ 100; sorted[index] if p × n is a multiple of 100, else (sorted[index] + sorted[index + 1]) ÷ 2
//
// Divisions truncate. If the rule would read past the end, the last value is used and the result says so.
//
// The article computes another neighbour and doesn't use it: index + 1, but index − 1 at the end, and index where there
// is one value. kIntended averages with that one.
#pragma once

#include <cstdint>
#include <span>

namespace perfleet {

enum class BernatRule : std::uint8_t { kPrinted, kIntended };

struct BernatFigure {
    std::uint64_t value = 0;
    bool is_clamped = false;

    friend bool operator==(const BernatFigure&, const BernatFigure&) = default;
};

// The ranks that the rule reads, before clamping: the same one twice where it doesn't average.
struct BernatRanks {
    std::uint64_t index = 0;
    std::uint64_t next = 0;
};
[[nodiscard]] BernatRanks bernat_ranks(std::uint64_t percent, std::uint64_t count,
                                       BernatRule rule = BernatRule::kPrinted);

// `percent` 0 to 100; ascending, at least one value.
[[nodiscard]] BernatFigure bernat_percentile(std::span<const std::uint64_t> ascending, std::uint64_t percent,
                                             BernatRule rule = BernatRule::kPrinted);

// The rule's 50th percentile of the distances from its own 50th percentile.
[[nodiscard]] BernatFigure bernat_deviation(std::span<const std::uint64_t> ascending,
                                            BernatRule rule = BernatRule::kPrinted);

}  // namespace perfleet
