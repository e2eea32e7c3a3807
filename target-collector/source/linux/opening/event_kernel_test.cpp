// What events are spelled like and what this kernel then counts: breakpoints, filters, PMUs that only count.
#include <gtest/gtest.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "schemas/host/file_descriptor.h"
#include "target-collector/source/linux/event/cpu_list.h"
#include "target-collector/source/linux/perf_source.h"
#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet::event_kernel_test {
namespace {

constexpr std::uint64_t kRounds = 500;

alignas(8) volatile std::uint64_t watched = 0;
alignas(8) volatile std::uint64_t other = 0;
constexpr std::uint64_t kOthersARound = 3;

// On one CPU: a sample weighs what its event counted there since the last one.
void work() {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(::sched_getcpu(), &first);
    ::sched_setaffinity(0, sizeof first, &first);
    for (std::uint64_t i = 0; i < kRounds; ++i) {
        for (std::uint64_t j = 0; j < kOthersARound; ++j) {
            other = j;
        }
        watched = watched + 1;
        ::syscall(SYS_getppid);
        ::syscall(SYS_getuid);
    }
}

std::string breakpoint(const std::string& behind, const volatile std::uint64_t& place = watched) {
    char text[64];
    std::snprintf(text, sizeof text, "mem:%p", const_cast<const void*>(static_cast<const volatile void*>(&place)));
    return text + behind;
}

// Some virtual machines take breakpoints that never trigger.
bool has_breakpoints() {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.size = sizeof attr;
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = reinterpret_cast<std::uintptr_t>(&other);
    attr.bp_len = HW_BREAKPOINT_LEN_8;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    const FileDescriptor event{
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC))};
    other = 1;
    std::uint64_t value = 0;
    return ::read(event.get(), &value, sizeof value) == sizeof value && value > 0;
}
constexpr const char* kNoBreakpoints = "breakpoints never trigger on this machine";

// Rows of each event, the weights of their samples in turn, and its last value on all CPUs.
struct Counted {
    std::map<std::uint64_t, std::uint64_t> rows;
    std::map<std::uint64_t, std::vector<std::uint64_t>> weights;
    std::map<std::uint64_t, std::uint64_t> values;
};

// What a child does that works.
Result<Counted> count(const std::vector<std::string>& lists, const std::vector<std::string>& filters = {},
                      PerfSourceOptions options = {}) {
    auto events = PERFLEET_TRY(parse_events(lists, EventPlaces{}, filters));
    Worker worker(work);
    options.events.events = std::move(events);
    options.events.pids = {worker.pid()};
    auto source = PERFLEET_TRY(PerfSource::open(std::move(options), [](std::string_view) {}));
    RecordingSink sink;
    source->begin(sink);
    worker.go();
    worker.wait(*source);
    source->finish();
    Counted counted;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> last;
    for (const RecordingSink::Row& row : sink.rows) {
        if (row.series.kind == Kind::kSample || row.series.kind == Kind::kTracepoint) {
            ++counted.rows[row.series.event.value];
            counted.weights[row.series.event.value].push_back(row[ColumnId::kWeight]);
        } else if (row.series.kind == Kind::kCounter) {
            last[{row.series.event.value, row[ColumnId::kCpu]}] = row[ColumnId::kValue];
        }
    }
    for (const auto& [place, value] : last) {
        counted.values[place.first] += value;
    }
    return counted;
}

