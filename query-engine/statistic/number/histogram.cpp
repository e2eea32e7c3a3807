#include "query-engine/statistic/number/histogram.h"

#include <algorithm>
#include <bit>

#include "schemas/vocabulary/assert.h"
#include "storage/number/wide_integer.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kBarCells = 50;
constexpr std::size_t kValueWidth = 9;  // at least
constexpr std::size_t kLegendWidth = 19;
constexpr std::size_t kCountWidth = 7;

std::string padded(const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string repeated(const char* cell, std::uint64_t times) {
    std::string text;
    for (std::uint64_t i = 0; i < times; ++i) {
        text += cell;
    }
    return text;
}

std::string cumulative_row(const std::string& label, std::size_t label_width, std::uint64_t dark, std::uint64_t total,
                           std::uint64_t count) {
    return padded(label, label_width) + " │ " + repeated("▒", dark) + repeated("░", total - dark) +
           std::string(kBarCells - total, ' ') + " ┊ " + padded(std::to_string(count), kCountWidth) + "\n";
}

// The last bucket's label is the widest number.
std::size_t label_width_of(const LinearHistogram& histogram) {
    const std::uint64_t last = histogram.low() + (histogram.counts().size() - 1) * histogram.width();
    return std::max(kValueWidth, std::to_string(last).size());
}

// "         256 -> 511          : 3        |*                   |"
std::string bar_row(std::string range, std::uint64_t count, std::uint64_t greatest, std::uint64_t width) {
    constexpr std::size_t kRangeWidth = 28;
    constexpr std::size_t kBarCountWidth = 8;
    const std::uint64_t stars = bar_cells_half_up(count, greatest, width);
    std::string digits = std::to_string(count);
    range.resize(std::max(range.size(), kRangeWidth), ' ');
    digits.resize(std::max(digits.size(), kBarCountWidth), ' ');
    return range + " : " + digits + " |" + std::string(stars, '*') + std::string(width - stars, ' ') + "|\n";
}

}  // namespace

LinearHistogram::LinearHistogram(std::uint64_t low, std::uint64_t width, std::size_t bucket_count)
    : low_{low}, width_{width}, counts_(bucket_count) {
    PERFLEET_ASSERT(width > 0);
}

void LinearHistogram::add(std::uint64_t value, std::uint64_t times) {
    if (value < low_) {
        below_ += times;
    } else if (const std::uint64_t bucket = (value - low_) / width_; bucket < counts_.size()) {
        counts_[bucket] += times;
    } else {
        above_ += times;
    }
}

void LinearHistogram::add(std::span<const std::uint64_t> values) {
    for (const std::uint64_t value : values) {
        add(value);
    }
}

void Log2Histogram::add(std::uint64_t value, std::uint64_t times) {
    counts_[value == 0 ? 0 : static_cast<std::size_t>(std::bit_width(value)) - 1] += times;
}

void Log2Histogram::add(std::span<const std::uint64_t> values) {
    for (const std::uint64_t value : values) {
        add(value);
    }
}

std::uint64_t bar_cells_down(std::uint64_t part, std::uint64_t whole, std::uint64_t width) {
    return whole == 0 ? 0 : static_cast<std::uint64_t>(Uint128{part} * width / whole);
}

std::uint64_t bar_cells_half_up(std::uint64_t part, std::uint64_t whole, std::uint64_t width) {
    return whole == 0 ? 0 : static_cast<std::uint64_t>((Uint128{part} * width * 2 + whole) / (Uint128{whole} * 2));
}

std::string cumulative_head(const LinearHistogram& histogram, const std::string& unit) {
    return padded(unit, label_width_of(histogram)) + " │ ▒ of them, ░ before" +
           std::string(kBarCells - kLegendWidth, ' ') + " ┊ " + padded("count", kCountWidth) + "\n";
}

std::string cumulative_bars(const LinearHistogram& histogram, std::uint64_t count) {
    const std::size_t width = label_width_of(histogram);
    std::string text;
    std::uint64_t so_far = histogram.below();
    if (so_far != 0) {
        const std::uint64_t cells = bar_cells_down(so_far, count, kBarCells);
        text += cumulative_row("below", width, cells, cells, so_far);
    }
    for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
        const std::uint64_t in_bucket = histogram.counts()[i];
        so_far += in_bucket;
        text += cumulative_row(std::to_string(histogram.low() + i * histogram.width()), width,
                               bar_cells_down(in_bucket, count, kBarCells), bar_cells_down(so_far, count, kBarCells),
                               in_bucket);
    }
    if (histogram.above() != 0) {
        text += cumulative_row("beyond", width, bar_cells_down(histogram.above(), count, kBarCells),
                               bar_cells_down(so_far + histogram.above(), count, kBarCells), histogram.above());
    }
    return text;
}

std::string linear_bars(const LinearHistogram& histogram, const std::string& unit, std::uint64_t width) {
    std::uint64_t greatest = std::max(histogram.below(), histogram.above());
    for (const std::uint64_t count : histogram.counts()) {
        greatest = std::max(greatest, count);
    }
    std::string text = padded(unit, 24) + "     : count    distribution\n";
    const auto add = [&](const std::string& low, const std::string& arrow, const std::string& high,
                         std::uint64_t count) {
        text += bar_row(padded(low, 12) + arrow + high, count, greatest, width);
    };
    if (histogram.below() != 0) {
        add("below", "    ", std::to_string(histogram.low()), histogram.below());
    }
    std::uint64_t low = histogram.low();
    for (const std::uint64_t count : histogram.counts()) {
        add(std::to_string(low), " -> ", std::to_string(low + (histogram.width() - 1)), count);
        low += histogram.width();
    }
    if (histogram.above() != 0) {
        add("beyond", "    ", "", histogram.above());
    }
    return text;
}

std::string log2_bars(const Log2Histogram& histogram, const std::string& unit, std::uint64_t width) {
    const auto counts = histogram.counts();
    const auto has_values = [](std::uint64_t count) { return count != 0; };
    const auto first = std::find_if(counts.begin(), counts.end(), has_values);
    if (first == counts.end()) {
        return {};
    }
    const auto last = std::find_if(counts.rbegin(), counts.rend(), has_values).base();
    const std::uint64_t greatest = *std::max_element(counts.begin(), counts.end());
    std::string text = padded(unit, 24) + "     : count    distribution\n";
    for (auto bucket = first; bucket != last; ++bucket) {
        const auto index = static_cast<std::size_t>(bucket - counts.begin());
        text += bar_row(padded(std::to_string(Log2Histogram::bucket_low(index)), 12) + " -> " +
                            std::to_string(Log2Histogram::bucket_high(index)),
                        *bucket, greatest, width);
    }
    return text;
}

}  // namespace perfleet
