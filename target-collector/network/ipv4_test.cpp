#include "target-collector/network/ipv4.h"

#include <gtest/gtest.h>

namespace perfleet::ipv4_test {
namespace {

TEST(Ipv4, EndpointsAreAnAddressAndAPort) {
    const auto endpoint = parse_ipv4_endpoint("10.0.2.100:7411");
    ASSERT_TRUE(endpoint);
    EXPECT_EQ(endpoint->address.value, 0x0a00'0264U);
    EXPECT_EQ(endpoint->port, 7411);
    for (const char* wrong :
         {"", "10.0.2.100", "10.0.2.100:", "10.0.2.100:0", "10.0.2.100:65536", "10.0.2:7411", "10.0.2.256:7411",
          "10.0.2.1.1:7411", "host:7411", "10.0.2.100:7411 ", "10..2.100:7411", "10.0.2.100:99999999999999999999"}) {
        EXPECT_FALSE(parse_ipv4_endpoint(wrong)) << wrong;
    }
}

TEST(Ipv4, NetworksAreAnAddressAPrefixAndPerhapsARouter) {
    const auto alone = parse_ipv4_network("192.168.7.9/22");
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->address.value, 0xc0a8'0709U);
    EXPECT_EQ(alone->netmask.value, 0xffff'fc00U);
    EXPECT_EQ(alone->router.value, 0U);
    const auto routed = parse_ipv4_network("10.0.2.15/30,10.0.2.2");
    ASSERT_TRUE(routed);
    EXPECT_EQ(routed->netmask.value, 0xffff'fffcU);
    EXPECT_EQ(routed->router.value, 0x0a00'0202U);
    for (const char* wrong : {"", "10.0.2.15", "10.0.2.15/", "10.0.2.15/0", "10.0.2.15/31", "10.0.2.15/24,",
                              "10.0.2.15/24,10.0.2", "10.0.2.15/24,10.0.2.2,", "/24"}) {
        EXPECT_FALSE(parse_ipv4_network(wrong)) << wrong;
    }
}

}  // namespace
}  // namespace perfleet::ipv4_test