TEST(DefaultRingPages, HoldHalfASecondOfCopies) {
    constexpr std::uint32_t kPage = 4096;
    EXPECT_EQ(default_ring_pages(0, 999, 2, kPage), kRingPagesDefault);
    EXPECT_EQ(default_ring_pages(32'768, 99, 2, kPage), 512U);
    EXPECT_EQ(default_ring_pages(32'768, 999, 2, kPage), 4096U);
    EXPECT_EQ(default_ring_pages(32'768, std::nullopt, 2, kPage), 8192U);
    EXPECT_EQ(default_ring_pages(32'768, 1'000'000'000, 4, kPage), 4096U);
    EXPECT_EQ(default_ring_pages(32'768, 9999, 256, kPage), kRingPagesDefault);  // 256 MiB in all
}

TEST(EventOnKernel, ABreakpointIsASampleOfEachAccess) {
    if (!has_breakpoints()) {
        GTEST_SKIP() << kNoBreakpoints;
    }
    const auto counted = count({breakpoint("/8:w:u"), breakpoint("/8:rw:u"), breakpoint("/8/")});
    ASSERT_FALSE(counted.ok()) << "terms aren't a breakpoint's";
    const auto accesses = count({breakpoint("/8:w:u"), breakpoint("/8:rw:u")});
    if (!accesses.ok() && accesses.error().code != ErrorCode::kUsage) {
        GTEST_SKIP() << accesses.error().message;
    }
    ASSERT_TRUE(accesses.ok()) << accesses.error().message;
    EXPECT_EQ(accesses->rows.at(0), kRounds);
    EXPECT_EQ(accesses->values.at(0), kRounds);
    EXPECT_EQ(accesses->rows.at(1), 2 * kRounds) << "each round reads and writes it";
}

TEST(EventOnKernel, WhatABreakpointCannotBeIsSaid) {
    const auto unaligned = count({"mem:0x1001/4:w"});
    ASSERT_FALSE(unaligned.ok());
    EXPECT_EQ(unaligned.error().message,
              "-e mem:0x1001/4:w: its address isn't a multiple of its length, 4 bytes; a "
              "shorter one is written mem:ADDRESS/1");
#if defined(__x86_64__)
    const auto reads = count({"mem:0x1000:r"});
    ASSERT_FALSE(reads.ok());
    EXPECT_EQ(reads.error().message, "-e mem:0x1000:r: this processor has no breakpoints on reads alone; take 'rw'");
#endif
}

TEST(EventOnKernel, AnEventsOwnPeriodGoesBeforeThatOfTheSession) {
    if (!has_breakpoints()) {
        GTEST_SKIP() << kNoBreakpoints;
    }
    PerfSourceOptions options;
    options.events.sampling.period = 100;
    const auto counted = count({breakpoint("/8:w:u"), breakpoint("/4:w:u"), "cs/period=1/"}, {}, options);
    if (!counted.ok()) {
        GTEST_SKIP() << counted.error().message;
    }
    // Each processor counts to the period by itself, and the rounds may run on several.
    EXPECT_LE(counted->rows.at(0), kRounds / 100);
    EXPECT_GE(counted->rows.at(0) + online_cpus().size(), kRounds / 100);
    EXPECT_EQ(counted->rows.contains(2) ? counted->rows.at(2) : 0, counted->values.at(2));
}

TEST(EventOnKernel, AFilterPassesItsEntriesAlone) {
    if (const std::string why = why_not_as_root(); !why.empty()) {
        GTEST_SKIP() << why;
    }
    const auto counted =
        count({"raw_syscalls:sys_enter", "raw_syscalls:sys_exit"}, {"id == " + std::to_string(SYS_getppid)});
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    EXPECT_EQ(counted->rows.at(0), kRounds);
    EXPECT_GE(counted->rows.at(1), 2 * kRounds) << "those of another -e are all there";

    const auto refused = count({"raw_syscalls:sys_enter"}, {"idd == 1"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message,
              "--filter idd == 1: the kernel doesn't take it for raw_syscalls:sys_enter, whose fields are id, args; "
              "filters are written as prev_pid == 0 && prev_comm ~ \"make*\"");
}

TEST(EventOnKernel, APmuThatInterruptsNobodyIsCounted) {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/msr/events/tsc")) {
        GTEST_SKIP() << "no PMU msr";
    }
    const auto counted = count({"msr/tsc/,task-clock"});
    if (!counted.ok() && counted.error().code == ErrorCode::kPermission) {
        GTEST_SKIP() << counted.error().message;
    }
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    EXPECT_GT(counted->values.at(0), 0U);
    EXPECT_FALSE(counted->rows.contains(0));
    const auto modified = count({"msr/tsc/u"});
    ASSERT_FALSE(modified.ok());
    EXPECT_EQ(modified.error().message, "-e msr/tsc/u: its PMU doesn't take these modifiers; leave them out");
}

TEST(EventOnKernel, HardwareThatThisMachineLacksIsRefusedInOneSentence) {
    if (count({"cycles"}).ok()) {
        GTEST_SKIP() << "this machine has a cycle counter";
    }
    for (const char* const list : {"cycles:u", "LLC-load-misses", "r1a8", "cycles/period=100000/pp", "4:0x1a8"}) {
        const auto refused = count({list});
        ASSERT_FALSE(refused.ok()) << list;
        EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << list;
        EXPECT_TRUE(refused.error().message.starts_with("-e " + std::string(list) + ": not supported by this machine"))
            << refused.error().message;
    }
    const auto precise = count({"cycles:pp"});
    ASSERT_FALSE(precise.ok());
    EXPECT_NE(precise.error().message.find("try it without 'p'"), std::string::npos) << precise.error().message;
}

TEST(EventOnKernel, AGroupsFirstEventSamplesTheCountsOfAll) {
    if (!has_breakpoints()) {
        GTEST_SKIP() << kNoBreakpoints;
    }
    const auto counted = count({"{" + breakpoint("/8:w") + "," + breakpoint("/8:w", other) + ",task-clock}:Su"});
    if (!counted.ok() && counted.error().code != ErrorCode::kUsage) {
        GTEST_SKIP() << counted.error().message;
    }
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    EXPECT_EQ(counted->weights.at(0), std::vector<std::uint64_t>(kRounds, 1));
    EXPECT_EQ(counted->weights.at(1), std::vector<std::uint64_t>(kRounds, kOthersARound));
    EXPECT_EQ(counted->values.at(0), kRounds);
    EXPECT_EQ(counted->values.at(1), kRounds * kOthersARound);
    EXPECT_GT(counted->rows.at(2), 0U);
}

TEST(EventOnKernel, AWeakGroupIsAGroupWhereTheKernelTakesIt) {
    const auto counted = count({"{task-clock,cs}:W"});
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    EXPECT_GT(counted->values.at(0), 0U);
}

}  // namespace
}  // namespace perfleet::event_kernel_test
