#include "exporters/perf-data/perf_data_exporter.h"

#include <gtest/gtest.h>

#include "tests/perf_data/export_fixture.h"
#include "schemas/columns/layout.h"

namespace perfleet {
namespace {

constexpr Series kTasks{Kind::kTask, kNoEvent};
constexpr Series kClock{Kind::kSample, EventNumber{0}};
constexpr Series kSwitch{Kind::kTracepoint, EventNumber{1}};

constexpr std::uint64_t kT0 = 1'000'000'000'000;

std::string hex_of(char byte) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
        constexpr std::string_view kDigits{"0123456789abcdef"};
        text += kDigits[static_cast<unsigned char>(byte) >> 4U];
        text += kDigits[static_cast<unsigned char>(byte) & 15U];
    }
    return text;
}

// What perf says of a kernel that isn't the reading host's. It must not take that one's symbols.
const std::string kKernelNotHere = "No kallsyms or vmlinux with build-id " + hex_of('K') + " was found\n";

class PerfDataExport : public ExportTest {
protected:
    // A process with one thread more, a program, a library without a build-id, a kernel.
    SampleBatch first_batch() {
        SampleBatch out = batch(1);
        out.add_images(
            {{0, image_flags::kKernel, std::string(20, 'K'), "[kernel.kallsyms]", 0xffffffff81000000, 0x1000000},
             {1, image_flags::kFileOffset, std::string(20, 'P'), "/nowhere/program"},
             {2, image_flags::kFileOffset, "", "/nowhere/libplain.so"},
             {3, image_flags::kUnknown, "", "[unknown]"}});
        // main → work → syscall; main → library; outside any mapping
        out.add_stacks({{1, 0, 1, 0x1100}, {2, 1, 1, 0x1200}, {3, 2, 0, 0x500}, {4, 1, 2, 0x2300}, {5, 1, 3, 0}});
        out.add_strings({{1, "program"}, {2, "worker"}});
        constexpr auto op = [](TaskOp value) { return static_cast<std::uint64_t>(value); };
        out.add(kTasks,
                {{ColumnId::kTime, {kT0, kT0, kT0, kT0}},
                 {ColumnId::kTaskOp, {op(TaskOp::kPresent), op(TaskOp::kPresent), op(TaskOp::kMap), op(TaskOp::kMap)}},
                 {ColumnId::kPid, {100, 100, 100, 100}},
                 {ColumnId::kTid, {100, 101, 100, 100}},
                 {ColumnId::kString, {1, 2, 0, 0}},
                 {ColumnId::kImage, {0, 0, 1, 2}},
                 {ColumnId::kAddress, {0, 0, 0x555500001000, 0x7f0000002000}},
                 {ColumnId::kSize, {0, 0, 0x1000, 0x1000}},
                 {ColumnId::kFileOffset, {0, 0, 0x1000, 0x2000}},
                 {ColumnId::kProtection, {0, 0, 5, 5}}});
        return out;
    }
    static SampleBatch& add_samples(SampleBatch& out, const std::vector<std::uint64_t>& stacks,
                                    std::uint64_t first = kT0 + 10) {
        SampleIntegers columns;
        for (std::size_t i = 0; i < stacks.size(); ++i) {
            columns[ColumnId::kTime].push_back(first + i * 1'000);
            columns[ColumnId::kCpu].push_back(i % 2);
            columns[ColumnId::kPid].push_back(100);
            columns[ColumnId::kTid].push_back(100 + i % 2);
            columns[ColumnId::kStack].push_back(stacks[i]);
            columns[ColumnId::kWeight].push_back(1'000'000);
        }
        return out.add(kClock, columns);
    }
};

TEST_F(PerfDataExport, ShowsEverySampleWithLeafFirst) {
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2, 3, 4, 5, 3}));
    const ExportSummary summary = exported();
    EXPECT_EQ(summary.sample_count, 5U);
    EXPECT_EQ(summary.size_bytes, std::filesystem::file_size(path()));
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    const Said script = perf("script -i perf.data -F comm,pid,tid,cpu,time,event,ip,dso,period --ns");
    EXPECT_EQ(script.errors, kKernelNotHere);
    EXPECT_EQ(script.output,
              "program   100/100   [000]  1000.000000010:    1000000 cpu-clock: \n"
              "\t            1200 (/nowhere/program)\n"
              "\t            1100 (/nowhere/program)\n\n"
              "worker   100/101   [001]  1000.000001010:    1000000 cpu-clock: \n"
              "\tffffffff81000500 ([kernel.kallsyms])\n"
              "\t            1200 (/nowhere/program)\n"
              "\t            1100 (/nowhere/program)\n\n"
              "program   100/100   [000]  1000.000002010:    1000000 cpu-clock: \n"
              "\t            2300 (/nowhere/libplain.so)\n"
              "\t            1100 (/nowhere/program)\n\n"
              "worker   100/101   [001]  1000.000003010:    1000000 cpu-clock: \n"
              "\t               0 ([unknown])\n"
              "\t            1100 (/nowhere/program)\n\n"
              "program   100/100   [000]  1000.000004010:    1000000 cpu-clock: \n"
              "\tffffffff81000500 ([kernel.kallsyms])\n"
              "\t            1200 (/nowhere/program)\n"
              "\t            1100 (/nowhere/program)\n\n");
}

TEST_F(PerfDataExport, TellsTasksMappingsAndBuildIds) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2}));
    static_cast<void>(exported());
    const std::string events = perf("script -i perf.data --show-mmap-events --show-task-events").output;
    EXPECT_NE(events.find("PERF_RECORD_COMM: program:100/100"), std::string::npos) << events;
    EXPECT_NE(events.find("PERF_RECORD_FORK(100:101):(100:100)"), std::string::npos) << events;
    EXPECT_NE(events.find("[0x555500001000(0x1000) @ 0x1000 <" + hex_of('P') + ">]: r-xp /nowhere/program"),
              std::string::npos)
        << events;
    EXPECT_NE(events.find("[0x7f0000002000(0x1000) @ 0x2000 00:00 0 0]: r-xp /nowhere/libplain.so"), std::string::npos)
        << events;
    EXPECT_EQ(perf("buildid-list -i perf.data").output,
              hex_of('K') + " [kernel.kallsyms]\n" + hex_of('P') + " /nowhere/program\n");
}

TEST_F(PerfDataExport, DescribesHostClockAndEvents) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2, 2}));
    static_cast<void>(exported());
    const Said header = perf("report --header-only -i perf.data");
    EXPECT_EQ(header.errors, "");
    for (const char* line :
         {"# hostname : target-7\n", "# os release : 6.1.0\n", "# perf version : perfleet 0.1.0\n", "# arch : x86_64\n",
          "# nrcpus online : 2\n", "# nrcpus avail : 2\n", "# cpudesc : test processor\n", "# cpuid : Test,1,2\n",
          "# total memory : 1048576 kB\n", "# cmdline : perfleet-collector -a \n",
          "# event : name = cpu-clock, , id = { 1 }", "# time of first sample : 1000.000000\n",
          "# time of last sample : 1000.000001\n", "# clockid: monotonic (1)\n",
          "# reference time: 2023-11-14 22:30:00.000000 = 1700001000.000000 (TOD) = 1000.000000010 (monotonic)\n"}) {
        EXPECT_NE(header.output.find(line), std::string::npos) << line << header.output;
    }
}

}  // namespace
}  // namespace perfleet
