#include "storage/number/rank_sketch.h"

#include <algorithm>

namespace perfleet {

void RankSketch::merge(const RankSketch& other) {
    counts_.resize(std::max(counts_.size(), other.counts_.size()));
    for (std::size_t bucket = 0; bucket < other.counts_.size(); ++bucket) {
        counts_[bucket] += other.counts_[bucket];
    }
    count_ += other.count_;
}

std::size_t RankSketch::bucket_count() const {
    return counts_.size() - static_cast<std::size_t>(std::count(counts_.begin(), counts_.end(), std::uint64_t{0}));
}

std::uint64_t RankSketch::value_at(std::uint64_t rank) const {
    std::uint64_t seen = 0;
    for (std::uint32_t bucket = 0; bucket < counts_.size(); ++bucket) {
        seen += counts_[bucket];
        if (rank < seen) {
            return middle_of(bucket);
        }
    }
    return 0;
}

std::uint64_t RankSketch::middle_of(std::uint32_t bucket) {
    const unsigned shift = bucket >> (kBits + 1);
    const std::uint64_t low = std::uint64_t{bucket & ((1U << (kBits + 1)) - 1)} << shift;
    return low + (((1ULL << shift) - 1) >> 1);
}

}  // namespace perfleet
