#include "target-collector/wire/delivery_requests.h"

#include <gtest/gtest.h>

#include <string>

#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::delivery_requests_test {
namespace {

using protocol::ControlCommand;
using protocol::ControlOutcome;
using Taken = DeliveryRequests::Taken;

constexpr SessionId kSession{1, 2};

Reply stop(std::uint64_t number, std::uint64_t incarnation = 1) {
    Reply reply;
    reply.type = Reply::Type::kControl;
    reply.session = kSession;
    reply.command = static_cast<std::uint16_t>(ControlCommand::kStop);
    reply.event = kNoEvent;
    reply.number = number;
    reply.incarnation = incarnation;
    return reply;
}

// What is said to this gateway; nothing when it is silence.
std::optional<SeenFrame> said(DeliveryRequests& requests, std::uint64_t incarnation = 1) {
    const auto frame = requests.due(kSession, incarnation);
    if (frame.empty()) {
        return std::nullopt;
    }
    const SeenFrame seen = see_frame(frame);
    requests.said();
    return seen;
}

TEST(DeliveryRequests, AreHandedOutOnceAndAnsweredWheneverTheyAreRepeated) {
    DeliveryRequests requests{Taken::kByUser};
    EXPECT_EQ(requests.waiting(), nullptr);
    EXPECT_TRUE(requests.take(stop(5)));
    ASSERT_NE(requests.waiting(), nullptr);
    EXPECT_EQ(*requests.waiting(), (ControlRequest{ControlCommand::kStop, kNoEvent, 0}));
    EXPECT_TRUE(requests.take(stop(5)));  // asked again before it is answered
    EXPECT_FALSE(said(requests).has_value());
    requests.answer({ControlOutcome::kFailed, "the knob is loose"});
    EXPECT_EQ(requests.waiting(), nullptr);
    for (int i = 0; i < 3; ++i) {
        const auto seen = said(requests);
        ASSERT_TRUE(seen.has_value());
        EXPECT_EQ(seen->session, kSession);
        EXPECT_EQ(seen->number, 5U);
        EXPECT_EQ(seen->outcome, static_cast<std::uint16_t>(ControlOutcome::kFailed));
        EXPECT_EQ(seen->reason, "the knob is loose");
        EXPECT_FALSE(said(requests).has_value());
        EXPECT_TRUE(requests.take(stop(5)));
        EXPECT_EQ(requests.waiting(), nullptr) << "applied once";
    }
}

TEST(DeliveryRequests, ALateOneIsLeftAlone) {
    DeliveryRequests requests{Taken::kByUser};
    EXPECT_TRUE(requests.take(stop(5)));
    requests.answer({ControlOutcome::kApplied});
    (void)said(requests);
    EXPECT_FALSE(requests.take(stop(4)));
    EXPECT_FALSE(requests.take(stop(0)));
    EXPECT_EQ(requests.waiting(), nullptr);
    EXPECT_FALSE(said(requests).has_value());
    EXPECT_TRUE(requests.take(stop(6)));
    EXPECT_NE(requests.waiting(), nullptr);
}

TEST(DeliveryRequests, AnotherGatewayCountsFromTheBeginningAndHearsNothingOfTheOneBefore) {
    DeliveryRequests requests{Taken::kByUser};
    EXPECT_TRUE(requests.take(stop(5, 1)));
    EXPECT_TRUE(requests.take(stop(1, 2)));  // while the first is worked on: it comes again
    requests.answer({ControlOutcome::kApplied});
    EXPECT_FALSE(said(requests, 2).has_value());
    EXPECT_TRUE(requests.take(stop(1, 2)));
    ASSERT_NE(requests.waiting(), nullptr);
    requests.answer({ControlOutcome::kApplied});
    const auto seen = said(requests, 2);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->number, 1U);
}

TEST(DeliveryRequests, WithoutAnybodyWhoTakesThemAreRefusedAtOnce) {
    for (const auto& [taken, outcome] : {std::pair{Taken::kNotAtAll, ControlOutcome::kUnsupported},
                                         std::pair{Taken::kEnded, ControlOutcome::kEnded}}) {
        DeliveryRequests requests{taken};
        EXPECT_TRUE(requests.take(stop(1)));
        EXPECT_EQ(requests.waiting(), nullptr);
        const auto seen = said(requests);
        ASSERT_TRUE(seen.has_value());
        EXPECT_EQ(seen->outcome, static_cast<std::uint16_t>(outcome));
        EXPECT_FALSE(seen->reason.empty());
    }
}

}  // namespace
}  // namespace perfleet::delivery_requests_test
