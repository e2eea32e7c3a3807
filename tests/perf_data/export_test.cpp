#include "exporters/perf-data/perf_data_exporter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "schemas/vocabulary/kinds.h"
#include "storage/store/memory_store.h"
#include "tests/perf_data/export_fixture.h"

namespace perfleet::export_test {
namespace {

constexpr Series kTasks{Kind::kTask, kNoEvent};
constexpr Series kClock{Kind::kSample, EventNumber{0}};

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

// perf's output for a kernel other than the reading host's. It must not take that one's symbols.
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
        const auto op = [](TaskOp value) { return static_cast<std::uint64_t>(value); };
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

// The mark is in the caller's place: outside of all other mappings, with its name.
TEST_F(PerfDataExport, NamesTheMarkOfAChainThatIsCut) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    define(sample_session(kTarget, kSession));
    SampleBatch out = batch(1);
    out.add_images({{0, image_flags::kFileOffset, std::string(20, 'P'), "/nowhere/program"},
                    {1, image_flags::kUnknown, "", "[truncated: no tables]"},
                    {2, image_flags::kUnknown, "", "[truncated: depth]"}});
    out.add_stacks({{1, 0, 1, 0}, {2, 1, 0, 0x1100}, {3, 0, 2, 0}, {4, 3, 0, 0x1200}});
    put(add_samples(out, {2, 4, 2}));
    static_cast<void>(exported());
    std::vector<std::string> outermost;
    std::stringstream script{perf("script -i perf.data -F comm,ip,sym,dso").output};
    std::string before;
    for (std::string line; std::getline(script, line); before = line) {
        if (line.empty()) {
            outermost.push_back(before.substr(before.find('(')));
        }
    }
    EXPECT_EQ(outermost, (std::vector<std::string>{"([truncated: no tables])", "([truncated: depth])",
                                                   "([truncated: no tables])"}));
}

TEST_F(PerfDataExport, WritesTasksMappingsAndBuildIdsOfItsSamples) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {4, 2}));
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

// -- bytes ------------------------------------------------------------------------------------------------------------

// Puts a file together from its fields, independently of the exporter.
class Expected {
public:
    Expected& u64(std::uint64_t value) { return put(value, 8); }
    Expected& u32(std::uint64_t value) { return put(value, 4); }
    Expected& u16(std::uint64_t value) { return put(value, 2); }
    Expected& u8(std::uint64_t value) { return put(value, 1); }
    Expected& text(std::string_view value, std::size_t size) {
        bytes += value;
        bytes.append(size - value.size(), '\0');
        return *this;
    }
    Expected& record(unsigned type, unsigned misc, unsigned size) { return u32(type).u16(misc).u16(size); }
    Expected& trailer(std::uint32_t pid, std::uint32_t tid, std::uint64_t time, std::uint32_t cpu) {
        return u32(pid).u32(tid).u64(time).u32(cpu).u32(0).u64(1);
    }
    Expected& attr() {
        u32(1).u32(112).u64(0).u64(999).u64(0x101a7);  // software cpu-clock; 999 Hz; IDENTIFIER … CALLCHAIN
        // exclude_kernel mmap comm freq task sample_id_all mmap2 comm_exec use_clockid
        u64(0).u64(1U << 5 | 1U << 8 | 1U << 9 | 1U << 10 | 1U << 13 | 1U << 18 | 1U << 23 | 1U << 24 | 1U << 25);
        return text("", 92 - 48).u32(1).text("", 16);  // clockid: CLOCK_MONOTONIC
    }
    Expected& feature_string(std::string_view value) { return u32(64).text(value, 64); }
    std::string bytes;

private:
    Expected& put(std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            bytes += static_cast<char>(value >> (8 * i) & 255U);
        }
        return *this;
    }
};

