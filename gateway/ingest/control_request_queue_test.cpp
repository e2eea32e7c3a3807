#include "gateway/ingest/control_request_queue.h"

#include <gtest/gtest.h>

#include "gateway/admission/intake_limits.h"
#include "gateway/admission/testing/sample_changes.h"
#include "gateway/ingest/testing/ingest_fixture.h"

namespace perfleet::control_request_queue_test {
namespace {

using protocol::ControlCommand;
using protocol::ControlOutcome;
using sample::Reply;
using sample::ReplyType;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kTimeout = 10 * kSecond;

class Orders : public testing::Test, protected IngestFixture {
protected:
    void place(RequestTicket ticket, ControlCommand command = ControlCommand::kStop, const std::string& event = "",
               std::uint64_t value = 0, SessionId session = kSession) {
        ingest_->place_request(ticket, {session, command, event, value, kTimeout}, now_);
    }
    void answer(std::uint64_t number, ControlOutcome outcome, std::string_view reason = "",
                std::string_view peer = "peer", SessionId session = kSession) {
        take(peer, sample::controlled(session, number, static_cast<std::uint16_t>(outcome), reason));
    }
    // The outcome of the one request that was answered.
    RequestAnswer outcome() {
        const auto answers = ingest_->take_request_answers();
        EXPECT_EQ(answers.size(), 1U);
        return answers.empty() ? RequestAnswer{} : answers.front();
    }
    void expect_none() { EXPECT_TRUE(ingest_->take_request_answers().empty()); }
    // The requests that were sent since the last call.
    std::vector<Reply> sent(std::string_view peer = "peer") {
        std::vector<Reply> requests;
        for (const Reply& reply : replies(peer)) {
            if (reply.type == ReplyType::kControl) {
                requests.push_back(reply);
            }
        }
        return requests;
    }
};

TEST_F(Orders, GoOutNumberedAndTheirAnswersComeBack) {
    say_hello();
    place(71, ControlCommand::kSetPeriod, "sched:sched_switch", 100);
    const auto first = sent();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].session, kSession);
    EXPECT_EQ(first[0].command, static_cast<std::uint16_t>(ControlCommand::kSetPeriod));
    EXPECT_EQ(first[0].event, 1);
    EXPECT_EQ(first[0].value, 100U);
    EXPECT_EQ(first[0].number, 1U);
    EXPECT_EQ(first[0].incarnation, incarnation_);
    expect_none();
    answer(1, ControlOutcome::kApplied);
    const RequestAnswer applied = outcome();
    EXPECT_EQ(applied.ticket, 71U);
    EXPECT_EQ(applied.outcome, RequestOutcome::kApplied);
    place(70, ControlCommand::kStop, "cpu-clock");
    EXPECT_EQ(sent().at(0).event, 0);
    answer(2, ControlOutcome::kApplied);
    EXPECT_EQ(outcome().ticket, 70U);
    place(72);
    EXPECT_EQ(sent().at(0).event, kNoEvent.value);
    answer(3, ControlOutcome::kOutOfRange, "100 to 1000 us");
    const RequestAnswer refused = outcome();
    EXPECT_EQ(refused.ticket, 72U);
    EXPECT_EQ(refused.outcome, RequestOutcome::kRefused);
    EXPECT_EQ(refused.reason, "100 to 1000 us");
    EXPECT_EQ(ingest_->counts().requests.of(RequestOutcome::kApplied), 2U);
    EXPECT_EQ(ingest_->counts().requests.of(RequestOutcome::kRefused), 1U);
}

TEST_F(Orders, AreRepeatedWithTheSameNumberEachSecondAndAtOnceAfterAReconnect) {
    say_hello();
    place(1);
    EXPECT_EQ(sent().size(), 1U);
    pass(kSecond / 2);
    EXPECT_EQ(sent().size(), 0U);
    pass(kSecond / 2);
    ASSERT_EQ(sent().size(), 1U);
    ingest_->forget_peer("peer");
    pass(3 * kSecond);
    EXPECT_EQ(sent().size(), 0U);
    say_hello("again");
    const auto all = replies("again");
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].type, ReplyType::kWelcome) << "an order before it would be out of turn";
    EXPECT_EQ(all[1].type, ReplyType::kControl);
    EXPECT_EQ(all[1].number, 1U);
    answer(1, ControlOutcome::kApplied, "", "again");
    answer(1, ControlOutcome::kApplied, "", "again");  // repeated, because it was asked twice
    EXPECT_EQ(outcome().outcome, RequestOutcome::kApplied);
    pass(2 * kSecond);
    EXPECT_EQ(sent("again").size(), 0U);
}

TEST_F(Orders, OfOneSessionGoOneAfterTheOther) {
    say_hello();
    place(1, ControlCommand::kStop);
    place(2, ControlCommand::kStart);
    EXPECT_EQ(sent().size(), 1U);
    answer(2, ControlOutcome::kApplied);  // of a request that wasn't placed yet
    expect_none();
    answer(1, ControlOutcome::kApplied);
    EXPECT_EQ(outcome().ticket, 1U);
    const auto second = sent();
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].number, 2U);
    answer(2, ControlOutcome::kFailed);
    const RequestAnswer failed = outcome();
    EXPECT_EQ(failed.ticket, 2U);
    EXPECT_FALSE(failed.reason.empty()) << "though the target gave none";
}

