#include "query-engine/scan/session_choice.h"

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// What the commands of perfleet store, in the order in which it came.
class LastOfAUse : public testing::Test {
protected:
    void add(const std::vector<EventRecord>& events, const std::string& clock = "monotonic") {
        SessionRecord record = sample_session(TargetId{1}, SessionId{1, sessions_.size() + 1});
        record.events = events;
        record.clock_name = clock;
        record.received = UtcNs{static_cast<std::int64_t>(sessions_.size()) + 1};
        sessions_.emplace(SessionName{record.target, record.session}, NotedSession{record, {}});
    }
    static EventRecord event(Kind kind, std::uint32_t perf_type = 0) {
        EventRecord made;
        made.name = "event";
        made.kind = kind;
        made.perf_type = perf_type;
        return made;
    }
    // The number of the session, and how many newer ones were passed over.
    [[nodiscard]] std::pair<std::uint64_t, std::size_t> chosen(const std::string& wanted, SessionUse use) const {
        NotedSessions sessions = sessions_;
        const auto passed_over = choose_session(wanted, sessions, use);
        EXPECT_TRUE(passed_over.ok()) << passed_over.error().message;
        return passed_over.ok() ? std::pair{sessions.begin()->first.session.low, *passed_over}
                                : std::pair{std::uint64_t{0}, std::size_t{0}};
    }
    [[nodiscard]] std::string refusal(const std::string& wanted, SessionUse use) const {
        NotedSessions sessions = sessions_;
        const auto refused = choose_session(wanted, sessions, use);
        EXPECT_FALSE(refused.ok());
        return refused.ok() ? "" : refused.error().message;
    }
    NotedSessions sessions_;
};

constexpr std::uint32_t kTypeSoftware = 1;
constexpr std::uint32_t kTypeTracepoint = 2;
using Chosen = std::pair<std::uint64_t, std::size_t>;

TEST_F(LastOfAUse, CountsOnlySessionsThatWereMadeForIt) {
    add({event(Kind::kSample, kTypeSoftware)});        // 1: record
    add({event(Kind::kTracepoint, kTypeTracepoint)});  // 2: record -e sched:sched_switch
    add({event(Kind::kSample, kTypeSoftware),
         event(Kind::kTracepoint, kTypeSoftware)});  // 3: record of a program with probes
    add({event(Kind::kTracepoint)});                 // 4: latency --function
    add({event(Kind::kLatency)}, "cycles");          // 5: import of accumulated latencies
    add({event(Kind::kTracepoint)}, "row");          // 6: import of a column of numbers
    for (int i = 0; i < 2; ++i) {                    // 7, 8: compare
        add({event(Kind::kTracepoint)}, "row");
        std::prev(sessions_.end())->second.record.labels = {{"comparison", "1"}, {"side", i == 0 ? "A" : "B"}};
    }
    add({event(Kind::kTracepoint, kTypeSoftware)});  // 9: bench
    std::prev(sessions_.end())->second.record.labels = {{"bench", "1"}};
    EXPECT_EQ(chosen("last", SessionUse::kDurations), (Chosen{9, 0}));
    EXPECT_EQ(chosen("last", SessionUse::kProfile), (Chosen{3, 6}));
    sessions_.erase(std::prev(sessions_.end()));
    EXPECT_EQ(chosen("last", SessionUse::kAny), (Chosen{8, 0}));
    EXPECT_EQ(chosen("last", SessionUse::kProfile), (Chosen{3, 5}));
    EXPECT_EQ(chosen("last~1", SessionUse::kProfile), (Chosen{2, 5}));
    EXPECT_EQ(chosen("last~2", SessionUse::kProfile), (Chosen{1, 5}));
    EXPECT_EQ(chosen("last", SessionUse::kDurations), (Chosen{6, 2}));
    EXPECT_EQ(chosen("last~3", SessionUse::kDurations), (Chosen{3, 2}));
    EXPECT_EQ(chosen("last", SessionUse::kTracepoints), (Chosen{4, 4}));
    EXPECT_EQ(chosen("last~2", SessionUse::kTracepoints), (Chosen{2, 4}));
    EXPECT_EQ(chosen("last~1", SessionUse::kLikeTheLast), (Chosen{7, 0})) << "the runs of compare are alike";
    EXPECT_NE(refusal("last~3", SessionUse::kProfile).find("only 3 sessions of 8 are meant"), std::string::npos);
    sessions_.erase(sessions_.begin(), std::next(sessions_.begin(), 6));
    EXPECT_TRUE(refusal("last", SessionUse::kProfile).starts_with("of 2 sessions none was recorded to sample"));
}

TEST_F(LastOfAUse, ARecordingOfProbesAloneIsARecordingAndMeasuresTimes) {
    add({event(Kind::kTracepoint, kTypeSoftware)});
    EXPECT_EQ(chosen("last", SessionUse::kProfile), (Chosen{1, 0}));
    EXPECT_EQ(chosen("last", SessionUse::kDurations), (Chosen{1, 0}));
}

TEST_F(LastOfAUse, OfTwoSidesIsThatOfTheNewest) {
    add({event(Kind::kSample, kTypeSoftware)});
    add({event(Kind::kTracepoint)});
    add({event(Kind::kSample, kTypeSoftware)});
    EXPECT_EQ(chosen("last~1", SessionUse::kLikeTheLast), (Chosen{1, 1}));
}

}  // namespace
}  // namespace perfleet::session_choice_test
