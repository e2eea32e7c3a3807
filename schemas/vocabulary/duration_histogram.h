// How long things took, counted in buckets: by one thread, read by any, without a lock.
//
// Freestanding. The sum and the buckets are read one after the other, so a reading taken in the middle of observe() may
// lack its last duration in one of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace perfleet {

class DurationHistogram {
public:
    // Upper bounds, inclusive; one more bucket takes what is longer.
    static constexpr std::array<std::uint64_t, 16> kBoundsNs{
        500'000,       1'000'000,      2'500'000,      5'000'000,     10'000'000,    25'000'000,
        50'000'000,    100'000'000,    250'000'000,    500'000'000,   1'000'000'000, 2'500'000'000,
        5'000'000'000, 10'000'000'000, 30'000'000'000, 60'000'000'000};

    struct Counts {
        std::array<std::uint64_t, kBoundsNs.size() + 1> in_bucket{};  // not cumulative
        std::uint64_t sum_ns = 0;
    };

    DurationHistogram() = default;
    DurationHistogram(const DurationHistogram&) = delete;
    DurationHistogram& operator=(const DurationHistogram&) = delete;

    // By one thread at a time.
    void observe(std::uint64_t duration_ns) {
        std::size_t bucket = 0;
        while (bucket < kBoundsNs.size() && duration_ns > kBoundsNs[bucket]) {
            ++bucket;
        }
        add(in_bucket_[bucket], 1);
        add(sum_ns_, duration_ns);
    }

    // From any thread.
    [[nodiscard]] Counts read() const {
        Counts counts;
        for (std::size_t i = 0; i < in_bucket_.size(); ++i) {
            counts.in_bucket[i] = in_bucket_[i].load(std::memory_order_relaxed);
        }
        counts.sum_ns = sum_ns_.load(std::memory_order_relaxed);
        return counts;
    }

private:
    // Not fetch_add(): there is one writer, and a plain store costs nothing.
    static void add(std::atomic<std::uint64_t>& to, std::uint64_t value) {
        to.store(to.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
    }

    std::array<std::atomic<std::uint64_t>, kBoundsNs.size() + 1> in_bucket_{};
    std::atomic<std::uint64_t> sum_ns_{0};
};

}  // namespace perfleet