TEST_F(Orders, ThatCantBeTheSessionsAreRefusedHere) {
    place(1);
    EXPECT_EQ(outcome().outcome, RequestOutcome::kNotConnected);
    say_hello();
    place(2, ControlCommand::kStop, "cycles");
    const RequestAnswer unknown = outcome();
    EXPECT_EQ(unknown.outcome, RequestOutcome::kRefused);
    EXPECT_EQ(unknown.reason, "its events are cpu-clock, sched:sched_switch");
    ingest_->forget_peer("peer");
    place(3);
    EXPECT_EQ(outcome().outcome, RequestOutcome::kNotConnected);
}

TEST_F(Orders, EndWithTheOperatorsTimeoutAndSaySo) {
    say_hello();
    place(1);
    place(2);
    pass(kTimeout - 1);
    expect_none();
    pass(1);
    auto answers = ingest_->take_request_answers();
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].outcome, RequestOutcome::kNoAnswer);
    EXPECT_EQ(answers[0].reason, "none within 10 s; it may have been applied");
    EXPECT_EQ(answers[1].outcome, RequestOutcome::kNoAnswer);
    EXPECT_NE(answers[1].reason.find("was not sent"), std::string::npos);
    // An outcome that comes late belongs to no request any more, and the next request has another number.
    answer(1, ControlOutcome::kApplied);
    expect_none();
    replies();
    place(3);
    EXPECT_EQ(sent().at(0).number, 2U);
    ingest_->forget_peer("peer");
    pass(kTimeout);
    answers = ingest_->take_request_answers();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_NE(answers[0].reason.find("connection was lost"), std::string::npos);
}

TEST_F(Orders, AreForgottenWhenTheirOperatorIsGone) {
    say_hello();
    place(1);
    place(2);
    sent();
    ingest_->withdraw_request(1);
    pass(kSecond);
    EXPECT_EQ(sent().at(0).number, 2U) << "the next one's turn";
    answer(1, ControlOutcome::kApplied);
    expect_none();
    answer(2, ControlOutcome::kApplied);
    EXPECT_EQ(outcome().ticket, 2U);
}

TEST_F(Orders, AreNotAnsweredByOthers) {
    say_hello();
    take("other", sample::hello(sample_session(TargetId{6}, SessionId{6, 6})));
    place(1);
    answer(1, ControlOutcome::kApplied, "", "other");                   // in the name of another's session
    answer(1, ControlOutcome::kApplied, "", "other", SessionId{6, 6});  // its own, which has none
    answer(1, ControlOutcome::kApplied, "", "a stranger");
    answer(0, ControlOutcome::kApplied);
    expect_none();
}

TEST_F(Orders, TooManyAreRefusedAndNothingATargetSaysIsKept) {
    say_hello();
    for (RequestTicket ticket = 0; ticket < intake_limits::kRequestsOfSessionMax; ++ticket) {
        place(ticket);
    }
    expect_none();
    place(99);
    EXPECT_EQ(outcome().outcome, RequestOutcome::kRefused);
    // Outcomes of requests that were never placed, in any number and with reasons of any length.
    for (std::uint64_t number = 2; number < 10'000; ++number) {
        answer(number, ControlOutcome::kFailed, "why not");
    }
    expect_none();
    answer(1, static_cast<ControlOutcome>(999), std::string(100'000, 'x'));
    EXPECT_EQ(outcome().reason.size(), intake_limits::kReplyTextSizeBytesMax);
}

TEST_F(Orders, ThatWereAnsweredTakeNoRoom) {
    say_hello();
    for (RequestTicket ticket = 1; ticket <= intake_limits::kRequestsMax + 1; ++ticket) {
        place(ticket);
        answer(ticket, ControlOutcome::kApplied);
        ASSERT_EQ(outcome().outcome, RequestOutcome::kApplied) << ticket;
    }
    replies();
}

TEST_F(Orders, TheEarliestDeadlineIsWhenSomethingIsDue) {
    const auto session = std::make_shared<Session>();
    session->record = sample_session(kTarget, kSession);
    session->routing_id = "peer";
    RecordingLink link;
    ControlRequestQueue queue{1, link};
    EXPECT_TRUE(queue.is_empty());
    queue.place(1, {kSession, ControlCommand::kStop, "", 0, 7 * kSecond}, session, kSecond);
    queue.place(2, {kSession, ControlCommand::kStop, "", 0, 5 * kSecond}, session, kSecond);
    queue.place(3, {kSession, ControlCommand::kStop, "", 0, 9 * kSecond}, session, kSecond);
    EXPECT_FALSE(queue.is_empty());
    EXPECT_EQ(queue.due_ns(), 6 * kSecond);
    queue.withdraw(2);
    EXPECT_EQ(queue.due_ns(), 8 * kSecond);
    queue.withdraw(1);
    queue.withdraw(3);
    EXPECT_TRUE(queue.is_empty());
}

}  // namespace
}  // namespace perfleet::control_request_queue_test
