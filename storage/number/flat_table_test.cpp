#include "storage/number/flat_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace perfleet {
namespace {

TEST(CalleeTable, NumbersEachCallerAndNameOnce) {
    CalleeTable table;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> model;
    std::mt19937_64 random{5};
    std::uint32_t count = 0;
    for (int i = 0; i < 50'000; ++i) {
        // Names from 0; some callers have one callee, some hundreds.
        const auto caller = static_cast<std::uint32_t>(random() % (count + 1));
        const auto name = static_cast<std::uint32_t>(random() % (caller % 7 == 0 ? 500 : 2));
        const auto [known, is_new] = model.try_emplace({caller, name}, count + 1);
        ASSERT_EQ(table.find(caller, name), is_new ? 0 : known->second);
        std::uint32_t& number = table.number_of(caller, name);
        ASSERT_EQ(number, is_new ? 0 : known->second);
        if (is_new) {
            number = ++count;
        }
    }
    EXPECT_GT(count, 1'000U);
    for (const auto& [place, number] : model) {
        EXPECT_EQ(table.find(place.first, place.second), number);
    }
    EXPECT_EQ(table.find(count + 1'000, 0), 0U);
}

}  // namespace
}  // namespace perfleet
