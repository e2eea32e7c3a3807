#include "target-collector/linux/link/gateway_link.h"

#include <gtest/gtest.h>

#include "schemas/zmtp/listener.h"
#include "schemas/zmtp/new_key.h"
#include "schemas/zmtp/server.h"
#include "target-collector/wire/testing/held_address.h"

namespace perfleet {
namespace {

TEST(GatewayLink, SaysWhereItIsSentIfItDoesNotKnowThatGatewaysKey) {
    const HeldAddress first;
    const HeldAddress second;
    const SecretKey own = *make_secret_key("own");
    const SecretKey known = *make_secret_key("known");
    auto link = GatewayLink::connect({{first.endpoint()}, "", {{own, *decode_public_key(known.public_text)}}});
    ASSERT_TRUE(link.ok());
    EXPECT_EQ((*link)->trouble(), "");
    (*link)->go_to(second.endpoint(), make_secret_key("another")->public_text);
    EXPECT_EQ((*link)->endpoint(), first.endpoint());
    EXPECT_EQ((*link)->trouble(),
              "it sends this target to " + second.endpoint() + ", whose key --gateway-key doesn't name");
    (*link)->go_to(second.endpoint(), known.public_text);
    EXPECT_EQ((*link)->endpoint(), second.endpoint());
    EXPECT_EQ((*link)->trouble(), "");
}

TEST(GatewayLink, WithoutKeysDoesNotFollowToAGatewayThatHasThem) {
    const HeldAddress first;
    const HeldAddress second;
    auto link = GatewayLink::connect({{first.endpoint()}, "", {}});
    ASSERT_TRUE(link.ok());
    (*link)->go_to(second.endpoint(), make_secret_key("another")->public_text);
    EXPECT_EQ((*link)->endpoint(), first.endpoint());
    EXPECT_EQ((*link)->unknown(), second.endpoint());
    (*link)->go_to(second.endpoint(), "");
    EXPECT_EQ((*link)->endpoint(), second.endpoint());
    EXPECT_EQ((*link)->unknown(), "");
}

// A server that accepts everything and sends nothing, like a host that vanished.
TEST(GatewayLink, ConnectsAnewToTheOnlyGatewayIfItOwesAnAnswerForLong) {
    struct Mute : zmtp::Server::Sink {
        bool take(const zmtp::Server::Message& /*message*/) override { return true; }
    } sink;
    auto server = zmtp::Server::open({}, {}, sink, {});
    auto listener = zmtp::Listener::open("--listen", "tcp://127.0.0.1:*");
    ASSERT_TRUE(server.ok() && listener.ok());
    auto link = GatewayLink::connect({{listener->endpoint()}, "", {}});
    ASSERT_TRUE(link.ok());
    (*server)->listen_at(std::move(*listener), false);
    std::uint64_t now_ns = 1;
    const auto connects = [&](bool may_take_long) {
        bool is_new = false;
        for (int i = 0; i < (may_take_long ? 20'000 : 50) && !is_new; ++i) {
            (*server)->run_once(0);
            (*link)->wait(-1, 1'000'000);
            is_new = (*link)->reconnected();
            (*link)->note_time(now_ns);
        }
        return is_new;
    };
    EXPECT_TRUE(connects(true));
    now_ns += GatewayLink::kAloneTimeoutNs - 1;
    EXPECT_FALSE(connects(false));
    EXPECT_TRUE((*link)->is_connected());
    (*link)->note_time(++now_ns);
    EXPECT_FALSE((*link)->is_connected());
    EXPECT_TRUE(connects(true));
}

}  // namespace
}  // namespace perfleet
