#include "gateway/ingest/session_table.h"

#include <gtest/gtest.h>

#include "storage/store/memory_store.h"
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
    void define(const Session& session) {
        const SessionRecord& record = session.record;
        const Partition partition = partition_of(record.target, BucketNumber{1}, 0, store_->shards());
        EXPECT_TRUE(store_->define(partition, record).ok());
        table_.remember(record.session, record.target);
    }

    std::unique_ptr<Store> store_ = make_memory_store();
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

// A peer that opens many sessions doesn't evict silent sessions of others.
TEST_F(SessionTableTest, ForgetsThoseWithoutPeersThenThoseOfWhichNothingIsStored) {
    const std::vector sessions{session_of(1, 1), session_of(2, 1), session_of(3, 1)};
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        EXPECT_TRUE(table_.insert(sessions[i]));
        table_.attach(sessions[i], std::string(1, static_cast<char>('a' + i)));
    }
    sessions[0]->defined = true;  // since its first message
    sessions[1]->defined = true;
    table_.touch(sessions[1]);
    const auto has = [&](std::size_t i) { return table_.find(sessions[i]->record.session) != nullptr; };

    EXPECT_TRUE(table_.insert(session_of(4, 1)));
    EXPECT_TRUE(has(0) && has(1) && !has(2));
    EXPECT_TRUE(table_.insert(session_of(5, 1)));
    EXPECT_TRUE(has(0) && has(1)) << "the one before is forgotten";
    table_.attach(table_.find(SessionId{1, 5}), "flood");
    table_.detach("a");
    EXPECT_TRUE(table_.insert(session_of(6, 1)));
    EXPECT_TRUE(!has(0) && has(1)) << "nobody speaks for it";
    EXPECT_EQ(table_.find_peer("b"), sessions[1]);
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

// Labels of an enrolment may change during a session; those that a collector states may not.
TEST_F(SessionTableTest, ASessionIsTheSameWithOtherEnrolledLabelsOnly) {
    using Identity = SessionTable::Identity;
    using Labels = SessionTable::Labels;
    const auto known = session_of(1, 1);
    const auto identity_of = [&](const SessionRecord& record, Labels labels = Labels::kCompared) {
        const auto found = table_.identity_of(record, *store_, labels);
        EXPECT_TRUE(found.ok());
        return found.ok() ? found->identity : Identity::kFree;
    };
    const auto expect_known = [&](const char* where) {
        SessionRecord record = known->record;
        EXPECT_EQ(identity_of(record), Identity::kSame) << where;
        record.labels.emplace_back("site", "lab");
        EXPECT_EQ(identity_of(record, Labels::kCompared), Identity::kOtherRecord) << where;
        EXPECT_EQ(identity_of(record, Labels::kEnrolled), Identity::kSame) << where;
        record.events.pop_back();
        EXPECT_EQ(identity_of(record, Labels::kEnrolled), Identity::kOtherRecord) << where;
        record.target = TargetId{2};
        EXPECT_EQ(identity_of(record, Labels::kEnrolled), Identity::kOtherTarget) << where;
    };
    EXPECT_EQ(identity_of(known->record), Identity::kFree);
    EXPECT_TRUE(table_.insert(known));
    expect_known("in the table");
    define(*known);
    EXPECT_TRUE(table_.insert(session_of(2, 5'000)));
    ASSERT_EQ(table_.find(known->record.session), nullptr);
    expect_known("in the store");
}

// Definitions of a failed commit may be gone from the store.
TEST_F(SessionTableTest, AnIdOfWhichTheStoreLostTheRecordIsFreeForItsTarget) {
    const auto known = session_of(1, 1);
    table_.remember(known->record.session, known->record.target);
    EXPECT_EQ(table_.identity_of(known->record, *store_)->identity, SessionTable::Identity::kFree);
    known->record.target = TargetId{2};
    EXPECT_EQ(table_.identity_of(known->record, *store_)->identity, SessionTable::Identity::kOtherTarget);
}

TEST_F(SessionTableTest, ASessionThatHasEndedIsForgottenWithItsPeer) {
    const auto first = session_of(1, 100);
    const auto second = session_of(2, 100);
    for (const SessionPtr& session : {first, second}) {
        EXPECT_TRUE(table_.insert(session));
        table_.attach(session, session == first ? "a" : "b");
        session->finished = true;
    }
    second->is_touched = true;
    table_.detach("a");
    table_.detach("b");
    EXPECT_EQ(table_.find(first->record.session), nullptr);
    EXPECT_EQ(table_.find(second->record.session), second) << "something of it is being stored";
    EXPECT_EQ(table_.size_bytes(), 100U);
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
