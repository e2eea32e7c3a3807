// Finds the values at given ranks without sorting and without keeping the values: a few passes over them, each of which
// counts into buckets and narrows the ranges that the ranks can lie in. Once few values are left in those, the last
// pass collects and sorts them. Memory depends on the number of ranks alone, and is 8 MiB more at most for what is
// collected.
//
// The first buckets are cut as a sketch's are, by powers of two: latencies spread over many of them, and equal buckets
// of the whole range would put most values into the first one.
//
//   RankSearch search{min, max, ranks};
//   while (!search.is_done()) {
//       for (each piece of the values, in any order) search.count(piece);
//       search.narrow();
//   }
//   search.value(rank)
//
// Exact. Pieces may be counted by several searches made alike (threads, machines) and merged before narrow().
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
    // Every value lies in [min, max]; ranks count from 0 among the ascending values, in any order, repeated or not.
    RankSearch(std::uint64_t min, std::uint64_t max, std::span<const std::uint64_t> ranks);

    [[nodiscard]] bool is_done() const { return open_.empty(); }
    // Every value once in each pass.
    void count(std::span<const std::uint64_t> values);
    void narrow();
    // Of a rank that was asked for, once is_done().
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
        std::uint64_t value_count = 0;         // in it, all ranks' and others
        std::vector<std::uint64_t> collected;  // instead of counting
        std::vector<std::uint64_t> counts;     // empty once it was narrowed
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
    std::vector<std::uint32_t> open_;  // ranges that count in this pass
    bool is_collecting_ = false;       // or collect
    std::map<std::uint64_t, std::uint64_t> found_;
};

// The values at these ranks; in the order of `ranks`.
[[nodiscard]] std::vector<std::uint64_t> values_at_ranks(std::span<const std::uint64_t> values,
                                                         std::span<const std::uint64_t> ranks);

}  // namespace perfleet
