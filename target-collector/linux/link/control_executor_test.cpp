#include "target-collector/linux/link/control_executor.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace perfleet {
namespace {

using protocol::ControlCommand;
using protocol::ControlOutcome;

constexpr ControlRequest kStop{ControlCommand::kStop, kNoEvent, 0};

bool is_readable(const ControlExecutor& executor) {
    pollfd fd{executor.fd(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
}

TEST(ControlExecutor, PassesAnOrderOverOnceAndItsAnswerBackOnce) {
    ControlExecutor executor;
    EXPECT_FALSE(executor.take().has_value());
    EXPECT_FALSE(is_readable(executor));
    executor.place(kStop);
    executor.place(kStop);  // each turn of the wire's
    EXPECT_TRUE(is_readable(executor));
    ASSERT_EQ(executor.take(), kStop);
    EXPECT_FALSE(is_readable(executor));
    executor.place(kStop);
    EXPECT_FALSE(executor.take().has_value());
    EXPECT_FALSE(executor.take_answer().has_value());
    executor.answer({ControlOutcome::kFailed, "why"});
    executor.place(kStop);  // before the answer was seen
    EXPECT_FALSE(executor.take().has_value());
    const auto answer = executor.take_answer();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->outcome, ControlOutcome::kFailed);
    EXPECT_EQ(answer->reason, "why");
    EXPECT_FALSE(executor.take_answer().has_value());
    executor.place({ControlCommand::kStart, kNoEvent, 0});
    EXPECT_EQ(executor.take()->command, ControlCommand::kStart);
}

TEST(ControlExecutor, IsAnsweredWhenNobodyMeasuresAnyMore) {
    ControlExecutor executor;
    executor.place(kStop);
    executor.close();
    EXPECT_EQ(executor.take_answer()->outcome, ControlOutcome::kEnded);
    executor.place(kStop);
    EXPECT_EQ(executor.take_answer()->outcome, ControlOutcome::kEnded);
    EXPECT_FALSE(executor.take().has_value());
}

}  // namespace
}  // namespace perfleet
