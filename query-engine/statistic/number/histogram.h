// Histograms of integers: equal steps, powers of two, or the cumulative bars of Bernat's article. Values beyond the
// buckets are counted.
//
// Plain values; histograms with the same bounds can be merged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace perfleet {

// Buckets of `width` from `low` on; values below and beyond are counted separately.
class LinearHistogram {
public:
    LinearHistogram(std::uint64_t low, std::uint64_t width, std::size_t bucket_count);

    void add(std::uint64_t value, std::uint64_t times = 1);
    void add(std::span<const std::uint64_t> values);

    [[nodiscard]] std::uint64_t low() const { return low_; }
    [[nodiscard]] std::uint64_t width() const { return width_; }
    [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
    [[nodiscard]] std::uint64_t below() const { return below_; }
    [[nodiscard]] std::uint64_t above() const { return above_; }

private:
    std::uint64_t low_;
    std::uint64_t width_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t below_ = 0;
    std::uint64_t above_ = 0;
};

// Bucket k holds values 2^k to 2^(k + 1) − 1; bucket 0 holds 0 and 1, as in funclatency.
class Log2Histogram {
public:
    void add(std::uint64_t value, std::uint64_t times = 1);
    void add(std::span<const std::uint64_t> values);

    [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }  // 64 of them
    [[nodiscard]] static std::uint64_t bucket_low(std::size_t bucket) { return bucket == 0 ? 0 : 1ULL << bucket; }
    [[nodiscard]] static std::uint64_t bucket_high(std::size_t bucket) {
        return bucket == 63 ? ~0ULL : (2ULL << bucket) - 1;
    }

private:
    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(64);
};

// Length in cells of a bar of `width` cells for `part` of `whole`: rounded down, or half up as in funclatency.
[[nodiscard]] std::uint64_t bar_cells_down(std::uint64_t part, std::uint64_t whole, std::uint64_t width);
[[nodiscard]] std::uint64_t bar_cells_half_up(std::uint64_t part, std::uint64_t whole, std::uint64_t width);

// The cumulative bars of Bernat's article: one row for each bucket with its value, a bar of 50 cells (dark: the
// bucket's share, light: the share of all buckets before it), and the count. A last row counts values beyond the
// buckets; the article omits it.
[[nodiscard]] std::string cumulative_bars(const LinearHistogram& histogram, std::uint64_t count);
// The heading line for cumulative_bars(), in the same columns.
[[nodiscard]] std::string cumulative_head(const LinearHistogram& histogram, const std::string& unit);

inline constexpr std::uint64_t kBarWidth = 40;  // funclatency's

// Equal steps in funclatency's layout: "72 -> 76 : 51 |* |", and rows for values below and beyond.
[[nodiscard]] std::string linear_bars(const LinearHistogram& histogram, const std::string& unit,
                                      std::uint64_t width = kBarWidth);

// funclatency's table: "256 -> 511 : 3 |* |", from the first to the last bucket that has values.
[[nodiscard]] std::string log2_bars(const Log2Histogram& histogram, const std::string& unit,
                                    std::uint64_t width = kBarWidth);

}  // namespace perfleet
