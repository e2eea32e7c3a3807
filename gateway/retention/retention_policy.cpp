#include "gateway/retention/retention_policy.h"

namespace perfleet {
namespace {

bool is_too_old(const RetentionPolicy& policy, BucketNumber bucket, UtcNs now) {
    const std::int64_t end_s = (std::int64_t{bucket.value} + 1) * kBucketDurationS;
    return policy.age_s && now.value / kNsPerSecond - end_s >= *policy.age_s;
}

}  // namespace

RetentionPolicy own_part_of(const RetentionPolicy& policy, std::uint64_t own_bytes, std::uint64_t others_bytes) {
    RetentionPolicy own = policy;
    if (policy.size_bytes && own_bytes != 0) {
        const double part = static_cast<double>(own_bytes) / static_cast<double>(own_bytes + others_bytes);
        own.size_bytes = static_cast<std::uint64_t>(static_cast<double>(*policy.size_bytes) * part);
    }
    return own;
}

std::vector<BucketSize> buckets_to_drop(const RetentionPolicy& policy, std::span<const BucketSize> stored, UtcNs now) {
    std::uint64_t left_bytes = 0;
    for (const BucketSize& bucket : stored) {
        left_bytes += bucket.size_bytes;
    }
    std::vector<BucketSize> dropped;
    for (const BucketSize& bucket : stored) {
        const bool is_too_much = policy.size_bytes && left_bytes > *policy.size_bytes;
        const bool is_over = bucket.bucket < bucket_of(now);
        if (!is_too_old(policy, bucket.bucket, now) && !(is_too_much && is_over)) {
            break;
        }
        left_bytes -= bucket.size_bytes;
        dropped.push_back(bucket);
    }
    return dropped;
}

}  // namespace perfleet
