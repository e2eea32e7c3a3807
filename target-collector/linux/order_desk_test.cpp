#include "target-collector/linux/order_desk.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace perfleet {
namespace {

using protocol::ControlCommand;
using protocol::ControlOutcome;

constexpr ControlOrder kStop{ControlCommand::kStop, kNoEvent, 0};

bool is_readable(const OrderDesk& desk) {
    pollfd fd{desk.fd(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
}

TEST(OrderDesk, PassesAnOrderOverOnceAndItsAnswerBackOnce) {
    OrderDesk desk;
    EXPECT_FALSE(desk.take().has_value());
    EXPECT_FALSE(is_readable(desk));
    desk.place(kStop);
    desk.place(kStop);  // each turn of the wire's
    EXPECT_TRUE(is_readable(desk));
    ASSERT_EQ(desk.take(), kStop);
    EXPECT_FALSE(is_readable(desk));
    desk.place(kStop);
    EXPECT_FALSE(desk.take().has_value());
    EXPECT_FALSE(desk.take_answer().has_value());
    desk.answer({ControlOutcome::kFailed, "why"});
    desk.place(kStop);  // before the answer was seen
    EXPECT_FALSE(desk.take().has_value());
    const auto answer = desk.take_answer();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->outcome, ControlOutcome::kFailed);
    EXPECT_EQ(answer->reason, "why");
    EXPECT_FALSE(desk.take_answer().has_value());
    desk.place({ControlCommand::kStart, kNoEvent, 0});
    EXPECT_EQ(desk.take()->command, ControlCommand::kStart);
}

TEST(OrderDesk, IsAnsweredWhenNobodyMeasuresAnyMore) {
    OrderDesk desk;
    desk.place(kStop);
    desk.close();
    EXPECT_EQ(desk.take_answer()->outcome, ControlOutcome::kEnded);
    desk.place(kStop);
    EXPECT_EQ(desk.take_answer()->outcome, ControlOutcome::kEnded);
    EXPECT_FALSE(desk.take().has_value());
}

}  // namespace
}  // namespace perfleet
