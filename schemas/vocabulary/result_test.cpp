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

TEST(ResultDeathTest, ReadingTheValueOfAFaultIsABug) {
    const Checked<int> fault = Fault{ErrorCode::kInvalid};
    EXPECT_DEATH((void)fault.value(), "does not hold");
}

}  // namespace
}  // namespace perfleet
