// How long and how much of what is stored is kept, and what has to go for it.
//
// Plain values and a function of them: the clock is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// Of what is in one retention class.
struct RetentionPolicy {
    static constexpr std::int64_t kAgeMaxS = 100LL * 366 * 86'400;

    std::optional<std::int64_t> age_s;        // since the end of its hour
    std::optional<std::uint64_t> size_bytes;  // of all rows, about

    [[nodiscard]] bool keeps_everything() const { return !age_s && !size_bytes; }
};

// What a gateway may keep that shares a store with others: of the limit as large a part as it has of all there is.
[[nodiscard]] RetentionPolicy own_part_of(const RetentionPolicy& policy, std::uint64_t own_bytes,
                                          std::uint64_t others_bytes);

// What one bucket takes in the store, of one class.
struct BucketSize {
    BucketNumber bucket;
    std::uint64_t size_bytes = 0;
};

// Of `stored`, ascending: those that have to go, the oldest first. For bytes no more go than must, and the bucket of
// `now` never does, nor any behind it: what comes in would be lost.
[[nodiscard]] std::vector<BucketSize> buckets_to_drop(const RetentionPolicy& policy, std::span<const BucketSize> stored,
                                                      UtcNs now);

}  // namespace perfleet
