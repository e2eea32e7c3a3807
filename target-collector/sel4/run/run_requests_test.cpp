// Ticks at absolute moments, their account, and the periods that operators give them.
#include "target-collector/sel4/run/run_requests.h"

#include <gtest/gtest.h>

#include <vector>

#include "target-collector/sel4/run/events.h"
#include "target-collector/sel4/run/run_seconds.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kTicksPerSecond = 50'000'000;
constexpr std::uint64_t kCyclesPerSecond = 1'000'000'000;

// Its time stands still but for what the test says.
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

TEST(RunSeconds, AreANumberOrTheDefault) {
    EXPECT_EQ(parse_run_seconds(""), kRunSecondsDefault);
    EXPECT_EQ(parse_run_seconds("seconds=12"), 12U);
    EXPECT_EQ(parse_run_seconds("seconds=0"), 0U);
    for (const std::string_view text :
         {"seconds", "second=1", "seconds=1x", " seconds=1", "seconds=99999999999999999999"}) {
        EXPECT_EQ(parse_run_seconds(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace perfleet::sel4