TEST_F(PerfDataExport, BytesOfASmallFile) {
    define(sample_session(kTarget, kSession));
    SampleBatch small = batch(1);
    small.add_images({{0, image_flags::kFileOffset, std::string(20, 'P'), "/bin/p"}});
    small.add_stacks({{1, 0, 0, 0x1100}, {2, 1, 0, 0x1200}});
    small.add_strings({{1, "p"}});
    small.add(kTasks, {{ColumnId::kTime, {kT0, kT0}},
                       {ColumnId::kTaskOp, {6, 5}},
                       {ColumnId::kPid, {100, 100}},
                       {ColumnId::kTid, {100, 100}},
                       {ColumnId::kString, {1, 0}},
                       {ColumnId::kAddress, {0, 0x400000}},
                       {ColumnId::kSize, {0, 0x2000}},
                       {ColumnId::kFileOffset, {0, 0x1000}},
                       {ColumnId::kProtection, {0, 0x2'0000'0005}}});
    put(add_samples(small, {2}));
    static_cast<void>(exported());

    Expected data;
    data.record(3, 0, 56).u32(100).u32(100).text("p", 8).trailer(100, 100, kT0 + 10, 0);
    data.record(10, 2 | 0x4000, 112).u32(100).u32(100).u64(0x400000).u64(0x2000).u64(0x1000);
    data.u8(20).text("", 3).text(std::string(20, 'P'), 20).u32(5).u32(2).text("/bin/p", 8);
    data.trailer(100, 100, kT0 + 10, 0);
    data.record(9, 2, 8 + 48 + 8 + 24)
        .u64(1)
        .u64(0x400200)
        .u32(100)
        .u32(100)
        .u64(kT0 + 10)
        .u32(0)
        .u32(0)
        .u64(1'000'000);
    data.u64(3).u64(static_cast<std::uint64_t>(-512)).u64(0x400200).u64(0x400100);
    data.record(68, 0, 8);

    const std::uint64_t ids = 104;
    const std::uint64_t attrs = ids + 8;
    const std::uint64_t first = attrs + 128;
    Expected file;
    file.text("PERFILE2", 8).u64(104).u64(128).u64(attrs).u64(128).u64(first).u64(data.bytes.size()).u64(0).u64(0);
    const std::uint64_t features = 1U << 2 | 0xff8 | 1U << 12 | 1U << 21 | 1U << 23 | 1U << 29;
    file.u64(features).u64(0).u64(0).u64(0);
    file.u64(1).attr().u64(ids).u64(8);
    file.bytes += data.bytes;

    std::vector<std::string> sections;
    sections.push_back(Expected{}
                           .record(67, 2 | 0x8000, 8 + 28 + 64)
                           .u32(0xffffffff)
                           .text(std::string(20, 'P'), 20)
                           .u8(20)
                           .text("", 3)
                           .text("/bin/p", 64)
                           .bytes);
    for (const char* value : {"target-7", "6.1.0", "perfleet 0.1.0", "x86_64"}) {
        sections.push_back(Expected{}.feature_string(value).bytes);
    }
    sections.push_back(Expected{}.u32(2).u32(2).bytes);
    sections.push_back(Expected{}.feature_string("test processor").bytes);
    sections.push_back(Expected{}.feature_string("Test,1,2").bytes);
    sections.push_back(Expected{}.u64(1U << 20).bytes);
    sections.push_back(Expected{}.u32(2).feature_string("perfleet-collector").feature_string("-a").bytes);
    sections.push_back(Expected{}.u32(1).u32(112).attr().u32(1).feature_string("cpu-clock").u64(1).bytes);
    sections.push_back(Expected{}.u64(kT0 + 10).u64(kT0 + 10).bytes);
    sections.push_back(Expected{}.u64(1).bytes);
    sections.push_back(Expected{}.u32(1).u32(1).u64(1'700'001'000'000'000'010).u64(kT0 + 10).bytes);
    std::uint64_t offset = file.bytes.size() + sections.size() * 16;
    for (const std::string& section : sections) {
        file.u64(offset).u64(section.size());
        offset += section.size();
    }
    for (const std::string& section : sections) {
        file.bytes += section;
    }
    const std::string written = content_of(path());
    ASSERT_EQ(written.size(), file.bytes.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
        ASSERT_EQ(written[i], file.bytes[i]) << "at " << i;
    }
}

