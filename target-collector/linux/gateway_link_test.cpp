#include "target-collector/linux/gateway_link.h"

#include <gtest/gtest.h>

#include "schemas/zmtp/new_key.h"
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

}  // namespace
}  // namespace perfleet
