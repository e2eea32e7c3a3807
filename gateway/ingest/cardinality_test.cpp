#include "gateway/ingest/cardinality.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet::cardinality_test {
namespace {

constexpr Cardinality::Limits kFew{
    .target_sessions_max = 3, .target_labels_max = 4, .targets_max = 5, .labels_max = 10};

SessionRecord session_of(std::uint64_t target, std::vector<std::pair<std::string, std::string>> labels = {}) {
    SessionRecord session;
    session.target = TargetId{target};
    session.labels = std::move(labels);
    return session;
}

TEST(Cardinality, ATargetWithoutEndOfSessionsIsStopped) {
    Cardinality cardinality{kFew};
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(cardinality.admit(session_of(1), 0).has_value());
    }
    const auto excess = cardinality.admit(session_of(1), 0);
    ASSERT_TRUE(excess.has_value());
    EXPECT_NE(excess->find("at most 3"), std::string::npos) << *excess;
    EXPECT_FALSE(cardinality.admit(session_of(2), 0).has_value());
    EXPECT_FALSE(cardinality.admit(session_of(1), intake_limits::kCardinalityWindowNs).has_value());
}

TEST(Cardinality, LabelsThatNobodyHadBeforeAreCounted) {
    Cardinality cardinality{kFew};
    EXPECT_FALSE(cardinality.admit(session_of(1, {{"a", "1"}, {"b", "1"}, {"c", "1"}}), 0).has_value());
    EXPECT_TRUE(cardinality.admit(session_of(1, {{"a", "2"}, {"b", "2"}}), 0).has_value());
    EXPECT_FALSE(cardinality.admit(session_of(1, {{"a", "1"}, {"b", "2"}}), 0).has_value());
    // Known ones cost nothing, for any owner.
    for (std::uint64_t target = 2; target < 5; ++target) {
        EXPECT_FALSE(cardinality.admit(session_of(target, {{"a", "1"}, {"b", "1"}, {"c", "1"}}), 0).has_value());
    }
    // Those of all targets together.
    EXPECT_FALSE(cardinality.admit(session_of(2, {{"d", "1"}, {"d", "2"}, {"d", "3"}}), 0).has_value());
    EXPECT_FALSE(cardinality.admit(session_of(3, {{"e", "1"}, {"e", "2"}, {"e", "3"}}), 0).has_value());
    EXPECT_TRUE(cardinality.admit(session_of(4, {{"f", "1"}}), 0).has_value());
}

TEST(Cardinality, NewTargetsAreCountedAndKnownOnesNot) {
    Cardinality cardinality{kFew};
    cardinality.know(session_of(100, {{"known", "label"}}));
    for (std::uint64_t target = 1; target <= 5; ++target) {
        EXPECT_FALSE(cardinality.admit(session_of(target), 0).has_value());
    }
    EXPECT_TRUE(cardinality.admit(session_of(6), 0).has_value());
    EXPECT_FALSE(cardinality.admit(session_of(5), 0).has_value());
    EXPECT_FALSE(cardinality.admit(session_of(100, {{"known", "label"}}), 0).has_value());
}

}  // namespace
}  // namespace perfleet::cardinality_test
