// Counts of events, compared with the rows of their samples and the missing rows in the ledger.
#include "target-collector/source/linux/sample_balance.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "target-collector/source/linux/bpf/testing/busy_calls.h"
#include "target-collector/source/linux/event/call_chain_mode.h"
#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kHz = 1'000;
constexpr std::uint64_t kPeriodNs = 1'000'000;
constexpr Series kFirst{Kind::kSample, EventNumber{0}};

std::uint64_t own_cpu_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000) + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t children_cpu_ns() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    std::uint64_t sum = 0;
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
        sum += (static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000) +
               (static_cast<std::uint64_t>(time.tv_usec) * 1'000);
    }
    return sum;
}

void call_for(std::uint64_t cpu_ns) {
    for (const std::uint64_t end = own_cpu_ns() + cpu_ns; own_cpu_ns() < end;) {
        for (int i = 0; i < 50; ++i) {
            ::syscall(SYS_getppid);
            burn_cpu(1'000);
        }
    }
}

// By the event itself, in periods: it doesn't see the beginning and the end of a process.
std::uint64_t counted_periods(const RecordingSink& sink) {
    std::map<std::uint64_t, std::uint64_t> last;
    for (const auto& row : sink.of(Kind::kCounter)) {
        last[row[ColumnId::kCpu]] = row[ColumnId::kValue];
    }
    std::uint64_t sum_ns = 0;
    for (const auto& [cpu, value_ns] : last) {
        sum_ns += value_ns;
    }
    return sum_ns / kPeriodNs;
}

std::uint64_t missing(const RecordingSink& sink, Series series = kFirst) {
    return sink.count_of(series, CountName::kLostNotDelivered) + sink.count_of(series, CountName::kLostTimerLate) +
           sink.count_of(series, CountName::kLostThrottled);
}

PerfSourceOptions options_of(const Worker& worker) {
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.frequency_hz = kHz;
    options.events.callchain = true;
    return options;
}

std::string unwind_by_bpf(PerfSourceOptions& options) {
    auto unwinder = KernelUnwinder::open({});
    if (!unwinder.ok()) {
        return unwinder.error().message;
    }
    options.kernel_unwinder = std::move(*unwinder);
    options.events.user_stack_bytes = kRareUserStackBytes;
    return {};
}

// About two thirds of the worker's time.
constexpr std::uint32_t kBusyRounds = 3'000;

TEST(SampleBalance, WhatIsDroppedBesideAnotherProgramOfBpfIsLost) {
    Worker worker([] { call_for(400'000'000); });
    PerfSourceOptions options = options_of(worker);
    if (const std::string why = unwind_by_bpf(options); !why.empty()) {
        GTEST_SKIP() << why;
    }
    const auto busy = BusyCalls::start(worker.pid(), kBusyRounds);
    ASSERT_TRUE(busy.ok()) << busy.error().message;
    const std::uint64_t cpu_before_ns = children_cpu_ns();
    RecordingSink sink;
    const auto source = record(worker, options, "cpu-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const std::uint64_t due = (children_cpu_ns() - cpu_before_ns) / kPeriodNs;
    const std::uint64_t rows = sink.of(Kind::kSample).size();
    const std::uint64_t dropped = sink.count_of(kFirst, CountName::kLostNotDelivered);
    EXPECT_GT(dropped, due / 4);
    // CPU time is known to the kernel's tick, and what a CPU counted below a period isn't lost.
    EXPECT_GE(rows + dropped, due * 9 / 10);
    EXPECT_LE(rows + dropped, due * 11 / 10);
    EXPECT_EQ(sink.count_of(kFirst, CountName::kProduced), rows + missing(sink));
    ASSERT_EQ((*source)->missing_samples().size(), 1U);
    EXPECT_NE((*source)->missing_samples()[0].find("another BPF program"), std::string::npos);
}

TEST(SampleBalance, FramePointersLoseNothingBesideIt) {
    Worker worker([] { call_for(300'000'000); });
    const auto busy = BusyCalls::start(worker.pid(), kBusyRounds);
    if (!busy.ok()) {
        GTEST_SKIP() << busy.error().message;
    }
    const std::uint64_t cpu_before_ns = children_cpu_ns();
    RecordingSink sink;
    const auto source = record(worker, options_of(worker), "task-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const std::uint64_t due = (children_cpu_ns() - cpu_before_ns) / kPeriodNs;
    EXPECT_EQ(sink.count_of(kFirst, CountName::kLostNotDelivered), 0U);
    EXPECT_GE(sink.of(Kind::kSample).size() + missing(sink), due * 9 / 10);
}

TEST(SampleBalance, FramePointersTakeOverWhereTooManyAreDropped) {
    // A child that is there already, and one that begins later.
    Worker worker([] {
        const pid_t first = ::fork();
        call_for(800'000'000);
        if (first != 0) {
            const pid_t second = ::fork();
            call_for(400'000'000);
            if (second == 0) {
                ::_exit(0);
            }
            while (::wait(nullptr) > 0) {
            }
        }
    });
    PerfSourceOptions options = options_of(worker);
    options.may_follow_frame_pointers = true;
    if (const std::string why = unwind_by_bpf(options); !why.empty()) {
        GTEST_SKIP() << why;
    }
    const auto busy = BusyCalls::start(worker.pid(), kBusyRounds);
    ASSERT_TRUE(busy.ok()) << busy.error().message;
    std::vector<std::string> logged;
    auto source = open_source(options, "cpu-clock", &logged);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const std::uint64_t cpu_before_ns = children_cpu_ns();
    RecordingSink sink;
    (*source)->begin(sink);
    worker.go();
    std::uint64_t lost_before = 0;
    std::size_t rows_before = 0;
    int status = 0;
    while (::waitpid(static_cast<pid_t>(worker.pid()), &status, WNOHANG) == 0) {
        for (int i = 0; i < 3; ++i) {
            ::usleep(20'000);
            (*source)->drain();
        }
        const std::size_t said = logged.size();
        (*source)->read_counters();
        if (logged.size() > said) {
            lost_before = missing(sink);
            rows_before = sink.of(Kind::kSample).size();
        }
    }
    (*source)->finish();
    ASSERT_FALSE(logged.empty());
    EXPECT_NE(logged.back().find("frame pointers"), std::string::npos) << logged.back();
    const std::uint64_t due = (children_cpu_ns() - cpu_before_ns) / kPeriodNs;
    const std::size_t rows = sink.of(Kind::kSample).size();
    EXPECT_LE(rows + missing(sink), due * 21 / 20);
    EXPECT_GE(rows + missing(sink), due * 17 / 20);
    // Counts of the time before are reported a moment late.
    EXPECT_LT(missing(sink) - lost_before, (rows - rows_before) / 4);
}

TEST(SampleBalance, TimeOfThreadsBelowAPeriodIsNoLoss) {
    constexpr int kChildren = 200;
    Worker worker([] {
        for (int i = 0; i < kChildren; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                for (const std::uint64_t end = own_cpu_ns() + kPeriodNs / 2; own_cpu_ns() < end;) {
                }
                ::_exit(0);
            }
            ::waitpid(child, nullptr, 0);
        }
    });
    RecordingSink sink;
    const auto source = record(worker, options_of(worker), "cpu-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    const std::uint64_t due = counted_periods(sink);
    const std::uint64_t below = sink.count_of(kFirst, CountName::kBelowPeriod);
    EXPECT_GE(below, kChildren / 3U);
    EXPECT_EQ(missing(sink), 0U);
    EXPECT_GE(sink.of(Kind::kSample).size() + below + 4, due);
    EXPECT_LE(sink.of(Kind::kSample).size() + below, due);
    ASSERT_EQ((*source)->missing_samples().size(), 1U);
    EXPECT_NE((*source)->missing_samples()[0].find("within a period"), std::string::npos);
}

void touch_pages(int count) {
    constexpr std::size_t kPage = 4'096;
    for (int i = 0; i < count; ++i) {
        char* const page =
            static_cast<char*>(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        page[0] = 1;
        ::munmap(page, kPage);
    }
}

TEST(SampleBalance, EventsThatAreSampledOneByOneLoseNothing) {
    for (const char* const events : {"page-faults", "{page-faults,minor-faults}"}) {
        for (const std::uint64_t period : {1U, 70U}) {
            const int pages = period == 1 ? 500 : 2'000;
            Worker worker([pages] {
                const pid_t child = ::fork();
                touch_pages(pages);
                if (child == 0) {
                    ::_exit(0);
                }
                ::waitpid(child, nullptr, 0);
            });
            PerfSourceOptions options = options_of(worker);
            options.events.sampling = {std::nullopt, period};
            RecordingSink sink;
            const auto source = record(worker, options, events, sink);
            ASSERT_TRUE(source.ok()) << source.error().message;
            EXPECT_EQ(missing(sink), 0U) << events << period;
            const std::uint64_t rows = sink.count_of(kFirst, CountName::kProduced);
            EXPECT_GE(rows * period + 4 * period, 2U * static_cast<unsigned>(pages)) << events << period;
            EXPECT_EQ((*source)->missing_samples().size(), 0U);
        }
    }
}

TEST(SampleBalance, APeriodThatTheKernelAdaptsTellsOfNoLoss) {
    Worker worker([] { touch_pages(5'000); });
    RecordingSink sink;
    const auto source = record(worker, options_of(worker), "page-faults", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_GT(sink.of(Kind::kSample).size(), 0U);
    EXPECT_EQ(missing(sink), 0U);
}

TEST(SampleBalance, AClockThatCountsMoreThanItSamplesIsNamed) {
    Worker worker([] { call_for(50'000'000); });
    RecordingSink sink;
    const auto source = record(worker, options_of(worker), "cpu-clock:u,cpu-clock", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_EQ(sink.count_of(kFirst, CountName::kUnchecked), 1U);
    EXPECT_EQ(missing(sink), 0U);
    EXPECT_EQ(sink.count_of({Kind::kSample, EventNumber{1}}, CountName::kUnchecked), 0U);
}

// Of readings and samples that are made up, on the events of this process, which never run.
class MadeUp {
public:
    explicit MadeUp(const std::string& event) {
        EventSetOptions options;
        options.pids = {static_cast<std::uint32_t>(::getpid())};
        options.sampling.frequency_hz = kHz;
        options.begins_stopped = true;
        options.events = *parse_events({event}, EventPlaces{});
        events = std::move(*EventSet::open(options, [](std::string_view) {}));
        balance.emplace(*events);
        readings.resize((events->events().size() + 1) * events->cpus().size());
        readings[0].descriptor_count = 1;
    }
    void sample(std::uint64_t count) {
        for (; count > 0; --count) {
            balance->take(0, 0, time_ns += kPeriodNs, kPeriodNs);
        }
    }
    void read(double periods) {
        readings[0].value = static_cast<std::uint64_t>(periods * kPeriodNs);
        balance->count(readings, readings, sink);
    }
    [[nodiscard]] std::uint64_t lost(CountName reason) const { return sink.count_of(kFirst, reason); }

    std::unique_ptr<EventSet> events;
    std::optional<SampleBalance> balance;
    std::vector<EventSet::Reading> readings;
    RecordingSink sink;
    std::uint64_t time_ns = 1'000 * kPeriodNs;
};

TEST(SampleBalance, ALeftoverBelowAPeriodIsNoLoss) {
    MadeUp clock("cpu-clock");
    clock.sample(100);
    clock.read(101.9);
    EXPECT_EQ(missing(clock.sink), 0U);
    clock.read(103.1);
    EXPECT_EQ(missing(clock.sink), 2U);
    clock.read(103.1);
    EXPECT_EQ(missing(clock.sink), 2U);  // once
}

TEST(SampleBalance, WhatTheKernelRingLostIsntMissing) {
    MadeUp clock("cpu-clock");
    clock.sample(100);
    clock.readings[0].lost_count = 50;
    clock.read(155.5);
    EXPECT_EQ(missing(clock.sink), 4U);
    clock.balance->take_lost(0, 4);  // as old kernels report it
    clock.read(156.5);
    EXPECT_EQ(missing(clock.sink), 4U);
    // Those that are are shares of all that were due.
    clock.readings[0].lost_count = 5'000;
    clock.read(5'130);
    EXPECT_EQ(missing(clock.sink), 25U);
    EXPECT_TRUE(clock.balance->warnings().empty());
}

TEST(SampleBalance, EachThreadThatInheritsMayEndWithinAPeriod) {
    MadeUp clock("cpu-clock");
    clock.sample(100);
    for (int i = 0; i < 10; ++i) {
        clock.balance->take_fork();
    }
    clock.read(115);
    EXPECT_EQ(missing(clock.sink), 4U);
    EXPECT_EQ(clock.lost(CountName::kBelowPeriod), 11U);
}

TEST(SampleBalance, WhatAThrottledEventMissesIsSaidApart) {
    MadeUp clock("cpu-clock");
    clock.sample(100);
    clock.balance->take_throttle(0, 0, 5'000'000, true);
    clock.balance->take_throttle(0, 0, 8'000'000, false);
    clock.read(111);
    EXPECT_EQ(clock.lost(CountName::kLostThrottled), 3U);
    EXPECT_EQ(clock.lost(CountName::kLostTimerLate), 7U);  // no program unwinds
    EXPECT_EQ(clock.lost(CountName::kLostNotDelivered), 0U);
}

}  // namespace
}  // namespace perfleet
