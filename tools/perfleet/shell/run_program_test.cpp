#include "tools/perfleet/shell/run_program.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(RunProgram, GivesBothOutputsAndTheStatus) {
    const auto output = run_program({"sh", "-c", "echo out; echo err >&2; cat; exit 3"});
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_EQ(output->text, "out\nerr\n");
    EXPECT_EQ(output->status, 3);
    EXPECT_EQ(run_program({"no-such-program"}).error().code, ErrorCode::kNotFound);
}

// More than a pipe holds, without end.
TEST(RunProgram, EndsWhenItsOutputIsTooLarge) {
    const auto output = run_program({"yes"}, 200'000);
    ASSERT_TRUE(output.ok()) << output.error().message;
    EXPECT_EQ(output->text.size(), 200'001U);
    EXPECT_NE(output->status, 0);
}

}  // namespace
}  // namespace perfleet
