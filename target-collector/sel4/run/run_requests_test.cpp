// Ticks at absolute moments, their account, and the periods that operators give them.
#include "target-collector/sel4/run/run_requests.h"

#include <gtest/gtest.h>

#include <vector>

#include "target-collector/sel4/run/events.h"
#include "target-collector/sel4/run/run_words.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kTicksPerSecond = 50'000'000;
constexpr std::uint64_t kCyclesPerSecond = 1'000'000'000;

// Its time stands still unless the test moves it.
class HandAlarm final : public Alarm {
public:
    std::uint64_t now() override { return time; }
    [[nodiscard]] std::uint64_t ticks_per_second() const override { return kTicksPerSecond; }
    void set(std::uint64_t moment) override { moments.push_back(moment); }
    void clear() override { moments.clear(); }

    std::uint64_t time = 1'000;
    std::vector<std::uint64_t> moments;
};

struct HandInterrupts final : public CycleInterrupts {
    void start() override { is_on = true; }
    void stop() override { is_on = false; }
    void set_period(std::uint64_t cycles) override { period = cycles; }
    bool go_on() override { return true; }
    bool is_on = true;
    std::uint64_t period = 0;
};

// Of so many ticks, each handled at its moment.
void expect_mean(HandAlarm& alarm, TickTimer& timer, std::uint64_t mean) {
    timer.start();
    std::uint64_t before = alarm.time;
    std::uint64_t sum = 0;
    constexpr std::uint64_t kCount = 1'000;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        alarm.time = alarm.moments.back();
        const std::uint64_t gap = alarm.time - before;
        EXPECT_GE(gap, mean / 2);
        EXPECT_LE(gap, mean + mean / 2);
        sum += gap;
        before = alarm.time;
        timer.go_on();
    }
    EXPECT_NEAR(static_cast<double>(sum) / kCount, static_cast<double>(mean), 0.05 * static_cast<double>(mean));
}

