// Retention limits by age and size, and which buckets must be dropped under them.
//
// Plain values and a pure function: the caller passes the time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// The limits of one retention class.
struct RetentionPolicy {
    static constexpr std::int64_t kAgeMaxS = 100LL * 366 * 86'400;

    std::optional<std::int64_t> age_s;        // from the end of its hour
    std::optional<std::uint64_t> size_bytes;  // of all rows, approximate

    [[nodiscard]] bool keeps_everything() const { return !age_s && !size_bytes; }
};

// The limits of one gateway of several that share a store: its share of the size limit is its share of all stored
// bytes.
[[nodiscard]] RetentionPolicy own_part_of(const RetentionPolicy& policy, std::uint64_t own_bytes,
                                          std::uint64_t others_bytes);

// The size of one bucket of one class in the store.
struct BucketSize {
    BucketNumber bucket;
    std::uint64_t size_bytes = 0;
};

// Which of `stored` (ascending) must be dropped, oldest first. The size limit drops no more than needed, and never the
// bucket of `now` or a later one: rows that come in would be lost.
[[nodiscard]] std::vector<BucketSize> buckets_to_drop(const RetentionPolicy& policy, std::span<const BucketSize> stored,
                                                      UtcNs now);

}  // namespace perfleet
