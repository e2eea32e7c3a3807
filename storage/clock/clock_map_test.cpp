#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "storage/clock/clock_map.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kTicksMax = std::numeric_limits<std::uint64_t>::max();

TEST(ClockMap, IsLinearBetweenPointsAndNominalOutside) {
    const ClockMap clock{1'000, {{Ticks{1'000}, UtcNs{5'000}, 0}, {Ticks{2'000}, UtcNs{9'000}, 0}}};
    EXPECT_EQ(clock.utc_of(Ticks{1'000}), UtcNs{5'000});
    EXPECT_EQ(clock.utc_of(Ticks{1'500}), UtcNs{7'000});
    EXPECT_EQ(clock.utc_of(Ticks{2'000}), UtcNs{9'000});
    EXPECT_EQ(clock.utc_of(Ticks{2'001}), UtcNs{1'009'000});
    EXPECT_EQ(clock.utc_of(Ticks{999}), UtcNs{-995'000});
}

TEST(ClockMap, TicksOfIsTheFirstTickThatIsNotBefore) {
    const ClockMap clock{1'000'000'000, {{Ticks{0}, UtcNs{1'000}, 0}, {Ticks{10}, UtcNs{1'100}, 0}}};
    EXPECT_EQ(clock.ticks_of(UtcNs{1'000}), Ticks{0});
    EXPECT_EQ(clock.ticks_of(UtcNs{1'001}), Ticks{1});
    EXPECT_EQ(clock.ticks_of(UtcNs{1'010}), Ticks{1});
    EXPECT_EQ(clock.ticks_of(UtcNs{1'011}), Ticks{2});
    EXPECT_EQ(clock.ticks_of(UtcNs{0}), Ticks{0});
    EXPECT_EQ(clock.ticks_of(UtcNs{1'105}), Ticks{15});
}

TEST(ClockMap, ExtremesSaturate) {
    const ClockMap slow{1, {{Ticks{0}, UtcNs{0}, 0}}};
    EXPECT_EQ(slow.utc_of(Ticks{kTicksMax}), UtcNs{std::numeric_limits<std::int64_t>::max()});
    const ClockMap late{1, {{Ticks{kTicksMax}, UtcNs{0}, 0}}};
    EXPECT_EQ(late.utc_of(Ticks{0}), UtcNs{std::numeric_limits<std::int64_t>::min()});
    const ClockMap steep{1'000,
                         {{Ticks{0}, UtcNs{3'000'000'000'000'000'000}, 0},
                          {Ticks{kTicksMax}, UtcNs{std::numeric_limits<std::int64_t>::max()}, 0}}};
    EXPECT_EQ(steep.utc_of(Ticks{kTicksMax}), UtcNs{std::numeric_limits<std::int64_t>::max()});
    EXPECT_EQ(steep.utc_of(Ticks{kTicksMax / 2 + 1}), UtcNs{6'111'686'018'427'387'903});
    EXPECT_EQ(ClockMap(0, {}).utc_of(Ticks{7}), UtcNs{7});
}

TEST(ClockMap, OrderOfPointsDoesNotMatterAndTheSurestCounts) {
    const ClockMap clock{1'000, {{Ticks{20}, UtcNs{200}, 5}, {Ticks{10}, UtcNs{999}, 50}, {Ticks{10}, UtcNs{100}, 1}}};
    ASSERT_EQ(clock.points().size(), 2U);
    EXPECT_EQ(clock.utc_of(Ticks{10}), UtcNs{100});
    EXPECT_EQ(clock.utc_of(Ticks{15}), UtcNs{150});
}

TEST(ClockMap, OfPointsAtOneTickTheSurestCountsThenTheEarliest) {
    const ClockMap surest{1'000, {{Ticks{10}, UtcNs{100}, 50}, {Ticks{10}, UtcNs{999}, 1}}};
    EXPECT_EQ(surest.utc_of(Ticks{10}), UtcNs{999});
    const ClockMap earliest{1'000, {{Ticks{10}, UtcNs{999}, 1}, {Ticks{10}, UtcNs{100}, 1}}};
    EXPECT_EQ(earliest.utc_of(Ticks{10}), UtcNs{100});
}

TEST(ClockMap, RoundsDownBeforeTheFirstPoint) {
    const ClockMap thirds{3, {{Ticks{10}, UtcNs{0}, 0}}};
    EXPECT_EQ(thirds.utc_of(Ticks{9}), UtcNs{-333'333'334});
    EXPECT_EQ(thirds.utc_of(Ticks{8}), UtcNs{-666'666'667});
    EXPECT_EQ(thirds.utc_of(Ticks{7}), UtcNs{-1'000'000'000});
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kToday = 1'700'000'000 * kSecond;

Ticks second(std::uint64_t count) { return Ticks{count * static_cast<std::uint64_t>(kSecond)}; }

TEST(ClockMap, PointsOfAClockThatKnewNoTimeDontCount) {
    const ClockPoint unset{second(10), UtcNs{5 * kSecond}, 0};
    const ClockPoint set{second(40), UtcNs{kToday}, 0};
    const ClockMap clock{1'000'000'000, {unset, {second(20), UtcNs{15 * kSecond}, 0}, set}};
    EXPECT_EQ(clock.points().size(), 1U);
    EXPECT_EQ(clock.utc_of(second(10)), UtcNs{kToday - 30 * kSecond});
    EXPECT_EQ(clock.utc_of(second(25)), UtcNs{kToday - 15 * kSecond});
    EXPECT_EQ(clock.ticks_of(UtcNs{kToday - 15 * kSecond}), second(25));
    EXPECT_EQ(ClockMap(1'000'000'000, {unset}).utc_of(second(11)), UtcNs{6 * kSecond}) << "nothing else is known";
}

TEST(ClockMap, PointsFromBeforeTheClockWasSetBackDontCount) {
    const ClockMap clock{1'000'000'000,
                         {{second(10), UtcNs{kToday + 7'200 * kSecond}, 0},
                          {second(70), UtcNs{kToday + 7'260 * kSecond}, 0},
                          {second(80), UtcNs{kToday + 70 * kSecond}, 0}}};
    EXPECT_EQ(clock.utc_of(second(10)), UtcNs{kToday});
    EXPECT_EQ(clock.utc_of(second(70)), UtcNs{kToday + 60 * kSecond});
    EXPECT_EQ(clock.utc_of(second(90)), UtcNs{kToday + 80 * kSecond});
}

TEST(ClockMap, WhereUtcRanOnByItselfTicksLeadUpToThePointBehind) {
    // A suspend of an hour, seen at once; what was between it and the point before is of the time before.
    const ClockMap clock{1'000'000'000,
                         {{second(10), UtcNs{kToday}, 0}, {second(40), UtcNs{kToday + 3'630 * kSecond}, 0}}};
    EXPECT_EQ(clock.utc_of(second(39)), UtcNs{kToday + 29 * kSecond});
    EXPECT_EQ(clock.utc_of(second(40)), UtcNs{kToday + 3'630 * kSecond});
    EXPECT_EQ(clock.ticks_of(UtcNs{kToday + 29 * kSecond}), second(39));
    EXPECT_EQ(clock.ticks_of(UtcNs{kToday + 1'800 * kSecond}), second(40)) << "nothing happened then";
    // A clock that runs at another rate than it states isn't such a clock.
    const ClockMap slow{1'000'000'000, {{second(0), UtcNs{kToday}, 0}, {second(40), UtcNs{kToday + 80 * kSecond}, 0}}};
    EXPECT_EQ(slow.utc_of(second(20)), UtcNs{kToday + 40 * kSecond});
}

TEST(ClockMap, NeverDecreasesWhateverThePoints) {
    std::mt19937_64 random{7};
    for (int round = 0; round < 50; ++round) {
        std::vector<ClockPoint> points;
        for (int i = 0; i < 8; ++i) {
            points.push_back({Ticks{random()}, UtcNs{static_cast<std::int64_t>(random())}, random() % 100});
        }
        const ClockMap clock{random() % 4'000'000'000, points};
        std::vector<std::uint64_t> ticks{0, kTicksMax};
        for (const ClockPoint& point : points) {
            ticks.insert(ticks.end(), {point.ticks.value - 1, point.ticks.value, point.ticks.value + 1, random()});
        }
        std::sort(ticks.begin(), ticks.end());
        for (std::size_t i = 1; i < ticks.size(); ++i) {
            EXPECT_LE(clock.utc_of(Ticks{ticks[i - 1]}), clock.utc_of(Ticks{ticks[i]}));
        }
        for (const std::uint64_t tick : ticks) {
            const Ticks first = clock.ticks_of(clock.utc_of(Ticks{tick}));
            EXPECT_LE(first, Ticks{tick});
            EXPECT_EQ(clock.utc_of(first), clock.utc_of(Ticks{tick}));
        }
    }
}

// By halving, from what utc_of() says alone.
Ticks first_tick_by_search(const ClockMap& clock, UtcNs utc) {
    std::uint64_t low = 0;
    std::uint64_t high = kTicksMax;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        (clock.utc_of(Ticks{middle}) < utc ? low : high) = clock.utc_of(Ticks{middle}) < utc ? middle + 1 : middle;
    }
    return Ticks{low};
}

TEST(ClockMap, TicksOfIsWhatASearchFindsAlsoAtTheEndsAndWherePointsAgree) {
    std::mt19937_64 random{11};
    constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round < 2'000; ++round) {
        const bool is_narrow = round % 2 == 0;  // points near each other, several of one time
        const auto any_utc = [&] {
            return UtcNs{is_narrow        ? static_cast<std::int64_t>(random() % 200)
                         : round % 4 == 1 ? kToday + static_cast<std::int64_t>(random() % 500) * kSecond
                                          : static_cast<std::int64_t>(random())};
        };
        std::vector<ClockPoint> points(random() % 6);
        for (ClockPoint& point : points) {
            point = {Ticks{is_narrow ? random() % 100 : round % 4 == 1 ? random() % 400'000 : random()}, any_utc(), 0};
        }
        const std::uint64_t any_rate = is_narrow ? random() % 3'000'000'000 : random();
        const ClockMap clock{round % 4 == 1 ? 1'000 : any_rate, points};
        std::vector<UtcNs> times{UtcNs{kMin}, UtcNs{kMin + 1}, UtcNs{0}, UtcNs{kMax - 1}, UtcNs{kMax}, any_utc()};
        for (const ClockPoint& point : clock.points()) {
            for (const std::int64_t step : {-1, 0, 1}) {
                if (point.utc_ns.value != (step < 0 ? kMin : kMax)) {
                    times.push_back(UtcNs{point.utc_ns.value + step});
                }
            }
        }
        for (const UtcNs utc : times) {
            ASSERT_EQ(clock.ticks_of(utc), first_tick_by_search(clock, utc)) << round << ' ' << utc.value;
        }
    }
}

}  // namespace
}  // namespace perfleet