TEST(TickTimer, TicksAThousandTimesASecondWithJitter) {
    HandAlarm alarm;
    TickTimer timer{alarm, 7};
    expect_mean(alarm, timer, kTicksPerSecond / 1'000);
}

TEST(TickTimer, ALateTickShiftsNoOtherAndIsAccountedFor) {
    HandAlarm alarm;
    TickTimer timer{alarm, 7};
    timer.start();
    alarm.time = alarm.moments.back();
    timer.go_on();
    EXPECT_EQ(timer.coverage().uncovered, 0U);
    constexpr std::uint64_t kPeriod = kTicksPerSecond / 1'000;
    alarm.time += 5 * kPeriod;
    timer.go_on();
    EXPECT_EQ(timer.coverage().uncovered, 4 * kPeriod);
    EXPECT_EQ(timer.coverage().gap_max, 5 * kPeriod);
    EXPECT_EQ(timer.coverage().ticks, 2U);
    // Moments that are over were left out.
    EXPECT_GT(alarm.moments.back(), alarm.time);
    EXPECT_LE(alarm.moments.back(), alarm.time + kPeriod + kPeriod / 2);
}

class RunRequestsTaken : public testing::Test {
protected:
    static ControlRequest order(protocol::ControlCommand command, EventNumber event, std::uint64_t value = 0) {
        ControlRequest made;
        made.command = command;
        made.event = event;
        made.value = value;
        return made;
    }

    HandAlarm alarm_;
    TickTimer timer_{alarm_, 7};
    HandInterrupts interrupts_;
    RunRequests requests_{{.event_count = 6, .cycles_per_second = kCyclesPerSecond}, timer_, &interrupts_};
};

TEST_F(RunRequestsTaken, APeriodInCyclesIsOneOfTheAlarm) {
    using protocol::ControlCommand;
    using protocol::ControlOutcome;
    const auto answer = requests_.take_request(order(ControlCommand::kSetPeriod, RunEvents::kSamples, 125'000));
    EXPECT_EQ(answer.outcome, ControlOutcome::kApplied);
    expect_mean(alarm_, timer_, kTicksPerSecond / 8'000);
    EXPECT_EQ(interrupts_.period, 0U) << "of the other's samples";
    EXPECT_EQ(requests_.take_request(order(ControlCommand::kSetPeriod, kNoEvent, 2'000'000)).outcome,
              ControlOutcome::kApplied);
    expect_mean(alarm_, timer_, kTicksPerSecond / 500);
    EXPECT_EQ(interrupts_.period, 2'000'000U);
    for (const std::uint64_t cycles : {99'999U, 10'000'001U}) {
        EXPECT_EQ(requests_.take_request(order(ControlCommand::kSetPeriod, kNoEvent, cycles)).outcome,
                  ControlOutcome::kOutOfRange);
    }
}

TEST_F(RunRequestsTaken, EachStartIsToldOnceAndOnlyOfWhatWasStopped) {
    using protocol::ControlCommand;
    EXPECT_FALSE(requests_.take_start(RunEvents::kSamples)) << "it ran from the beginning";
    (void)requests_.take_request(order(ControlCommand::kStop, RunEvents::kCycleSamples));
    EXPECT_FALSE(requests_.is_running(RunEvents::kCycleSamples));
    EXPECT_TRUE(requests_.is_running(RunEvents::kSamples));
    EXPECT_FALSE(interrupts_.is_on);
    (void)requests_.take_request(order(ControlCommand::kStart, kNoEvent));
    EXPECT_TRUE(interrupts_.is_on);
    EXPECT_FALSE(requests_.take_start(RunEvents::kSamples));
    EXPECT_TRUE(requests_.take_start(RunEvents::kCycleSamples));
    EXPECT_FALSE(requests_.take_start(RunEvents::kCycleSamples));
    EXPECT_EQ(requests_.take_request(order(ControlCommand::kStop, EventNumber{6})).outcome,
              protocol::ControlOutcome::kUnknownEvent);
}

TEST(RunWords, EachMayBeLeftOut) {
    EXPECT_EQ(parse_run_words("").value().seconds, 6U);
    EXPECT_EQ(parse_run_words("seconds=12").value().seconds, 12U);
    EXPECT_EQ(parse_run_words("seconds=0").value().seconds, 0U);
    EXPECT_EQ(parse_run_words("").value().circle.test_count, 30U);
    const auto words = parse_run_words("circle=20,5,4,60  seconds=3 delete=2").value();
    EXPECT_EQ(words.delete_after_seconds, 2U);
    EXPECT_EQ(words.seconds, 3U);
    EXPECT_EQ(words.circle.initial_size, 20U);
    EXPECT_EQ(words.circle.size_of_group(4), 35U);
    EXPECT_EQ(words.circle.group_count, 4U);
    EXPECT_EQ(words.circle.test_count, 60U);
    EXPECT_EQ(parse_run_words("circle=20,5,4").value().circle.test_count, 30U) << "S as usual";
    for (const char* text :
         {"12", "seconds=", "seconds=-1", "seconds=1x", "seconds=99999999999999999999", "second=1", "seconds=1,",
          "circle=", "circle=1,2", "circle=1,2,3,4,5", "circle=1,2,3,", "circle=1,,3", "circle=0,1,1", "circle=1,1,1,x",
          "circle=1,1,20,31", "delete=", "circle=1,1,1000000000,1000000000"}) {
        EXPECT_FALSE(parse_run_words(text)) << text;
    }
    EXPECT_TRUE(parse_run_words("circle=1,1,20,30")) << "as many tests as there may be";
}

TEST(RunWords, AGatewayIsReachedOverTheNetwork) {
    EXPECT_FALSE(parse_run_words("seconds=1").value().gateway);
    EXPECT_FALSE(parse_run_words("seconds=1").value().has_keys);
    EXPECT_TRUE(parse_run_words("keys=on seconds=1").value().has_keys);
    EXPECT_FALSE(parse_run_words("keys=off"));
    const auto words = parse_run_words("gateway=10.0.2.100:7411 address=10.0.2.15/24,10.0.2.2 seconds=1").value();
    EXPECT_EQ(words.gateway.value().port, 7'411);
    EXPECT_EQ(words.address.value().router.value, 0x0a00'0202U);
    EXPECT_FALSE(parse_run_words("gateway=10.0.2.100"));
    EXPECT_FALSE(parse_run_words("address=10.0.2.15"));
}

}  // namespace
}  // namespace perfleet::sel4
