#include "target-collector/wire/delivery_orders.h"

#include <gtest/gtest.h>

#include <string>

#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::delivery_orders_test {
namespace {

using protocol::ControlCommand;
using protocol::ControlOutcome;
using Taken = DeliveryOrders::Taken;

constexpr SessionId kSession{1, 2};

Reply stop(std::uint64_t number, std::uint64_t incarnation = 1) {
    Reply reply;
    reply.sort = Reply::Sort::kControl;
    reply.session = kSession;
    reply.command = static_cast<std::uint16_t>(ControlCommand::kStop);
    reply.event = kNoEvent;
    reply.number = number;
    reply.incarnation = incarnation;
    return reply;
}

// What is said to this gateway; nothing when it is silence.
std::optional<SeenFrame> said(DeliveryOrders& orders, std::uint64_t incarnation = 1) {
    const auto frame = orders.due(kSession, incarnation);
    if (frame.empty()) {
        return std::nullopt;
    }
    const SeenFrame seen = see_frame(frame);
    orders.said();
    return seen;
}

TEST(DeliveryOrders, AreHandedOutOnceAndAnsweredWheneverTheyAreRepeated) {
    DeliveryOrders orders{Taken::kByUser};
    EXPECT_EQ(orders.waiting(), nullptr);
    EXPECT_TRUE(orders.take(stop(5)));
    ASSERT_NE(orders.waiting(), nullptr);
    EXPECT_EQ(*orders.waiting(), (ControlOrder{ControlCommand::kStop, kNoEvent, 0}));
    EXPECT_TRUE(orders.take(stop(5)));  // asked again before it is answered
    EXPECT_FALSE(said(orders).has_value());
    orders.answer({ControlOutcome::kFailed, "the knob is loose"});
    EXPECT_EQ(orders.waiting(), nullptr);
    for (int i = 0; i < 3; ++i) {
        const auto seen = said(orders);
        ASSERT_TRUE(seen.has_value());
        EXPECT_EQ(seen->session, kSession);
        EXPECT_EQ(seen->number, 5U);
        EXPECT_EQ(seen->outcome, static_cast<std::uint16_t>(ControlOutcome::kFailed));
        EXPECT_EQ(seen->reason, "the knob is loose");
        EXPECT_FALSE(said(orders).has_value());
        EXPECT_TRUE(orders.take(stop(5)));
        EXPECT_EQ(orders.waiting(), nullptr) << "applied once";
    }
}

TEST(DeliveryOrders, ALateOneIsLeftAlone) {
    DeliveryOrders orders{Taken::kByUser};
    EXPECT_TRUE(orders.take(stop(5)));
    orders.answer({ControlOutcome::kApplied});
    (void)said(orders);
    EXPECT_FALSE(orders.take(stop(4)));
    EXPECT_FALSE(orders.take(stop(0)));
    EXPECT_EQ(orders.waiting(), nullptr);
    EXPECT_FALSE(said(orders).has_value());
    EXPECT_TRUE(orders.take(stop(6)));
    EXPECT_NE(orders.waiting(), nullptr);
}

TEST(DeliveryOrders, AnotherGatewayCountsFromTheBeginningAndHearsNothingOfTheOneBefore) {
    DeliveryOrders orders{Taken::kByUser};
    EXPECT_TRUE(orders.take(stop(5, 1)));
    EXPECT_TRUE(orders.take(stop(1, 2)));  // while the first is worked on: it comes again
    orders.answer({ControlOutcome::kApplied});
    EXPECT_FALSE(said(orders, 2).has_value());
    EXPECT_TRUE(orders.take(stop(1, 2)));
    ASSERT_NE(orders.waiting(), nullptr);
    orders.answer({ControlOutcome::kApplied});
    const auto seen = said(orders, 2);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->number, 1U);
}

TEST(DeliveryOrders, WithoutAnybodyWhoTakesThemAreRefusedAtOnce) {
    for (const auto& [taken, outcome] : {std::pair{Taken::kNotAtAll, ControlOutcome::kUnsupported},
                                         std::pair{Taken::kEnded, ControlOutcome::kEnded}}) {
        DeliveryOrders orders{taken};
        EXPECT_TRUE(orders.take(stop(1)));
        EXPECT_EQ(orders.waiting(), nullptr);
        const auto seen = said(orders);
        ASSERT_TRUE(seen.has_value());
        EXPECT_EQ(seen->outcome, static_cast<std::uint16_t>(outcome));
        EXPECT_FALSE(seen->reason.empty());
    }
}

}  // namespace
}  // namespace perfleet::delivery_orders_test
