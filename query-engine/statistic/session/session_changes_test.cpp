#include "query-engine/statistic/session/session_changes.h"

#include <gtest/gtest.h>

#include "query-engine/statistic/session/inventory.h"
#include "schemas/session/command_text.h"
#include "schemas/wire/protocol.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::session_changes_test {
namespace {

using protocol::ControlCommand;

constexpr TargetId kTarget{1};
constexpr SessionId kSession{7, 8};
constexpr BucketNumber kBucket{472'222};
constexpr EventNumber kFirst{0};
constexpr EventNumber kSecond{1};
constexpr std::size_t kEvents = 2;  // of sample_session()

SessionChange change(std::uint64_t ticks, ControlCommand command, EventNumber event, std::uint64_t value = 0) {
    return {Ticks{ticks}, static_cast<std::uint64_t>(command), event, value};
}

// A session in which an operator did this; it goes on, or has ended.
struct Stored {
    explicit Stored(const std::vector<SessionChange>& changes, bool is_ended = false) : store{make_memory_store()} {
        SampleIntegers rows;
        for (const SessionChange& one : changes) {
            rows[ColumnId::kTime].push_back(one.time.value);
            rows[ColumnId::kCommand].push_back(one.command);
            rows[ColumnId::kEvent].push_back(one.event.value);
            rows[ColumnId::kValue].push_back(one.value);
        }
        const Series series{Kind::kControl, kNoEvent};
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
        batch.add(series, rows).entry(series, CountName::kProduced, changes.size());
        const std::vector<AdmittedBatch> batches{batch.build()};
        EXPECT_TRUE(store->define(partition_of(kTarget, kBucket), sample_session(kTarget, kSession)).ok());
        EXPECT_TRUE(store->put(partition_of(kTarget, kBucket), batches).ok());
        if (is_ended) {
            EXPECT_TRUE(store->end_session(kTarget, kSession, {}).ok());
        }
    }
    [[nodiscard]] Scan scan(const Selection& selection = {}) const {
        auto opened = Scan::open(*store, selection);
        EXPECT_TRUE(opened.ok());
        return std::move(opened).value();
    }
    [[nodiscard]] std::string state(const Selection& selection = {}) const {
        const auto answer = make_sessions(scan(selection));
        EXPECT_TRUE(answer.ok());
        EXPECT_EQ(answer->rows.size(), 1U);
        const auto column = std::find_if(answer->columns.begin(), answer->columns.end(),
                                         [](const AnswerColumn& one) { return one.name == "state"; });
        return std::get<std::string>(answer->rows.at(0).at(static_cast<std::size_t>(column - answer->columns.begin())));
    }

    std::unique_ptr<Store> store;
};

TEST(CommandText, IsWhatWasRecorded) {
    HostRecord host;
    EXPECT_EQ(command_text(host), "");
    host.command_line = {"perfleet-collector", "-a"};
    EXPECT_EQ(command_text(host), "perfleet-collector -a");
    host.command_line = {"perfleet", "record", "--", "make", "all", "--", "x"};
    EXPECT_EQ(command_text(host), "make all -- x");
}

TEST(SessionChanges, StandInTheOrderOfTimeWithTheirEventAndValue) {
    const Stored stored{{change(30, ControlCommand::kStart, kSecond),
                         change(10, ControlCommand::kStop, kNoEvent),
                         change(20, ControlCommand::kSetPeriod, kFirst, 5'000),
                         {Ticks{40}, 99, EventNumber{77}, 3}}};
    const auto answer = make_controls(stored.scan());
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->rows.size(), 4U);
    const auto row = [&](std::size_t i) { return std::vector(answer->rows[i].begin() + 3, answer->rows[i].end()); };
    using Row = std::vector<AnswerValue>;
    EXPECT_EQ(row(0), (Row{std::string{"stop"}, std::string{"all"}, AnswerValue{}}));
    EXPECT_EQ(row(1), (Row{std::string{"period"}, std::string{"cpu-clock"}, 5'000ULL}));
    EXPECT_EQ(row(2), (Row{std::string{"start"}, std::string{"sched:sched_switch"}, AnswerValue{}}));
    EXPECT_EQ(row(3), (Row{std::string{"command 99"}, std::string{"77"}, 3ULL})) << "of a newer collector";
    EXPECT_EQ(answer->ledger.stored, 4U);
}

TEST(SessionState, IsStoppedWhenNothingOfItIsMeasured) {
    EXPECT_EQ(Stored({change(1, ControlCommand::kSetPeriod, kNoEvent, 9)}).state(), "open");
    EXPECT_EQ(Stored({change(1, ControlCommand::kStop, kNoEvent)}).state(), "stopped");
    EXPECT_EQ(Stored({change(1, ControlCommand::kStop, kNoEvent)}, true).state(), "ended");
    EXPECT_EQ(Stored({change(1, ControlCommand::kStop, kFirst)}).state(), "open");
    EXPECT_EQ(Stored({change(1, ControlCommand::kStop, kFirst), change(2, ControlCommand::kStop, kSecond)}).state(),
              "stopped");
    EXPECT_EQ(Stored({change(1, ControlCommand::kStop, kNoEvent), change(2, ControlCommand::kStart, kSecond)}).state(),
              "open");
    EXPECT_EQ(Stored({change(2, ControlCommand::kStop, kNoEvent), change(1, ControlCommand::kStart, kNoEvent)}).state(),
              "stopped");
}

TEST(SessionState, HoldsOnBeyondTheTimeAtWhichItWasOrdered) {
    const Stored stored{{change(1, ControlCommand::kStop, kNoEvent)}};
    Selection later;
    later.from = UtcNs{0};
    EXPECT_EQ(stored.state(later), "stopped");
    EXPECT_FALSE(are_all_stopped({}, 0)) << "who has no events can't be stopped";
    EXPECT_TRUE(are_all_stopped({change(1, ControlCommand::kStop, kNoEvent)}, kEvents));
}

}  // namespace
}  // namespace perfleet::session_changes_test