TEST_F(PerfDataExport, IsTheSameForTheSameRows) {
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2, 3, 4}));
    SampleBatch second = batch(2);
    put(add_samples(second, {2, 5}, kT0 + 10'000));
    Selection one_thread;
    one_thread.thread_count = 1;
    static_cast<void>(exported(one_thread, "a"));
    Selection two_threads;
    two_threads.thread_count = 2;
    static_cast<void>(exported(two_threads, "b"));
    EXPECT_EQ(content_of(path("a")), content_of(path("b")));

    // The other order of delivery, and everything twice.
    store_ = make_memory_store();
    define(sample_session(kTarget, kSession));
    put(second);
    put(first);
    const auto again = store_->put(partition_of(kTarget, kBucket), std::vector{first.build(), second.build()});
    ASSERT_TRUE(again.ok());
    static_cast<void>(exported({}, "c"));
    EXPECT_EQ(content_of(path("a")), content_of(path("c")));
}

TEST_F(PerfDataExport, IsTheSameHoweverRowsWereBatched) {
    const std::vector<std::uint64_t> stacks{2, 3, 4, 5, 2, 3, 3, 3, 4};
    define(sample_session(kTarget, kSession));
    SampleBatch whole = first_batch();
    put(add_samples(whole, stacks));
    static_cast<void>(exported({}, "whole"));

    store_ = make_memory_store();
    define(sample_session(kTarget, kSession));
    put(first_batch());
    std::uint64_t seq = 2;
    for (std::size_t i = 0; i < stacks.size(); i += 2) {
        SampleIntegers columns;
        for (std::size_t k = i; k < std::min(i + 2, stacks.size()); ++k) {
            columns[ColumnId::kTime].push_back(kT0 + 10 + k * 1'000);
            columns[ColumnId::kCpu].push_back(k % 2);
            columns[ColumnId::kPid].push_back(100);
            columns[ColumnId::kTid].push_back(100 + k % 2);
            columns[ColumnId::kStack].push_back(stacks[k]);
            columns[ColumnId::kWeight].push_back(1'000'000);
        }
        SampleBatch part = batch(seq++);
        put(part.add(kClock, columns));
    }
    static_cast<void>(exported({}, "parts"));
    EXPECT_EQ(content_of(path("whole")), content_of(path("parts")));

    // As collectors seal them: by cpu.
    store_ = make_memory_store();
    define(sample_session(kTarget, kSession));
    put(first_batch());
    SampleIntegers columns;
    for (const std::size_t cpu : {0U, 1U}) {
        for (std::size_t k = cpu; k < stacks.size(); k += 2) {
            columns[ColumnId::kTime].push_back(kT0 + 10 + k * 1'000);
            columns[ColumnId::kCpu].push_back(k % 2);
            columns[ColumnId::kPid].push_back(100);
            columns[ColumnId::kTid].push_back(100 + k % 2);
            columns[ColumnId::kStack].push_back(stacks[k]);
            columns[ColumnId::kWeight].push_back(1'000'000);
        }
    }
    SampleBatch by_cpu = batch(2);
    put(by_cpu.add(kClock, columns));
    static_cast<void>(exported({}, "by_cpu"));
    EXPECT_EQ(content_of(path("whole")), content_of(path("by_cpu")));
}

// -- selections -------------------------------------------------------------------------------------------------------

TEST_F(PerfDataExport, RefusesSeveralTargets) {
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2}));
    const TargetId other{8};
    define(sample_session(other, {3, 4}));
    SampleBatch second{other, {3, 4}, Seq{1}, EpochNumber{0}, kBucket};
    put(add_samples(second, {0}), other);
    const auto refused = try_export();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_NE(refused.error().message.find("target-7"), std::string::npos);
    EXPECT_NE(refused.error().message.find("target-8"), std::string::npos);
    EXPECT_NE(refused.error().message.find("--select"), std::string::npos);
    Selection selection;
    selection.matchers = {{"target", Matcher::Operator::kEqual, "target-8"}};
    EXPECT_EQ(exported(selection).sample_count, 1U);
}

TEST_F(PerfDataExport, OfNothingIsAnError) {
    EXPECT_EQ(try_export().error().code, ErrorCode::kNotFound);
    define(sample_session(kTarget, kSession));
    put(first_batch());
    EXPECT_EQ(try_export().error().code, ErrorCode::kNotFound);
}

