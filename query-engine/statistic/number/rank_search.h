// Finds the values at given ranks without sorting or keeping the values. Each of a few passes counts values into
// buckets and narrows the ranges in which the ranks lie. Once these ranges hold few values, the last pass collects and
// sorts them. Memory depends on the number of ranks only, plus at most 8 MiB for collected values.
//
// The first buckets follow powers of two, like a sketch's: latencies spread over many of these, while equal buckets of
// the whole range would put most values into the first one.
//
//   RankSearch search{min, max, ranks};
//   while (!search.is_done()) {
//       for (each piece of the values, in any order) search.count(piece);
//       search.narrow();
//   }
//   search.value(rank)
//
// Exact. Several searches with the same arguments (threads, machines) may count pieces, and are merged before narrow().
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace perfleet {

class RankSearch {
public:
    // All values lie in [min, max]. Ranks count from 0 among the ascending values; any order, repetition allowed.
    RankSearch(std::uint64_t min, std::uint64_t max, std::span<const std::uint64_t> ranks);

    [[nodiscard]] bool is_done() const { return open_.empty(); }
    // Must see every value once in each pass.
    void count(std::span<const std::uint64_t> values);
    void narrow();
    // The value of a requested rank, after is_done().
    [[nodiscard]] std::uint64_t value(std::uint64_t rank) const { return found_.at(rank); }

private:
    static constexpr unsigned kBucketBits = 14;
    static constexpr unsigned kMantissaBits = 8;  // of the first range: 14,848 buckets
    static constexpr std::uint64_t kCollectedMax = 1U << 20;
    static constexpr std::uint32_t kNoChild = 0;

    // A range of values in equal buckets of 2^shift values; the first one in buckets of 1/256 of their distance from
    // its low end.
    struct Range {
        std::uint64_t low = 0;
        unsigned shift = 0;
        bool is_by_powers = false;
        std::uint64_t min = ~0ULL;  // of the values counted in it; not kept by the first range
        std::uint64_t max = 0;
        std::uint64_t value_count = 0;         // all that lie in the range
        std::vector<std::uint64_t> collected;  // in the last pass, instead of counts
        std::vector<std::uint64_t> counts;     // empty after narrowing
        std::vector<std::uint32_t> children;   // index of the range of a bucket, kNoChild without one
        std::uint64_t rank_first = 0;          // rank of its least value
        std::vector<std::uint64_t> ranks;      // ascending, looked for in it
    };

    static std::uint64_t bucket_by_powers(std::uint64_t distance) {
        const auto width = static_cast<unsigned>(std::bit_width(distance));
        const unsigned shift = width > kMantissaBits + 1 ? width - kMantissaBits - 1 : 0;
        return (std::uint64_t{shift} << kMantissaBits) + (distance >> shift);
    }
    static std::uint64_t low_of_bucket(const Range& range, std::uint64_t bucket);
    static std::uint64_t bucket_size_bits(const Range& range, std::uint64_t bucket);

    void add_range(std::uint64_t low, std::uint64_t high, std::uint64_t rank_first, std::vector<std::uint64_t> ranks);
    void narrow_counted(std::uint32_t index, std::uint64_t& left_count);
    void take_collected(std::uint32_t index);

    std::vector<Range> ranges_;        // the first covers everything
    std::vector<std::uint32_t> open_;  // ranges that this pass counts
    bool is_collecting_ = false;       // this pass collects instead
    std::map<std::uint64_t, std::uint64_t> found_;
};

// The values at these ranks; in the order of `ranks`.
[[nodiscard]] std::vector<std::uint64_t> values_at_ranks(std::span<const std::uint64_t> values,
                                                         std::span<const std::uint64_t> ranks);

}  // namespace perfleet
