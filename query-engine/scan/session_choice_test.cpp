#include "query-engine/scan/session_choice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "query-engine/scan/scan.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::session_choice_test {
namespace {

constexpr std::uint64_t kLargeCount = 8;
constexpr std::size_t kMemorySizeBytes = 4U << 20;  // of a query: less than all formats take, more than one session

SessionRecord record_of(std::uint64_t number, bool is_large) {
    SessionRecord record = sample_session(TargetId{1}, SessionId{1, number});
    record.start_point.utc_ns.value += static_cast<std::int64_t>(number);
    for (int i = 0; i < 250 && is_large; ++i) {
        record.events.push_back(record.events.front());
        record.events.back().name = "tracepoint:" + std::to_string(i);
        record.events.back().format = std::string(4'000, 'f');
    }
    return record;
}

class NotedSessionsTest : public testing::Test {
protected:
    NotedSessionsTest() {
        for (std::uint64_t number = 0; number <= kLargeCount; ++number) {
            const SessionRecord record = record_of(number, number != 0);
            const Partition partition = partition_of(record.target, BucketNumber{1}, 0, store_->shards());
            EXPECT_TRUE(store_->define(partition, record).ok());
        }
    }

    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(NotedSessionsTest, AreReadWithoutTheLargeTextsOfTheirRecords) {
    QueryMemory memory{kMemorySizeBytes};
    auto sessions = noted_sessions(*store_, nullptr, &memory);
    ASSERT_TRUE(sessions.ok()) << sessions.error().message;
    ASSERT_EQ(sessions->size(), kLargeCount + 1);
    for (const auto& [name, session] : *sessions) {
        const SessionRecord whole = record_of(name.session.low, name.session.low != 0);
        EXPECT_EQ(session.is_brief, name.session.low != 0);
        EXPECT_EQ(session.record == whole, !session.is_brief);
        EXPECT_EQ(session.record.events.back().name, whole.events.back().name);
    }
    ASSERT_TRUE(choose_session("last", *sessions).ok());
    ASSERT_TRUE(complete_records(*store_, *sessions, memory).ok());
    EXPECT_EQ(sessions->begin()->second.record, record_of(kLargeCount, true));
}

TEST_F(NotedSessionsTest, ThatDoNotFitIntoTheQuerysMemoryEndIt) {
    QueryMemory memory{kMemorySizeBytes};
    auto sessions = noted_sessions(*store_, nullptr, &memory);
    ASSERT_TRUE(sessions.ok());
    const auto completed = complete_records(*store_, *sessions, memory);
    ASSERT_FALSE(completed.ok());
    EXPECT_EQ(completed.error().code, ErrorCode::kTooLarge);
    EXPECT_NE(completed.error().message.find("--memory 4m"), std::string::npos) << completed.error().message;
    QueryMemory little{64U << 10};
    EXPECT_EQ(noted_sessions(*store_, nullptr, &little).error().code, ErrorCode::kTooLarge);
}

TEST_F(NotedSessionsTest, AreListedByAScanThatReadsNoLargeTexts) {
    Selection selection;
    selection.memory_size_bytes_max = kMemorySizeBytes;
    EXPECT_EQ(Scan::open(*store_, selection).error().code, ErrorCode::kTooLarge);
    selection.reads_large_texts = false;
    const auto listed = Scan::open(*store_, selection);
    ASSERT_TRUE(listed.ok()) << listed.error().message;
    EXPECT_EQ(listed->sessions().size(), kLargeCount + 1);
    selection.reads_large_texts = true;
    selection.session = "last";
    EXPECT_EQ(Scan::open(*store_, selection)->sessions().front().record, record_of(kLargeCount, true));
}

}  // namespace
}  // namespace perfleet::session_choice_test
