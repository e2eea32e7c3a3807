#include "target-collector/message/tally_book.h"
#include "schemas/vocabulary/batch_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace perfleet::tally_book_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};

TEST(TallyBook, CountsBySeriesAndName) {
    TallyBook book;
    book.add(kSamples, TallyName::kProduced, 3);
    book.add(kSamples, TallyName::kProduced, 4);
    book.add(kSamples, TallyName::kLostRingFull, 1);
    EXPECT_EQ(book.get(kSamples, TallyName::kProduced), 7U);
    EXPECT_EQ(book.get(kSamples, TallyName::kLostRingFull), 1U);
    EXPECT_EQ(book.get(kSamples, TallyName::kLostQuota), 0U);
    EXPECT_EQ(book.get({Kind::kTask, kNoEvent}, TallyName::kProduced), 0U);
    EXPECT_EQ(book.entries().size(), 2U);
}

TEST(TallyBook, HasNoEntryForWhatWasCountedAsZero) {
    TallyBook book;
    book.add(kSamples, TallyName::kProduced, 0);
    EXPECT_TRUE(book.entries().empty());
}

TEST(TallyBook, IsSortedWhateverTheOrderOfCounting) {
    std::mt19937 random(3);
    TallyBook book;
    std::map<std::pair<Series, TallyName>, std::uint64_t> model;
    for (int i = 0; i < 5'000; ++i) {
        const Series series{static_cast<Kind>(1 + random() % 10),
                            EventNumber{static_cast<std::uint16_t>(random() % 5)}};
        const auto name = static_cast<TallyName>(1 + random() % 9);
        const std::uint64_t value = 1 + random() % 100;
        book.add(series, name, value);
        model[{series, name}] += value;
    }
    ASSERT_EQ(book.entries().size(), model.size());
    std::size_t index = 0;
    for (const auto& [key, value] : model) {
        EXPECT_EQ(book.entries()[index++], (Tally{key.first, key.second, value}));
    }
}

TEST(TallyBook, CountsWhatDoesNotFitUnderTheTaskSeries) {
    TallyBook book;
    std::uint64_t added = 0;
    for (std::uint16_t event = 0; event < 2'000; ++event) {
        book.add({Kind::kSample, EventNumber{event}}, TallyName::kProduced, 2);
        book.add({Kind::kSample, EventNumber{event}}, TallyName::kLostRingFull, 1);
        added += 3;
    }
    EXPECT_LE(book.entries().size(), limits::kTalliesMax);
    EXPECT_GT(book.get({Kind::kTask, kNoEvent}, TallyName::kProduced), 0U);
    EXPECT_GT(book.get({Kind::kTask, kNoEvent}, TallyName::kLostRingFull), 0U);
    std::uint64_t sum = 0;
    for (const Tally& tally : book.entries()) {
        sum += tally.value;
    }
    EXPECT_EQ(sum, added);
    EXPECT_TRUE(std::is_sorted(book.entries().begin(), book.entries().end()));
}

}  // namespace
}  // namespace perfleet::tally_book_test
