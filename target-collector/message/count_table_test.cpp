#include "target-collector/message/count_table.h"
#include "schemas/vocabulary/batch_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace perfleet::count_table_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};

TEST(SessionCounts, CountsBySeriesAndName) {
    SessionCounts table;
    table.add(kSamples, CountName::kProduced, 3);
    table.add(kSamples, CountName::kProduced, 4);
    table.add(kSamples, CountName::kLostRingFull, 1);
    EXPECT_EQ(table.get(kSamples, CountName::kProduced), 7U);
    EXPECT_EQ(table.get(kSamples, CountName::kLostRingFull), 1U);
    EXPECT_EQ(table.get(kSamples, CountName::kLostQuota), 0U);
    EXPECT_EQ(table.get({Kind::kTask, kNoEvent}, CountName::kProduced), 0U);
    EXPECT_EQ(table.entries().size(), 2U);
}

TEST(SessionCounts, HasNoEntryForWhatWasCountedAsZero) {
    SessionCounts table;
    table.add(kSamples, CountName::kProduced, 0);
    EXPECT_TRUE(table.entries().empty());
}

TEST(SessionCounts, IsSortedWhateverTheOrderOfCounting) {
    std::mt19937 random(3);
    SessionCounts table;
    std::map<std::pair<Series, CountName>, std::uint64_t> model;
    for (int i = 0; i < 5'000; ++i) {
        const Series series{static_cast<Kind>(1 + random() % 10),
                            EventNumber{static_cast<std::uint16_t>(random() % 5)}};
        const auto name = static_cast<CountName>(1 + random() % 9);
        const std::uint64_t value = 1 + random() % 100;
        table.add(series, name, value);
        model[{series, name}] += value;
    }
    ASSERT_EQ(table.entries().size(), model.size());
    std::size_t index = 0;
    for (const auto& [key, value] : model) {
        EXPECT_EQ(table.entries()[index++], (CountEntry{key.first, key.second, value}));
    }
}

TEST(SessionCounts, CountsWhatDoesNotFitUnderTheTaskSeries) {
    SessionCounts table;
    std::uint64_t added = 0;
    for (std::uint16_t event = 0; event < 2'000; ++event) {
        table.add({Kind::kSample, EventNumber{event}}, CountName::kProduced, 2);
        table.add({Kind::kSample, EventNumber{event}}, CountName::kLostRingFull, 1);
        added += 3;
    }
    EXPECT_LE(table.entries().size(), limits::kCountsMax);
    EXPECT_GT(table.get({Kind::kTask, kNoEvent}, CountName::kProduced), 0U);
    EXPECT_GT(table.get({Kind::kTask, kNoEvent}, CountName::kLostRingFull), 0U);
    std::uint64_t sum = 0;
    for (const CountEntry& entry : table.entries()) {
        sum += entry.value;
    }
    EXPECT_EQ(sum, added);
    EXPECT_TRUE(std::is_sorted(table.entries().begin(), table.entries().end()));
}

}  // namespace
}  // namespace perfleet::count_table_test
