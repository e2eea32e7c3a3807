#include "schemas/vocabulary/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace perfleet {
namespace {

TEST(Error, OfErrnoNamesThePlaceAndTheReason) {
    const Error error = error_from_errno(EACCES, "opening /nowhere");
    EXPECT_EQ(error.code, ErrorCode::kPermission);
    EXPECT_EQ(error.message, "opening /nowhere: Permission denied");
    EXPECT_EQ(error_from_errno(ENOENT, "x").code, ErrorCode::kNotFound);
    EXPECT_EQ(error_from_errno(ENOSPC, "x").code, ErrorCode::kFull);
    EXPECT_EQ(error_from_errno(EIO, "x").code, ErrorCode::kIo);
}

TEST(Error, OfFaultKeepsCodeAndNumbers) {
    const Error error = error_from_fault(Fault{ErrorCode::kTruncated, 12, 7}, "column time");
    EXPECT_EQ(error.code, ErrorCode::kTruncated);
    EXPECT_EQ(error.message, "column time: truncated at 12 (value 7)");
}

}  // namespace
}  // namespace perfleet
