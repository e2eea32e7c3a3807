// A sketch of a distribution: the value of any rank, at most 1/256 off, from a few kilobytes and in one pass. Integers
// below 256 are exact; above, each power of two is divided into 128 equal buckets.
//
// Merging is addition, so parts give the same sketch in any order. Error bound: the result for a rank is the middle of
// the bucket that holds the true value, and a bucket is at most 1/128 of its values wide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfleet {

class RankSketch {
public:
    static constexpr long double kErrorMax = 1.0L / 256;  // as a fraction of the true value

    // Numbers of buckets are stored (storage/FORMAT.md): they must never change. They ascend with the values.
    [[nodiscard]] static std::uint32_t bucket_of(std::uint64_t value) {
        const auto width = static_cast<unsigned>(std::bit_width(value));
        const unsigned shift = width > kBits + 1 ? width - kBits - 1 : 0;
        return (shift << (kBits + 1)) + static_cast<std::uint32_t>(value >> shift);
    }
    // Whether a value can be in this bucket.
    [[nodiscard]] static bool is_bucket(std::uint64_t bucket) {
        return bucket <= kBucketMax && (bucket >> (kBits + 1) == 0 || (bucket >> kBits & 1U) == 1);
    }

    void add(std::uint64_t value, std::uint64_t times = 1) { add_bucket(bucket_of(value), times); }
    void add_bucket(std::uint32_t bucket, std::uint64_t times) {
        if (times == 0) {
            return;
        }
        if (bucket >= counts_.size()) {
            counts_.resize(bucket + std::size_t{1});
        }
        counts_[bucket] += times;
        count_ += times;
    }
    void merge(const RankSketch& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::size_t bucket_count() const;

    // The middle of the bucket that holds the value of this rank (from 0, below count()).
    [[nodiscard]] std::uint64_t value_at(std::uint64_t rank) const;

    friend bool operator==(const RankSketch&, const RankSketch&) = default;

private:
    static constexpr unsigned kBits = 7;
    static constexpr std::uint32_t kBucketMax = ((64 - kBits - 1) << (kBits + 1)) + ((1U << (kBits + 1)) - 1);

    [[nodiscard]] static std::uint64_t middle_of(std::uint32_t bucket);

    std::vector<std::uint64_t> counts_;  // by bucket; the last isn't 0
    std::uint64_t count_ = 0;
};

}  // namespace perfleet
