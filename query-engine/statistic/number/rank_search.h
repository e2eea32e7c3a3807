// Finds the values at given ranks without sorting and without keeping the values: a few passes over them, each of which
// counts into buckets and narrows the ranges that the ranks can lie in. Memory depends on the number of ranks alone.
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
    // Adds what `other` counted in this pass.
    void merge(const RankSearch& other);
    void narrow();
    // Of a rank that was asked for, once is_done().
    [[nodiscard]] std::uint64_t value(std::uint64_t rank) const { return found_.at(rank); }

private:
    static constexpr unsigned kBucketBits = 14;
    static constexpr std::uint32_t kNoChild = 0;

    // A range of values in equal buckets of 2^shift values.
    struct Range {
        std::uint64_t low = 0;
        unsigned shift = 0;
        std::vector<std::uint64_t> counts;    // empty once it was narrowed
        std::vector<std::uint32_t> children;  // index of the range of a bucket, kNoChild without one
        std::uint64_t rank_first = 0;         // rank of its least value
        std::vector<std::uint64_t> ranks;     // ascending, looked for in it
    };

    void add_range(std::uint64_t low, std::uint64_t high, std::uint64_t rank_first, std::vector<std::uint64_t> ranks);

    std::vector<Range> ranges_;        // the first covers everything
    std::vector<std::uint32_t> open_;  // ranges that count in this pass
    std::map<std::uint64_t, std::uint64_t> found_;
};

// The values at these ranks; in the order of `ranks`.
[[nodiscard]] std::vector<std::uint64_t> values_at_ranks(std::span<const std::uint64_t> values,
                                                         std::span<const std::uint64_t> ranks);

}  // namespace perfleet
