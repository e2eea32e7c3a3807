#include "schemas/host/endpoint.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet {
namespace {

TEST(PeerEndpoint, AcceptsWhatCanBeConnectedTo) {
    for (const char* endpoint : {"tcp://127.0.0.1:7411", "tcp://gateway.example-1.org:1", "tcp://[::1]:65535",
                                 "tcp://[fe80::1%eth0]:7411", "ipc:///run/perfleet/gateway", "ipc://@abstract"}) {
        EXPECT_TRUE(check_peer_endpoint("--gateway", endpoint).ok()) << endpoint;
    }
}

// libzmq takes 85947 for 20411 and 7411x for 7411, and waits forever at the others.
TEST(PeerEndpoint, RefusesWhatLibzmqMakesSomethingElseOf) {
    for (const char* endpoint : {"tcp://127.0.0.1:85947",
                                 "tcp://127.0.0.1:7411x",
                                 "tcp://127.0.0.1:0",
                                 "tcp://127.0.0.1:000",
                                 "tcp://127.0.0.1:*",
                                 "tcp://127.0.0.1:",
                                 "tcp://127.0.0.1",
                                 "tcp://:7411",
                                 "tcp://*:7411",
                                 "tcp://::1:7411",
                                 "tcp://[::1:7411",
                                 "tcp://[::1]x:7411",
                                 "tcp://[]:7411",
                                 "tcp://[host]:7411",
                                 "tcp://127.0.0.1:7411;127.0.0.1:1",
                                 "tcp://a b:7411",
                                 "tcp://a/b:7411",
                                 "tcp://",
                                 "ipc://",
                                 "inproc://gateway",
                                 "udp://127.0.0.1:7411",
                                 "--exit-wait",
                                 ""}) {
        const auto checked = check_peer_endpoint("--gateway", endpoint);
        ASSERT_FALSE(checked.ok()) << endpoint;
        EXPECT_EQ(checked.error().code, ErrorCode::kUsage);
        EXPECT_TRUE(checked.error().message.starts_with("--gateway " + std::string{endpoint} + ": "))
            << checked.error().message;
    }
    EXPECT_FALSE(check_peer_endpoint("--gateway", "ipc://" + std::string(108, 'p')).ok());
}

}  // namespace
}  // namespace perfleet
