// A sketch of a distribution: percentiles to 1/128 of their value from a few kilobytes, for sums of sums (rollups)
// where the values are gone. Integers below 256 are exact; above, each power of two is cut into 128 equal buckets.
//
// Merging is addition, in any order. Bound: the value given for a rank lies in the true value's bucket, so it is off by
// less than 1/128 of it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>

namespace perfleet {

class RankSketch {
public:
    void add(std::uint64_t value, std::uint64_t times = 1) {
        counts_[bucket_of(value)] += times;
        count_ += times;
    }

    void merge(const RankSketch& other) {
        for (const auto& [bucket, times] : other.counts_) {
            counts_[bucket] += times;
        }
        count_ += other.count_;
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::size_t bucket_count() const { return counts_.size(); }

    // The middle of the bucket that holds the value of this rank (from 0, below count()).
    [[nodiscard]] std::uint64_t value_at(std::uint64_t rank) const {
        std::uint64_t seen = 0;
        for (const auto& [bucket, times] : counts_) {
            seen += times;
            if (rank < seen) {
                return middle_of(bucket);
            }
        }
        return 0;
    }

    friend bool operator==(const RankSketch&, const RankSketch&) = default;

private:
    static constexpr unsigned kBits = 7;

    static std::uint32_t bucket_of(std::uint64_t value) {
        const auto width = static_cast<unsigned>(std::bit_width(value));
        const unsigned shift = width > kBits + 1 ? width - kBits - 1 : 0;
        return (shift << (kBits + 1)) + static_cast<std::uint32_t>(value >> shift);
    }
    static std::uint64_t middle_of(std::uint32_t bucket) {
        const unsigned shift = bucket >> (kBits + 1);
        const std::uint64_t low = std::uint64_t{bucket & ((1U << (kBits + 1)) - 1)} << shift;
        return low + (((1ULL << shift) - 1) >> 1);
    }

    std::map<std::uint32_t, std::uint64_t> counts_;
    std::uint64_t count_ = 0;
};

}  // namespace perfleet
