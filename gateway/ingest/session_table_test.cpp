#include "gateway/ingest/session_table.h"

#include <gtest/gtest.h>

#include "storage/store/testing/sample_batches.h"

namespace perfleet::session_table_test {
namespace {

SessionPtr session_of(std::uint64_t number, std::size_t size_bytes) {
    auto session = std::make_shared<Session>();
    session->record = sample_session(TargetId{1}, SessionId{1, number});
    session->size_bytes = size_bytes;
    return session;
}

class SessionTableTest : public testing::Test {
protected:
    CreditAccounts credit_{1 << 20};
    SessionTable table_{{3, 1'000}, credit_};
};

TEST_F(SessionTableTest, ForgetsTheOldestWhereItsSizeWouldBeExceeded) {
    const auto first = session_of(1, 400);
    const auto second = session_of(2, 300);
    EXPECT_TRUE(table_.insert(first));
    EXPECT_TRUE(table_.insert(second));
    EXPECT_TRUE(table_.insert(session_of(3, 300))) << "just fits";
    EXPECT_EQ(table_.session_count(), 3U);
    EXPECT_EQ(table_.size_bytes(), 1'000U);
    table_.touch(first);
    EXPECT_TRUE(table_.insert(session_of(4, 1))) << "one too many";
    EXPECT_EQ(table_.find(first->record.session), first);
    EXPECT_EQ(table_.find(second->record.session), nullptr);
    EXPECT_EQ(table_.size_bytes(), 701U);
    EXPECT_TRUE(table_.insert(session_of(5, 5'000))) << "one alone may be larger";
    EXPECT_EQ(table_.session_count(), 1U);
}

TEST_F(SessionTableTest, KeepsWhatIsBeingStored) {
    const auto first = session_of(1, 600);
    first->is_touched = true;
    EXPECT_TRUE(table_.insert(first));
    EXPECT_FALSE(table_.insert(session_of(2, 600)));
    EXPECT_TRUE(table_.insert(session_of(3, 400)));
    EXPECT_FALSE(table_.insert(session_of(4, 401))) << "though the other one was forgotten";
    EXPECT_EQ(table_.session_count(), 1U);
}

// Labels that an enrolment gives may change while a session goes on; those that a collector says may not.
TEST_F(SessionTableTest, ASessionIsTheSameWithOtherEnrolledLabelsOnly) {
    using Identity = SessionTable::Identity;
    using Labels = SessionTable::Labels;
    const auto known = session_of(1, 1);
    const auto expect_known = [&](const char* where) {
        SessionRecord record = known->record;
        EXPECT_EQ(table_.identity_of(record), Identity::kSame) << where;
        record.labels.emplace_back("site", "lab");
        EXPECT_EQ(table_.identity_of(record, Labels::kCompared), Identity::kOtherRecord) << where;
        EXPECT_EQ(table_.identity_of(record, Labels::kEnrolled), Identity::kSame) << where;
        record.events.pop_back();
        EXPECT_EQ(table_.identity_of(record, Labels::kEnrolled), Identity::kOtherRecord) << where;
        record.target = TargetId{2};
        EXPECT_EQ(table_.identity_of(record, Labels::kEnrolled), Identity::kOtherTarget) << where;
    };
    EXPECT_EQ(table_.identity_of(known->record), Identity::kFree);
    EXPECT_TRUE(table_.insert(known));
    expect_known("in the table");
    table_.remember(known->record);
    EXPECT_TRUE(table_.insert(session_of(2, 5'000)));
    ASSERT_EQ(table_.find(known->record.session), nullptr);
    expect_known("in the store");
}

TEST_F(SessionTableTest, OnePeerSpeaksForASessionAndForNoOther) {
    const auto first = session_of(1, 1);
    const auto second = session_of(2, 1);
    EXPECT_TRUE(table_.insert(first));
    EXPECT_TRUE(table_.insert(second));
    table_.attach(first, "a");
    table_.attach(first, "a");
    table_.attach(second, "b");
    EXPECT_EQ(table_.peer_count(), 2U);
    table_.attach(first, "b");
    EXPECT_EQ(table_.find_peer("a"), nullptr);
    EXPECT_EQ(table_.find_peer("b"), first);
    EXPECT_EQ(second->routing_id, "");
    EXPECT_EQ(table_.peer_count(), 1U);
    table_.detach("b");
    EXPECT_EQ(first->routing_id, "");
    EXPECT_EQ(table_.peer_count(), 0U);
}

}  // namespace
}  // namespace perfleet::session_table_test
