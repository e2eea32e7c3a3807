// Rows of a seL4 kernel's log in an export, as the real perf reads them: by name.
#include <gtest/gtest.h>

#include <algorithm>

#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/uncovered_time.h"
#include "tests/perf_data/export_fixture.h"

namespace perfleet::kernel_log_test {
namespace {

constexpr std::uint64_t kT0 = 5'000'000'000;
constexpr Series kEntries{Kind::kKernelEntry, EventNumber{1}};
constexpr Series kTracepoints{Kind::kTracepoint, EventNumber{2}};

// An entry's detail, as the kernel packs it.
constexpr std::uint64_t syscall(std::uint64_t number, std::uint64_t cap, bool is_fastpath, std::uint64_t invocation) {
    return number | cap << 4 | std::uint64_t{is_fastpath} << 9 | invocation << 10;
}
constexpr std::uint64_t word(std::uint64_t core, std::uint64_t value) { return core | value << 3; }

class KernelLogExport : public ExportTest {
protected:
    void SetUp() override {
        if (!perf_is_here()) {
            GTEST_SKIP() << "perf is not installed";
        }
    }
    // Samples with call chains, kernel entries, and a tracepoint with id 3. `version`: of the kernel.
    [[nodiscard]] SessionRecord session(const std::string& version, bool is_mcs) const {
        SessionRecord record = sample_session(kTarget, kSession);
        sel4::LogDescription of;
        of.architecture = sel4::Architecture::kAarch64;
        of.architecture_name = "aarch64";
        of.version = version;
        of.is_mcs = is_mcs;
        EventRecord entries;
        entries.name = "kernel_entries";
        entries.kind = Kind::kKernelEntry;
        entries.unit = "cycles";
        entries.format = sel4::format_description(of);
        EventRecord tracepoint = entries;
        tracepoint.name = "ipc fast path";
        tracepoint.kind = Kind::kTracepoint;
        of.tracepoint_id = 3;
        tracepoint.format = sel4::format_description(of);
        record.events = {record.events[0], entries, tracepoint};
        return record;
    }
    void put_rows() {
        SampleBatch out = batch(1);
        out.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {kT0}}, {ColumnId::kWeight, {3}}});
        out.add(kEntries, {{ColumnId::kTime, {kT0 + 1'000, kT0 + 2'000, kT0 + 3'000, kT0 + 4'000}},
                           {ColumnId::kCpu, {0, 1, 0, 0}},
                           {ColumnId::kDuration, {400, 250, 90, 60}},
                           {ColumnId::kEntryPath, {6, 1, 5, 6}},
                           {ColumnId::kEntryDetail,
                            {syscall(1, 4, true, 7), word(1, 30), word(0, 0x1234), syscall(2, 8, false, 0)}}});
        out.add(kTracepoints, {{ColumnId::kTime, {kT0 + 2'500}}, {ColumnId::kWeight, {1}}, {ColumnId::kValue, {777}}},
                {{ColumnId::kRawBytes, {""}}});
        put(out);
    }
    // One blank where perf aligns columns.
    static void expect_line(const std::string& script, const std::string& line) {
        std::string text = script;
        text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                   text.end());
        EXPECT_NE(text.find(line + "\n"), std::string::npos) << line << "\n" << script;
    }
};

TEST_F(KernelLogExport, EntriesAndTracepointsHaveNames) {
    define(session("16.0.0", false));
    put_rows();
    const ExportSummary summary = exported();
    EXPECT_EQ(summary.sample_count, 6U);
    const Said script = perf("script -i perf.data");
    EXPECT_EQ(script.errors, "");
    EXPECT_EQ(count_of(script.output, "sel4:kernel_entry:"), 4U) << script.output;
    expect_line(script.output,
                "seL4 0 [000] 5.000001: sel4:kernel_entry: path=syscall duration=400 syscall=Call "
                "cap=endpoint invocation=7 fastpath=1 word=0");
    expect_line(script.output,
                "seL4 0 [001] 5.000002: sel4:kernel_entry: path=interrupt duration=250 syscall=- cap=- "
                "invocation=0 fastpath=0 word=30");
    expect_line(script.output,
                "seL4 0 [000] 5.000003: sel4:kernel_entry: path=vm_fault duration=90 syscall=- cap=- "
                "invocation=0 fastpath=0 word=4660");
    expect_line(script.output,
                "seL4 0 [000] 5.000004: sel4:kernel_entry: path=syscall duration=60 syscall=ReplyRecv "
                "cap=reply invocation=0 fastpath=0 word=0");
    expect_line(script.output, "seL4 0 [000] 5.000002: sel4:ipc_fast_path: id=3 duration=777");
}

// Numbers mean what they mean in that kernel.
TEST_F(KernelLogExport, NamesAreThoseOfItsKernel) {
    define(session("13.0.0", true));
    put_rows();
    (void)exported();
    const Said script = perf("script -i perf.data");
    EXPECT_EQ(count_of(script.output, "path=unimplemented_device"), 2U) << script.output;
    EXPECT_EQ(count_of(script.output, "path=unknown_syscall"), 1U) << script.output;
    EXPECT_EQ(count_of(script.output, "path=syscall duration=90 syscall=NBSendRecv"), 0U);
}

// Time that no sampling covered: entries between one reading and the next, and nothing if there were none.
TEST_F(KernelLogExport, UncoveredTimeIsAnEventOfItsOwn) {
    SessionRecord record = session("16.0.0", false);
    EventRecord counter;
    counter.name = kUncoveredTimeEvent;
    counter.kind = Kind::kCounter;
    counter.unit = "cycles";
    record.events.push_back(counter);
    define(record);
    put_rows();
    SampleBatch out = batch(2);
    const std::vector<std::uint64_t> times{kT0 + 1'000'000, kT0 + 2'000'000, kT0 + 3'000'000};
    out.add({Kind::kCounter, EventNumber{3}},
            {{ColumnId::kTime, times}, {ColumnId::kValue, {600'000, 600'000, 850'000}}});
    put(out);
    EXPECT_EQ(exported().sample_count, 6U);  // as the ledger: readings aren't samples
    const Said script = perf("script -i perf.data");
    EXPECT_EQ(script.errors, "");
    EXPECT_EQ(count_of(script.output, "perfleet:uncovered:"), 2U) << script.output;
    expect_line(script.output, "seL4 0 [000] 5.001000: perfleet:uncovered: uncovered=600000 of=" +
                                   std::to_string(times[0] - record.start_point.ticks.value));
    expect_line(script.output, "seL4 0 [000] 5.003000: perfleet:uncovered: uncovered=250000 of=1000000");
    const Said report = perf("report --stdio --no-children -g none -i perf.data -s comm");
    EXPECT_NE(report.output.find("of event 'perfleet:uncovered'\n# Event count (approx.): 850000\n"), std::string::npos)
        << report.output;

    // Entries before the range are in none of it.
    Selection selection;
    selection.from =
        UtcNs{record.start_point.utc_ns.value + static_cast<std::int64_t>(times[1] - record.start_point.ticks.value)};
    (void)exported(selection, "part.data");
    const Said part = perf("script -i part.data");
    EXPECT_EQ(count_of(part.output, "perfleet:uncovered:"), 1U) << part.output;
    expect_line(part.output, "seL4 0 [000] 5.003000: perfleet:uncovered: uncovered=250000 of=1000000");
}

TEST_F(KernelLogExport, AReportIsOfTime) {
    define(session("16.0.0", false));
    put_rows();
    (void)exported();
    const Said report = perf("report --stdio --no-children -g none -i perf.data -s sel4:kernel_entry.path");
    EXPECT_NE(report.output.find("57.50%                   syscall"), std::string::npos) << report.output;
    EXPECT_NE(report.output.find("31.25%                 interrupt"), std::string::npos) << report.output;
    EXPECT_NE(report.output.find("Event count (approx.): 800\n"), std::string::npos) << report.output;
}

}  // namespace
}  // namespace perfleet::kernel_log_test
