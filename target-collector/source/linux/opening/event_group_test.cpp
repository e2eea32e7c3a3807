// Groups of events on the real kernel: software events, for they are on every machine.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <tuple>

#include "target-collector/source/linux/perf_source.h"
#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet::event_group_test {
namespace {

constexpr const char* kGroup = "{task-clock,page-faults,context-switches}";
constexpr std::size_t kGroupSize = 3;
constexpr std::uint64_t kFaults = 4'000;

// So many page faults and more, by this process and one that it forks, with time between them.
void fault() {
    const auto touch = [] {
        for (std::uint64_t i = 0; i < kFaults / 2; ++i) {
            void* const page = ::mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *static_cast<volatile char*>(page) = 1;
            ::munmap(page, 4'096);
            burn_cpu(5'000);
        }
    };
    const pid_t child = ::fork();
    touch();
    if (child == 0) {
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
}

struct Counter {
    std::uint64_t value, enabled_ns, running_ns;
};

// By time, cpu and event.
std::map<std::tuple<std::uint64_t, std::uint64_t>, std::map<std::uint64_t, Counter>> readings_of(
    const RecordingSink& sink) {
    std::map<std::tuple<std::uint64_t, std::uint64_t>, std::map<std::uint64_t, Counter>> readings;
    for (const auto& row : sink.of(Kind::kCounter)) {
        readings[{row[ColumnId::kTime], row[ColumnId::kCpu]}][row.series.event.value] = {
            row[ColumnId::kValue], row[ColumnId::kTimeEnabled], row[ColumnId::kTimeRunning]};
    }
    return readings;
}

void expect_same_times(const RecordingSink& sink, std::uint64_t first_event = 0) {
    for (const auto& [place, by_event] : readings_of(sink)) {
        const Counter& leader = by_event.at(first_event);
        for (std::uint64_t event = first_event; event < first_event + kGroupSize; ++event) {
            EXPECT_EQ(by_event.at(event).enabled_ns, leader.enabled_ns) << "event " << event;
            EXPECT_EQ(by_event.at(event).running_ns, leader.running_ns) << "event " << event;
        }
    }
}

// Of all CPUs, at the end.
std::map<std::uint64_t, Counter> totals_of(const RecordingSink& sink) {
    std::map<std::uint64_t, std::map<std::uint64_t, Counter>> last;  // by cpu
    for (const auto& [place, by_event] : readings_of(sink)) {
        last[std::get<1>(place)] = by_event;
    }
    std::map<std::uint64_t, Counter> totals;
    for (const auto& [cpu, by_event] : last) {
        for (const auto& [event, counter] : by_event) {
            Counter& total = totals[event];
            total = {total.value + counter.value, total.enabled_ns + counter.enabled_ns,
                     total.running_ns + counter.running_ns};
        }
    }
    return totals;
}

TEST(EventGroup, IsReadAtOneMomentWhileItsProcessesRun) {
    Worker worker(fault);
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = 999;
    auto source = open_source(options, std::string("page-faults:u,") + kGroup);
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    while (::kill(static_cast<pid_t>(worker.pid()), 0) == 0 && !(*source)->all_processes_ended()) {
        (*source)->drain();
        (*source)->read_counters();
    }
    worker.wait(**source);
    (*source)->finish();
    EXPECT_GT(readings_of(sink).size(), 10U);
    expect_same_times(sink, 1);
    const auto totals = totals_of(sink);
    EXPECT_GE(totals.at(2).value, kFaults);
    EXPECT_GT(totals.at(1).running_ns, 0U);
    EXPECT_LE(totals.at(0).value, totals.at(2).value) << "page faults of user space are among all";
}

// The kernel forgets, in the reading of a group, what was lost while processes that inherited it run: here one runs all
// the time.
TEST(EventGroup, RecordsThatAreLostAreCountedByTheirEvents) {
    int end[2];
    ASSERT_EQ(::pipe(end), 0);
    Worker worker([&] {
        ::close(end[1]);
        const pid_t child = ::fork();
        char byte = 0;
        if (child == 0) {
            ::_exit(static_cast<int>(::read(end[0], &byte, 1)));
        }
        fault();
        EXPECT_EQ(::read(end[0], &byte, 1), 0);
        ::waitpid(child, nullptr, 0);
    });
    ::close(end[0]);
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.period = 1;
    options.events.ring_page_count = 1;
    options.events.waiting_size_bytes = 0;
    auto source = open_source(options, "{page-faults,minor-faults}");
    ASSERT_TRUE(source.ok()) << source.error().message;
    if (!(*source)->events().counts_lost()) {
        GTEST_SKIP() << "this kernel doesn't count what it loses";
    }
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    do {
        (*source)->read_counters();  // and nothing is drained: rings and memory fill up
    } while (totals_of(sink).at(0).value < kFaults);
    for (std::uint16_t event = 0; event < 2; ++event) {
        EXPECT_GT(sink.count_of({Kind::kSample, EventNumber{event}}, CountName::kLostKernelRing), 0U) << event;
    }
    ::close(end[1]);
    worker.wait(**source);
    (*source)->finish();
    for (std::uint16_t event = 0; event < 2; ++event) {
        const Series series{Kind::kSample, EventNumber{event}};
        EXPECT_EQ(sink.count_of(series, CountName::kProduced), totals_of(sink).at(event).value) << event;
    }
}

TEST(EventGroup, SystemWideItStopsStartsAndChangesItsRateAsOne) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    PerfSourceOptions options;
    options.events.all_cpus = true;
    options.events.sampling.frequency_hz = 99;
    auto source = open_source(options, std::string(kGroup) + ",cpu-clock");
    ASSERT_TRUE(source.ok()) << source.error().message;
    RecordingSink sink;
    (*source)->begin(sink);
    const auto order = [&](protocol::ControlCommand command, EventNumber event, std::uint64_t value) {
        ControlRequest given;
        given.command = command;
        given.event = event;
        given.value = value;
        return (*source)->take_request(given);
    };
    using protocol::ControlCommand;
    using protocol::ControlOutcome;
    fault();
    (*source)->read_counters();

    for (const ControlCommand command :
         {ControlCommand::kStop, ControlCommand::kStart, ControlCommand::kSetFrequency}) {
        const ControlAnswer refused = order(command, EventNumber{1}, 50);
        EXPECT_EQ(refused.outcome, ControlOutcome::kUnsupported);
        EXPECT_NE(std::string{refused.reason}.find("page-faults is counted in a group"), std::string::npos);
    }
    EXPECT_EQ(order(ControlCommand::kStop, EventNumber{3}, 0).outcome, ControlOutcome::kApplied) << "it is in none";
    EXPECT_EQ(order(ControlCommand::kStop, kNoEvent, 0).outcome, ControlOutcome::kApplied);
    (*source)->read_counters();
    const auto stopped = totals_of(sink);
    fault();
    (*source)->read_counters();
    const auto still = totals_of(sink);
    for (std::uint64_t event = 0; event < kGroupSize; ++event) {
        EXPECT_EQ(still.at(event).value, stopped.at(event).value) << event;
        EXPECT_EQ(still.at(event).running_ns, stopped.at(event).running_ns) << event;
    }

    EXPECT_EQ(order(ControlCommand::kSetFrequency, kNoEvent, 50).outcome, ControlOutcome::kApplied);
    EXPECT_EQ(order(ControlCommand::kStart, kNoEvent, 0).outcome, ControlOutcome::kApplied);
    fault();
    (*source)->read_counters();
    EXPECT_EQ(order(ControlCommand::kSetFrequency, kNoEvent, 99).outcome, ControlOutcome::kApplied);
    fault();
    (*source)->read_counters();
    (*source)->finish();
    expect_same_times(sink);
    const auto totals = totals_of(sink);
    EXPECT_GE(totals.at(1).value, stopped.at(1).value + 2 * kFaults);
    EXPECT_GT(totals.at(0).running_ns, stopped.at(0).running_ns);
}

TEST(EventGroup, OfCountersThatThisMachineLacksIsRefusedByName) {
    PerfSourceOptions options;
    options.events.pids = {static_cast<std::uint32_t>(::getpid())};
    if (open_source(options, "cycles").ok()) {
        GTEST_SKIP() << "this machine has a cycle counter";
    }
    const auto source = open_source(options, "{task-clock,cycles}");
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(source.error().message.find("-e cycles: not supported by this machine"), std::string::npos);
}

}  // namespace
}  // namespace perfleet::event_group_test
