#include "target-collector/source/linux/time_merge.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace perfleet {
namespace {

constexpr std::size_t kRecordWords = 6;  // header, and five words of a sample's fixed part

// A ring in memory with samples of given times.
class FakeRing {
public:
    explicit FakeRing(std::vector<std::uint64_t> times) : times_{std::move(times)} {}
    std::span<const std::byte> front() {
        if (at_ == times_.size()) {
            return {};
        }
        const perf::RecordHeader header{static_cast<std::uint32_t>(perf::RecordType::kSample), 0, sizeof(record_)};
        std::memcpy(record_.data(), &header, sizeof(header));
        record_[4] = times_[at_];
        return std::as_bytes(std::span(record_));
    }
    void pop() { ++at_; }

private:
    std::vector<std::uint64_t> times_;
    std::size_t at_ = 0;
    std::array<std::uint64_t, kRecordWords> record_{};
};

using Visits = std::vector<std::pair<std::uint64_t, std::size_t>>;

Visits merge(const std::vector<std::vector<std::uint64_t>>& times, std::uint64_t limit) {
    std::vector<std::unique_ptr<FakeRing>> rings;
    for (const auto& ring : times) {
        rings.push_back(std::make_unique<FakeRing>(ring));
    }
    TimeMerge<FakeRing> merged(rings);
    Visits visits;
    merged.pass_until(limit, [&](std::size_t ring_index, std::span<const std::byte> record) {
        visits.emplace_back(record_time(native_record(record), kCommonLayout).value(), ring_index);
    });
    return visits;
}

TEST(TimeMerge, TakesTheOldestOfAllRings) {
    EXPECT_EQ(merge({{1, 4, 5}, {2, 3, 6}, {}}, 100), (Visits{{1, 0}, {2, 1}, {3, 1}, {4, 0}, {5, 0}, {6, 1}}));
}

TEST(TimeMerge, LeavesWhatIsYoungerThanTheLimit) {
    EXPECT_EQ(merge({{1, 10}, {5, 11}}, 9), (Visits{{1, 0}, {5, 1}}));
    EXPECT_EQ(merge({{1, 10}, {5, 11}}, 0), Visits{});
}

TEST(TimeMerge, SortedRingsOfAnyNumberComeOutSorted) {
    std::mt19937_64 random{7};
    for (int round = 0; round < 200; ++round) {
        std::vector<std::vector<std::uint64_t>> times(random() % 9);
        std::vector<std::uint64_t> all;
        for (auto& ring : times) {
            ring.resize(random() % 50);
            for (auto& time : ring) {
                time = random() % 100;
                all.push_back(time);
            }
            std::sort(ring.begin(), ring.end());
        }
        const std::uint64_t limit = random() % 120;
        std::erase_if(all, [limit](std::uint64_t time) { return time > limit; });
        std::sort(all.begin(), all.end());
        std::vector<std::uint64_t> passed;
        for (const auto& [time, ring] : merge(times, limit)) {
            passed.push_back(time);
        }
        EXPECT_EQ(passed, all);
    }
}

TEST(TimeMerge, OfEqualTimesTheLowestRingComesFirst) {
    EXPECT_EQ(merge({{5}, {5}, {5}, {5}}, 100), (Visits{{5, 0}, {5, 1}, {5, 2}, {5, 3}}));
}

TEST(TimeMerge, LosesNothingOfAnUnsortedRing) { EXPECT_EQ(merge({{5, 3, 8}, {4}}, 100).size(), 4U); }

}  // namespace
}  // namespace perfleet
