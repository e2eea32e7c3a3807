#include "gateway/counts/gateway_counts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace perfleet {
namespace {

template <class Reason>
std::set<std::string> names_of() {
    std::set<std::string> names;
    for (std::size_t i = 0; i < kReasonCount<Reason>; ++i) {
        const auto name = std::string{reason_name(static_cast<Reason>(i))};
        EXPECT_FALSE(name.empty()) << i;
        names.insert(name);
    }
    return names;
}

TEST(GatewayCounts, EachReasonHasANameOfItsOwn) {
    EXPECT_EQ(names_of<SessionRefusal>().size(), kReasonCount<SessionRefusal>);
    EXPECT_EQ(names_of<BatchRefusal>().size(), kReasonCount<BatchRefusal>);
    EXPECT_EQ(names_of<BatchIgnored>().size(), kReasonCount<BatchIgnored>);
    EXPECT_EQ(names_of<MessageMalformed>().size(), kReasonCount<MessageMalformed>);
    EXPECT_EQ(names_of<PeerCut>().size(), kReasonCount<PeerCut>);
    EXPECT_EQ(names_of<RequestOutcome>().size(), kReasonCount<RequestOutcome>);
    EXPECT_EQ(reason_name(BatchRefusal::kConflict), "conflict");
    EXPECT_EQ(reason_name(PeerCut::kRefused), "refused");
}

}  // namespace
}  // namespace perfleet
