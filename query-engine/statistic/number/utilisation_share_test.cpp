#include "query-engine/statistic/number/utilisation_share.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

using Cycles = std::vector<std::uint64_t>;

TEST(UtilisationShare, IsOfTheTotal) {
    const UtilisationShares shares = utilisation_shares(Cycles{300, 600}, 1'000);
    EXPECT_NEAR(static_cast<double>(*shares.threads[0] * 100), 30.00, 1e-12);
    EXPECT_NEAR(static_cast<double>(*shares.threads[1] * 100), 60.00, 1e-12);
    EXPECT_NEAR(static_cast<double>(*shares.rest * 100), 10.00, 1e-12);
    EXPECT_FALSE(shares.adds_up);
    EXPECT_TRUE(utilisation_shares(Cycles{250, 150}, 400).adds_up);
}

TEST(UtilisationShare, FaultsAreSaidAndNeverSummed) {
    const UtilisationShares underflow = utilisation_shares(Cycles{300, ~0ULL - 5}, 1'000);
    EXPECT_TRUE(underflow.has_underflow);
    EXPECT_TRUE(underflow.threads[0]);
    EXPECT_FALSE(underflow.threads[1]);
    EXPECT_FALSE(underflow.rest);
    const UtilisationShares too_much = utilisation_shares(Cycles{700, 600}, 1'000);
    EXPECT_TRUE(too_much.has_too_much);
    EXPECT_FALSE(too_much.rest);
    EXPECT_FALSE(utilisation_shares(Cycles{0}, 0).threads[0]);
}

}  // namespace
}  // namespace perfleet
