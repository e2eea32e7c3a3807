#include "target-collector/source/linux/ring_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace perfleet {
namespace {

using Times = std::deque<std::uint64_t>;
using Visits = std::vector<std::pair<std::uint64_t, std::size_t>>;

// (time, ring index) in the order of the visits, and what stays in the rings.
Visits visits_of(const std::vector<Times>& times, std::uint64_t limit, std::vector<Times>* left = nullptr) {
    std::vector<std::unique_ptr<Times>> rings;
    for (const Times& ring : times) {
        rings.push_back(std::make_unique<Times>(ring));
    }
    Visits visits;
    visit_by_time<Times>(
        rings, limit, [](const Times& ring) { return ring.empty() ? std::nullopt : std::optional{ring.front()}; },
        [&](std::size_t ring_index) {
            visits.emplace_back(rings[ring_index]->front(), ring_index);
            rings[ring_index]->pop_front();
        });
    for (const auto& ring : rings) {
        if (left != nullptr) {
            left->push_back(*ring);
        }
    }
    return visits;
}

TEST(RingOrder, VisitsTheOldestOfAllRings) {
    EXPECT_EQ(visits_of({{1, 4, 5}, {2, 3, 6}, {}}, 100), (Visits{{1, 0}, {2, 1}, {3, 1}, {4, 0}, {5, 0}, {6, 1}}));
}

TEST(RingOrder, OfEqualTimesTheFirstRingComesFirst) {
    EXPECT_EQ(visits_of({{7, 7}, {7}, {6, 7}}, 100), (Visits{{6, 2}, {7, 0}, {7, 0}, {7, 1}, {7, 2}}));
}

TEST(RingOrder, LeavesWhatIsYoungerThanTheLimit) {
    std::vector<Times> left;
    EXPECT_EQ(visits_of({{1, 10, 2}, {5, 11}}, 9, &left), (Visits{{1, 0}, {5, 1}}));
    EXPECT_EQ(left, (std::vector<Times>{{10, 2}, {11}}));
    EXPECT_EQ(visits_of({{1, 10}, {5, 11}}, 0), Visits{});
}

TEST(RingOrder, ARecordOutOfOrderFollowsTheOneBeforeIt) {
    EXPECT_EQ(visits_of({{4, 1, 9}, {3, 5}}, 100), (Visits{{3, 1}, {4, 0}, {1, 0}, {5, 1}, {9, 0}}));
}

TEST(RingOrder, SortedRingsOfAnyNumberComeOutSorted) {
    std::mt19937_64 random{7};
    for (int round = 0; round < 200; ++round) {
        std::vector<Times> times(random() % 9);
        Visits all;
        const std::uint64_t limit = random() % 120;
        for (std::size_t ring_index = 0; ring_index < times.size(); ++ring_index) {
            Times& ring = times[ring_index];
            ring.resize(random() % 50);
            for (std::uint64_t& time : ring) {
                time = random() % 100;
                if (time <= limit) {
                    all.emplace_back(time, ring_index);
                }
            }
            std::sort(ring.begin(), ring.end());
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(visits_of(times, limit), all);
    }
}

}  // namespace
}  // namespace perfleet
