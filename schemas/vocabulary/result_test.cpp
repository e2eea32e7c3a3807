#include "schemas/vocabulary/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace perfleet {
namespace {

TEST(Result, HoldsAValueOrAFault) {
    const Checked<int> value = 7;
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(*value, 7);

    const Checked<int> fault = Fault{ErrorCode::kTruncated, 12, 3};
    ASSERT_FALSE(fault.ok());
    EXPECT_EQ(fault.error().code, ErrorCode::kTruncated);
    EXPECT_EQ(fault.error().where, 12U);
}

TEST(Result, MovesWhatCannotBeCopied) {
    Checked<std::unique_ptr<std::string>> result = std::make_unique<std::string>("owned");
    Checked<std::unique_ptr<std::string>> moved = std::move(result);
    const std::unique_ptr<std::string> taken = std::move(moved).value();
    EXPECT_EQ(*taken, "owned");
}

TEST(Result, AssignmentChangesBetweenValueAndFault) {
    Checked<std::string> result = std::string("value");
    result = Fault{ErrorCode::kFull};
    EXPECT_FALSE(result.ok());
    result = std::string("again");
    EXPECT_EQ(result.value(), "again");
}

Checked<int> first_digit(const std::string& text) {
    if (text.empty()) {
        return Fault{ErrorCode::kTruncated, 3};
    }
    return text.front() - '0';
}

Checked<std::unique_ptr<int>> sum_of_digits(const std::string& one, const std::string& other) {
    auto sum = std::make_unique<int>(PERFLEET_TRY(first_digit(one)));
    *sum += PERFLEET_TRY(first_digit(other));
    return sum;
}

TEST(Result, TryGivesTheValueOrReturnsTheFault) {
    EXPECT_EQ(*sum_of_digits("4", "5").value(), 9);
    const auto fault = sum_of_digits("4", "");
    ASSERT_FALSE(fault.ok());
    EXPECT_EQ(fault.error().code, ErrorCode::kTruncated);
    EXPECT_EQ(fault.error().where, 3U);
}

TEST(ResultDeathTest, ReadingTheValueOfAFaultIsABug) {
    const Checked<int> fault = Fault{ErrorCode::kInvalid};
    EXPECT_DEATH((void)fault.value(), "does not hold");
}

}  // namespace
}  // namespace perfleet
