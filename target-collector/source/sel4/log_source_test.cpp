#include "target-collector/source/sel4/log_source.h"

#include <gtest/gtest.h>

#include <memory>

#include "target-collector/source/sel4/testing/simulated_kernel.h"

namespace perfleet::sel4::log_source_test {
namespace {

constexpr EventNumber kFirst{3};
constexpr Series kEntries{Kind::kKernelEntry, kFirst};
constexpr Series kUnknownIds{Kind::kTracepoint, kFirst};

KernelFeatures features_of(BenchmarkMode mode, Architecture architecture, PathNumbering numbering) {
    return {.mode = mode, .architecture = architecture, .numbering = numbering, .tracepoint_count = 2};
}

TEST(LogSource, AnEntryIsARowWithTheCoreOfAnInterrupt) {
    for (const auto& [numbering, interrupt] :
         {std::pair{PathNumbering::kSince14, 1}, std::pair{PathNumbering::kBefore14, 0}}) {
        SimulatedKernel kernel{features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch64, numbering)};
        kernel.logs_calls = false;
        LogSource source{kernel, kFirst};
        ASSERT_TRUE(source.start().ok());
        constexpr std::uint32_t kDetail = 27U << 3 | 2;
        kernel.log_entry(static_cast<std::uint8_t>(interrupt), kDetail);
        kernel.log_entry(static_cast<std::uint8_t>(interrupt + 5), kDetail);
        KeptRows kept;
        EXPECT_EQ(source.poll(100, kept), 2U);
        const auto path = static_cast<std::uint64_t>(interrupt);
        EXPECT_EQ(kept.rows, (std::vector<KeptRows::Row>{{kEntries, Ticks{1'000}, {2, 10, path, kDetail}},
                                                         {kEntries, Ticks{1'025}, {0, 10, path + 5, kDetail}}}));
        EXPECT_TRUE(kept.counted.empty());
    }
}

TEST(LogSource, AClockOf32BitsGoesOnOverPollsAndResets) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch32, PathNumbering::kSince14)};
    LogSource source{kernel, kFirst};
    ASSERT_TRUE(source.start().ok());
    KeptRows kept;
    std::uint64_t last = 0;
    for (int i = 0; i < 40; ++i) {
        kernel.pass(1ULL << 30);
        kernel.log_entry(1, 0);
        kept.rows.clear();
        (void)source.poll(100, kept);
        for (const auto& row : kept.rows) {
            EXPECT_GT(row.time.value, last);
            last = row.time.value;
        }
    }
    EXPECT_GT(last, 39ULL << 30);
}

TEST(LogSource, TracepointsAreRowsOfTheirIdAndStrangeIdsAreCounted) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kTracepoints, Architecture::kX86_64, PathNumbering::kSince14)};
    EXPECT_EQ(LogSource::event_count(kernel.features()), 3U);
    LogSource source{kernel, kFirst};
    ASSERT_TRUE(source.start().ok());
    kernel.log_tracepoint(1, 208);
    kernel.log_tracepoint(7, 1);
    kernel.log_tracepoint(0, 750);
    KeptRows kept;
    EXPECT_EQ(source.poll(100, kept), 3U);
    EXPECT_EQ(kept.rows, (std::vector<KeptRows::Row>{
                             {{Kind::kTracepoint, EventNumber{5}}, Ticks{1'000}, {0, 0, 0, 0, 1, 208, 0}},
                             {{Kind::kTracepoint, EventNumber{4}}, Ticks{1'000}, {0, 0, 0, 0, 1, 750, 0}}}));
    EXPECT_EQ(kept.counted,
              (std::map<std::pair<Series, CountName>, std::uint64_t>{{{kUnknownIds, CountName::kLostMalformed}, 1}}));
}

TEST(LogSource, WhatAFullBufferSwallowedIsLostInTheLedger) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kTracepoints, Architecture::kX86_64, PathNumbering::kSince14)};
    LogSource source{kernel, kFirst};
    ASSERT_TRUE(source.start().ok());
    for (std::uint64_t i = 0; i < kernel.capacity() + 4'464; ++i) {
        kernel.log_tracepoint(0, 1 + i);
    }
    KeptRows kept;
    while (source.poll(1'000, kept) > 0) {
    }
    EXPECT_EQ(source.poll(1'000, kept), 0U);
    EXPECT_EQ(kept.rows.size(), kernel.capacity());
    EXPECT_EQ(kept.counted,
              (std::map<std::pair<Series, CountName>, std::uint64_t>{{{kUnknownIds, CountName::kLostSaturated}, 4'464},
                                                                     {{kUnknownIds, CountName::kThrottled}, 1}}));
}

// By the log's own index: all that it counted is a row or a loss.
TEST(LogSource, WhatIsLoggedBehindTheLastLookIsLostInTheLedger) {
    for (const auto mode : {BenchmarkMode::kKernelEntries, BenchmarkMode::kTracepoints}) {
        for (const std::uint64_t late_count : {0U, 1U, 29U}) {
            SimulatedKernel kernel{features_of(mode, Architecture::kAarch64, PathNumbering::kSince14)};
            const bool is_entries = mode == BenchmarkMode::kKernelEntries;
            const auto log = [&](std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    is_entries ? kernel.log_entry(1, 0) : kernel.log_tracepoint(0, 1);
                }
            };
            LogSource source{kernel, kFirst};
            ASSERT_TRUE(source.start().ok());
            log(500);
            KeptRows kept;
            do {
                (void)source.poll(100, kept);
            } while (source.has_more());
            log(late_count);
            const std::uint64_t logged = kernel.logged.size();  // the last look logs itself, behind that
            source.finish(kept);
            const auto lost = kept.counted.find({is_entries ? kEntries : kUnknownIds, CountName::kLostUnflushed});
            EXPECT_EQ(kept.rows.size() + (lost == kept.counted.end() ? 0 : lost->second), logged);
        }
    }
}

TEST(LogSource, ALogThatFilledBehindTheLastLookIsSaturated) {
    for (const auto mode : {BenchmarkMode::kKernelEntries, BenchmarkMode::kTracepoints}) {
        SimulatedKernel kernel{features_of(mode, Architecture::kAarch64, PathNumbering::kSince14)};
        const bool is_entries = mode == BenchmarkMode::kKernelEntries;
        LogSource source{kernel, kFirst};
        ASSERT_TRUE(source.start().ok());
        for (std::uint64_t i = 0; i < kernel.capacity() + 7; ++i) {
            is_entries ? kernel.log_entry(1, 0) : kernel.log_tracepoint(0, 1);
        }
        KeptRows kept;
        source.finish(kept);
        const Series series = is_entries ? kEntries : kUnknownIds;
        const std::uint64_t unflushed = kept.counted.at({series, CountName::kLostUnflushed});
        EXPECT_EQ(unflushed, kernel.capacity() + (is_entries ? 0 : 7));
        EXPECT_EQ(kept.counted.contains({series, CountName::kThrottled}), is_entries) << "how many is unknown";
    }
}

}  // namespace
}  // namespace perfleet::sel4::log_source_test
