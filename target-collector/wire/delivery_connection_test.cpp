// Delivery over connections that come late, break, and are made again.
#include <gtest/gtest.h>

#include "schemas/wire/protocol.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/socket_driver.h"
#include "target-collector/wire/testing/held_address.h"
#include "target-collector/wire/testing/scripted_gateway.h"

namespace perfleet {
namespace {

using wire_layout::MessageTag;

class DeliveryConnectionTest : public ScriptedDelivery {
protected:
    HeldAddress address_;
};

TEST_F(DeliveryConnectionTest, WaitsForAGatewayThatComesLater) {
    connect(address_.endpoint());
    seal();
    for (int i = 0; i < 20; ++i) {
        delivery_->step(now_ns_);
        now_ns_ += kSecond;
    }
    EXPECT_FALSE(delivery_->status().welcomed);
    EXPECT_EQ(delivery_->status().last_sealed, Seq{1});
    gateway_.bind(address_.endpoint());
    expect(MessageTag::kHello);  // one, not twenty: nothing is queued for a peer that isn't there
    gateway_.say(make_welcome({kSession}));
    expect_batch(1);
}

// Another gateway of the list, or one that was started again, may take it at once.
TEST_F(DeliveryConnectionTest, ASessionThatIsOneTooManyForNowAsksAgainOverANewConnection) {
    gateway_.bind(address_.endpoint());
    connect(address_.endpoint());
    expect(MessageTag::kHello);
    gateway_.say(make_refused(kSession, Seq{0}, static_cast<std::uint16_t>(protocol::RefusedReason::kQuota), "later"));
    run_until([&] { return delivery_->status().is_deferred; });
    gateway_.unbind();
    gateway_.bind(address_.endpoint());
    expect(MessageTag::kHello);
    gateway_.say(make_welcome({kSession}));
    run_until([&] { return delivery_->status().welcomed; });
}

TEST_F(DeliveryConnectionTest, ReconnectsAndSendsAgainWhatTheGatewayDoesNotHave) {
    gateway_.bind(address_.endpoint());
    connect(address_.endpoint());
    for (int i = 0; i < 3; ++i) {
        seal();
    }
    welcome();
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(seq);
    }
    ack({{}, 1, Seq{1}});
    run_until_prefix(1);
    gateway_.unbind();
    gateway_.bind(address_.endpoint());
    const SeenFrame hello = expect(MessageTag::kHello);
    EXPECT_EQ(hello.oldest_retained, Seq{2});
    gateway_.say(make_welcome({kSession, 2, Seq{2}}));
    expect_batch(3);
    EXPECT_EQ(delivery_->status().prefix, Seq{2});
}

TEST(SocketDriver, NamesAnEndpointThatItCannotUnderstand) {
    for (const char* endpoint : {"nonsense", "tcp://", "tcp://host:port", "inproc://alone"}) {
        const auto driver = SocketDriver::connect(endpoint);
        ASSERT_FALSE(driver.ok()) << endpoint;
        EXPECT_EQ(driver.error().code, ErrorCode::kUsage);
        EXPECT_NE(driver.error().message.find(endpoint), std::string::npos) << driver.error().message;
    }
}

}  // namespace
}  // namespace perfleet