TEST_F(PerfDataExport, TakesOnlyTheSelectedTime) {
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2, 2, 2, 2, 2}));
    Selection selection;
    selection.from = UtcNs{1'700'001'000'000'000'000 + 10 + 1'000};
    selection.to = UtcNs{1'700'001'000'000'000'000 + 10 + 4'000};
    const ExportSummary summary = exported(selection);
    EXPECT_EQ(summary.sample_count, 3U);
    EXPECT_EQ(summary.first_time, *selection.from);
    EXPECT_EQ(summary.last_time, UtcNs{1'700'001'000'000'000'000 + 10 + 3'000});
    selection.from = UtcNs{1'800'000'000'000'000'000};
    selection.to.reset();
    const ExportSummary nothing = exported(selection, "empty.data");
    EXPECT_EQ(nothing.sample_count, 0U);
    ASSERT_FALSE(nothing.warnings.empty());
    EXPECT_NE(nothing.warnings.front().find("the file has events and no rows"), std::string::npos);
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    const Said script = perf("script -i empty.data");
    EXPECT_EQ(script.output, "");
    EXPECT_EQ(script.errors, "");
    EXPECT_EQ(perf("evlist -i empty.data").status, 0);
}

// -- what was lost ----------------------------------------------------------------------------------------------------

TEST_F(PerfDataExport, KeepsSamplesWhoseMeaningWasLost) {
    define(sample_session(kTarget, kSession));
    SampleBatch out = batch(1);
    out.add_images({{0, image_flags::kFileOffset, std::string(20, 'P'), "/nowhere/program"}});
    out.add_stacks({{1, 0, 0, 0x1100}});
    // Never mapped; a stack that isn't defined; none at all.
    put(add_samples(out, {1, 77, 0, 1}));
    EXPECT_EQ(exported().sample_count, 4U);
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    const Said script = perf("script -i perf.data -G -F tid,ip,dso");
    EXPECT_EQ(script.errors, "");
    EXPECT_EQ(script.output,
              "  100      100000001100 (/nowhere/program)\n"
              "  101                 0 ([unknown])\n"
              "  100                 0 ([unknown])\n"
              "  101      100000001100 (/nowhere/program)\n");
}

TEST_F(PerfDataExport, SaysHowManySamplesWereLost) {
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    add_samples(first, {2, 3});
    first.entry(kClock, CountName::kProduced, 12).entry(kClock, CountName::kLostRingFull, 10);
    put(first);
    SampleBatch second = batch(2);
    second.add(
        kTasks,
        {{ColumnId::kTime, {kT0 + 500}}, {ColumnId::kTaskOp, {7}}, {ColumnId::kSize, {4}}, {ColumnId::kValue, {0}}});
    second.entry(kClock, CountName::kProduced, 12).entry(kClock, CountName::kLostRingFull, 10);
    put(second);
    const ExportSummary summary = exported();
    EXPECT_EQ(summary.sample_count, 2U);
    EXPECT_EQ(summary.ledger.lost.at("ring_full"), 10U);
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    const Said report = perf("report --stdio -i perf.data --no-children -g none");
    EXPECT_NE(report.output.find("# Total Lost Samples: 10\n"), std::string::npos) << report.output;
    EXPECT_NE(report.errors.find("lost"), std::string::npos) << report.errors;
}

// -- several sessions -------------------------------------------------------------------------------------------------

TEST_F(PerfDataExport, PutsLaterSessionsOnTheFirstOnesClock) {
    // Session ids are random: the later one may be before the first in the store.
    for (const SessionId later_id : {SessionId{5, 6}, SessionId{0, 1}}) {
        SCOPED_TRACE(later_id.high);
        store_ = make_memory_store();
        define(sample_session(kTarget, kSession));
        SampleBatch first = first_batch();
        put(add_samples(first, {2, 3}));
        // Another start of the machine: its clock began anew 2,000 s after the first one's.
        SessionRecord later = sample_session(kTarget, later_id);
        later.start_point.utc_ns.value += 2'000'000'000'000;
        define(later);
        SampleBatch second = batch(1, 0, later_id);
        second.add_images({{0, image_flags::kFileOffset, std::string(20, 'P'), "/nowhere/program"}});
        second.add_stacks({{1, 0, 0, 0x1300}});
        put(add_samples(second, {1}, 7'000));
        const ExportSummary summary = exported();
        EXPECT_EQ(summary.sample_count, 3U);
        EXPECT_EQ(summary.last_time, UtcNs{1'700'002'000'000'007'000});
        if (!perf_is_here()) {
            continue;
        }
        const Said script = perf("script -i perf.data -G --ns -F time,ip,dso");
        EXPECT_EQ(script.errors, kKernelNotHere);
        EXPECT_EQ(script.output,
                  " 1000.000000010:      555500001200 (/nowhere/program)\n"
                  " 1000.000001010:  ffffffff81000500 ([kernel.kallsyms])\n"
                  " 2000.000007000:      100000001300 (/nowhere/program)\n");
    }
}

TEST_F(PerfDataExport, EpochsRepeatWhatPerfHearsOnce) {
    define(sample_session(kTarget, kSession));
    SampleBatch first = first_batch();
    put(add_samples(first, {2, 3}));
    SampleBatch second = batch(2, 1);
    second.add_images({{0, image_flags::kFileOffset, std::string(20, 'P'), "/nowhere/program"}});
    second.add_stacks({{1, 0, 0, 0x1400}});
    second.add_strings({{1, "worker"}, {2, "program"}});
    second.add(kTasks, {{ColumnId::kTime, {kT0 + 50'000, kT0 + 50'000, kT0 + 50'000}},
                        {ColumnId::kTaskOp, {6, 6, 5}},
                        {ColumnId::kPid, {100, 100, 100}},
                        {ColumnId::kTid, {100, 101, 100}},
                        {ColumnId::kString, {2, 1, 0}},
                        {ColumnId::kAddress, {0, 0, 0x555500001000}},
                        {ColumnId::kSize, {0, 0, 0x1000}},
                        {ColumnId::kFileOffset, {0, 0, 0x1000}}});
    put(add_samples(second, {1, 1}, kT0 + 60'000));
    EXPECT_EQ(exported().sample_count, 4U);
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    const Said script = perf("script -i perf.data -G -F ip,dso --show-mmap-events --show-task-events");
    EXPECT_EQ(count_of(script.output, "PERF_RECORD_COMM"), 2U) << script.output;
    EXPECT_EQ(count_of(script.output, "/nowhere/program\n"), 1U) << script.output;
    EXPECT_EQ(count_of(script.output, "1400 (/nowhere/program)"), 2U) << script.output;
}

// A time that no session reaches must not stop the export.
TEST_F(PerfDataExport, WritesSamplesAtTheEndOfTime) {
    define(sample_session(kTarget, kSession));
    SampleBatch out = batch(1);
    out.add(kClock, {{ColumnId::kTime, {0, ~0ULL}}, {ColumnId::kWeight, {1, 1}}});
    put(out);
    Selection all;
    const auto summary = try_export(all);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_GE(summary->sample_count, 1U);
}

// -- processes over time ----------------------------------------------------------------------------------------------

// Forks, execs, names and mappings at random; perf must find the name of each sample's thread, and at the sample's
// address the frame's byte. perf itself distinguishes the frames' images and offsets.
TEST_F(PerfDataExport, PerfFindsEveryFrameAgain) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    constexpr std::uint32_t kImages = 6;
    constexpr std::uint64_t kPages = 8;
    std::mt19937_64 random{99};
    define(sample_session(kTarget, kSession));
    SampleBatch out = batch(1);
    std::vector<SampleBatch::Image> images;
    std::vector<SampleBatch::Stack> stacks;
    for (std::uint32_t image = 0; image < kImages; ++image) {
        images.push_back({image, image_flags::kFileOffset, std::string(20, static_cast<char>('a' + image)),
                          "/nowhere/image-" + std::to_string(image)});
        for (std::uint64_t page = 0; page < kPages; ++page) {
            stacks.push_back(
                {static_cast<std::uint32_t>(1 + image * kPages + page), 0, image, page * 4096 + 16 * image});
        }
    }
    out.add_images(images).add_stacks(stacks);
    out.add_strings({{1, "one"}, {2, "two"}, {3, "three"}});
    const std::array<std::string, 4> names{"", "one", "two", "three"};
    std::map<std::uint64_t, std::uint64_t> name_of;  // of threads that are known

    SampleIntegers tasks;
    SampleIntegers samples;
    const auto task = [&](std::uint64_t time, TaskOp op, std::uint64_t pid, std::uint64_t parent, std::uint64_t image,
                          std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t name = 0) {
        tasks[ColumnId::kTime].push_back(time);
        tasks[ColumnId::kString].push_back(name);
        tasks[ColumnId::kTaskOp].push_back(static_cast<std::uint64_t>(op));
        tasks[ColumnId::kPid].push_back(pid);
        tasks[ColumnId::kTid].push_back(pid);
        tasks[ColumnId::kParentPid].push_back(parent);
        tasks[ColumnId::kParentTid].push_back(parent);
        tasks[ColumnId::kImage].push_back(image);
        tasks[ColumnId::kAddress].push_back(address);
        tasks[ColumnId::kSize].push_back(size);
        tasks[ColumnId::kFileOffset].push_back(offset);
    };
    std::vector<std::string> expected;
    std::uint64_t time = kT0;
    for (int step = 0; step < 4'000; ++step) {
        time += 10;
        const std::uint64_t pid = 100 + random() % 5;
        switch (random() % 12) {
            case 0: {
                const std::uint64_t child = 100 + random() % 5;
                if (child != pid) {
                    task(time, TaskOp::kFork, child, pid, 0, 0, 0, 0);
                    name_of[child] = name_of[pid];
                }
                break;
            }
            case 1: {
                const std::uint64_t name = 1 + random() % 3;
                task(time, random() % 2 == 0 ? TaskOp::kExec : TaskOp::kComm, pid, 0, 0, 0, 0, 0, name);
                name_of[pid] = name;
                break;
            }
            case 2:
            case 3: {
                const std::uint64_t page = random() % kPages;
                task(time, TaskOp::kMap, pid, 0, random() % kImages, 0x400000 + random() % 32 * 4096,
                     (1 + random() % (kPages - page)) * 4096, page * 4096);
                break;
            }
            default: {
                const std::uint32_t image = static_cast<std::uint32_t>(random() % kImages);
                const std::uint64_t page = random() % kPages;
                samples[ColumnId::kTime].push_back(time);
                samples[ColumnId::kPid].push_back(pid);
                // The thread, once it is known, keeps its name: of its process's first, or of an earlier process's.
                const std::uint64_t tid = pid + (random() % 3 == 0 ? 1'000 : 0);
                const std::uint64_t name = name_of.try_emplace(tid, name_of[pid]).first->second;
                samples[ColumnId::kTid].push_back(tid);
                samples[ColumnId::kStack].push_back(1 + image * kPages + page);
                char text[96];
                std::snprintf(text, sizeof(text), "%s %lu %lx (/nowhere/image-%u)",
                              (name != 0 ? names[name] : ":" + std::to_string(tid)).c_str(), tid,
                              page * 4096 + 16 * image, image);
                expected.emplace_back(text);
            }
        }
    }
    out.add(kTasks, tasks).add(kClock, samples);
    put(out);
    EXPECT_EQ(exported().sample_count, expected.size());
    const Said script = perf("script -i perf.data -F comm,tid,ip,dso");
    EXPECT_EQ(script.errors, "");
    std::istringstream lines{script.output};
    std::size_t number = 0;
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        for (std::string word; words >> word;) {
            text += (text.empty() ? "" : " ") + word;
        }
        if (line.empty()) {
            ASSERT_LT(number, expected.size());
            ASSERT_EQ(text, expected[number]) << number;
            ++number;
            text.clear();
        }
    }
    EXPECT_EQ(number, expected.size());
}
}  // namespace
}  // namespace perfleet::export_test
