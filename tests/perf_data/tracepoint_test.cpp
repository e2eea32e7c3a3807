// Tracepoints in an export: their fields, as the real perf reads them.
#include <gtest/gtest.h>

#include <cstring>

#include "schemas/vocabulary/kinds.h"
#include "tests/perf_data/export_fixture.h"

namespace perfleet::tracepoint_test {
namespace {

constexpr std::uint64_t kT0 = 5'000'000'000;

// An event that no kernel has.
const std::string kDemoFormat =
    "name: demo_event\n"
    "ID: 900\n"
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:char word[8];\toffset:12;\tsize:8;\tsigned:0;\n"
    "\n"
    "print fmt: \"value=%d word=%s\", REC->value, REC->word\n";

class Raw {
public:
    template <class T>
    Raw& put(T value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return *this;
    }
    Raw& common(std::uint16_t type, std::int32_t pid) {
        return put(type).put(std::uint8_t{0}).put(std::uint8_t{0}).put(pid);
    }
    Raw& text(std::string_view value, std::size_t size) {
        bytes += value;
        bytes.append(size - value.size(), '\0');
        return *this;
    }
    std::string bytes;
};

class TracepointExport : public ExportTest {
protected:
    static EventRecord tracepoint(const std::string& name, std::uint64_t id, const std::string& format) {
        EventRecord event;
        event.name = name;
        event.kind = Kind::kTracepoint;
        event.perf_type = 2;
        event.perf_config = id;
        event.period = 1;
        event.format = format;
        return event;
    }
    static Series series(std::uint16_t event) { return {Kind::kTracepoint, EventNumber{event}}; }
};

TEST_F(TracepointExport, FieldsAreDecoded) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    SessionRecord session = sample_session(kTarget, kSession);
    session.events = {tracepoint("demo:demo_event", 900, kDemoFormat)};
    define(session);
    SampleBatch out = batch(1);
    // Sizes that need padding and sizes that don't.
    out.add(
        series(0),
        {{ColumnId::kTime, {kT0, kT0 + 1'000}},
         {ColumnId::kPid, {10, 10}},
         {ColumnId::kTid, {10, 10}},
         {ColumnId::kWeight, {1, 1}}},
        {{ColumnId::kRawBytes,
          {Raw{}.common(900, 10).put(-5).text("one", 8).bytes, Raw{}.common(900, 10).put(77).text("two", 12).bytes}}});
    put(out);
    EXPECT_EQ(exported().sample_count, 2U);
    const Said script = perf("script -i perf.data");
    EXPECT_EQ(script.errors, "");
    EXPECT_NE(script.output.find("5.000000: demo:demo_event: value=-5 word=one\n"), std::string::npos) << script.output;
    EXPECT_NE(script.output.find("5.000001: demo:demo_event: value=77 word=two\n"), std::string::npos) << script.output;
}

TEST_F(TracepointExport, StandsBesideSamples) {
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    SessionRecord session = sample_session(kTarget, kSession);
    EventRecord custom = session.events[0];
    custom.name = "seL4:ticks";
    custom.callchain = false;
    session.events = {session.events[0], tracepoint("demo:demo_event", 900, kDemoFormat), custom};
    define(session);
    SampleBatch out = batch(1);
    out.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {kT0, kT0 + 20}}, {ColumnId::kWeight, {3, 4}}});
    out.add({Kind::kSample, EventNumber{2}}, {{ColumnId::kTime, {kT0 + 5, kT0 + 15}}, {ColumnId::kWeight, {1, 1}}});
    out.add(series(1), {{ColumnId::kTime, {kT0 + 10}}, {ColumnId::kWeight, {1}}},
            {{ColumnId::kRawBytes, {Raw{}.common(900, 10).put(1).text("x", 8).bytes}}});
    put(out);
    EXPECT_EQ(exported().sample_count, 5U);
    const Said script = perf("script -i perf.data -F event --ns");
    EXPECT_EQ(script.errors, "");
    // Without their addresses samples with a call chain leave an empty line.
    EXPECT_EQ(count_of(script.output, "cpu-clock:"), 2U) << script.output;
    EXPECT_EQ(count_of(script.output, "seL4:ticks:"), 2U) << script.output;
    EXPECT_EQ(count_of(script.output, "demo:demo_event:"), 1U) << script.output;
    const Said list = perf("evlist -i perf.data");
    EXPECT_EQ(list.output.substr(0, list.output.find('#')), "cpu-clock\nseL4:ticks\ndemo:demo_event\n");
    const Said report = perf("report --stdio -i perf.data -g none");
    EXPECT_EQ(report.errors, "");
    EXPECT_EQ(count_of(report.output, "# Samples: "), 3U) << report.output;
}

TEST_F(TracepointExport, WithoutFormatIsExportedWithoutFields) {
    SessionRecord session = sample_session(kTarget, kSession);
    session.events = {tracepoint("demo:demo_event", 900, "")};
    define(session);
    SampleBatch out = batch(1);
    out.add(series(0), {{ColumnId::kTime, {kT0}}, {ColumnId::kWeight, {1}}}, {{ColumnId::kRawBytes, {"12345678"}}});
    put(out);
    const ExportSummary summary = exported();
    EXPECT_EQ(summary.sample_count, 1U);
    ASSERT_FALSE(summary.warnings.empty());
    EXPECT_NE(summary.warnings[0].find("demo:demo_event"), std::string::npos);
    if (perf_is_here()) {
        const Said script = perf("script -i perf.data -F event");
        EXPECT_EQ(script.errors, "");
        EXPECT_EQ(count_of(script.output, "demo:demo_event"), 1U);
    }
}

// The running kernel's own formats.
class SchedulerExport : public TracepointExport {
protected:
    static std::string format_of(const std::string& name) {
        std::string format = content_of("/sys/kernel/tracing/events/" + name + "/format");
        return format.empty() ? content_of("/sys/kernel/debug/tracing/events/" + name + "/format") : format;
    }
    struct Field {
        std::size_t offset = 0;
        std::size_t size = 0;
    };
    static Field field(const std::string& format, const std::string& name) {
        const std::size_t at = std::min(format.find(" " + name + ";"), format.find(" " + name + "["));
        Field found;
        if (at != std::string::npos) {
            std::sscanf(format.c_str() + format.find("offset:", at), "offset:%zu;\tsize:%zu;", &found.offset,
                        &found.size);
        }
        return found;
    }
    static void set(std::string& raw, const std::string& format, const std::string& name, std::uint64_t value) {
        const Field place = field(format, name);
        if (raw.size() < place.offset + place.size) {
            raw.resize(place.offset + place.size);
        }
        std::memcpy(raw.data() + place.offset, &value, std::min<std::size_t>(place.size, 8));
    }
    static std::uint64_t id_of(const std::string& format) { return std::stoull(format.substr(format.find("ID:") + 3)); }
};

TEST_F(SchedulerExport, LatencyIsMeasuredBetweenWakeupAndSwitch) {
    const std::string wakeup = format_of("sched/sched_wakeup");
    const std::string change = format_of("sched/sched_switch");
    if (!perf_is_here() || wakeup.empty() || change.empty()) {
        GTEST_SKIP() << "perf or the kernel's tracepoints are not here";
    }
    SessionRecord session = sample_session(kTarget, kSession);
    session.events = {tracepoint("sched:sched_switch", id_of(change), change),
                      tracepoint("sched:sched_wakeup", id_of(wakeup), wakeup)};
    define(session);

    // Thread 20 is woken, and runs 3 ms later for 5 ms; then thread 10 runs again. Ten times.
    SampleIntegers switches;
    SampleIntegers wakeups;
    std::vector<std::string> switch_raw;
    std::vector<std::string> wakeup_raw;
    const auto switch_row = [&](std::uint64_t time, std::uint64_t from, std::uint64_t to) {
        switches[ColumnId::kTime].push_back(time);
        switches[ColumnId::kPid].push_back(from);
        switches[ColumnId::kTid].push_back(from);
        switches[ColumnId::kWeight].push_back(1);
        std::string raw;
        set(raw, change, "common_type", id_of(change));
        set(raw, change, "common_pid", from);
        set(raw, change, "prev_comm", from == 10 ? 'a' : 'b');
        set(raw, change, "prev_pid", from);
        set(raw, change, "prev_prio", 120);
        set(raw, change, "prev_state", from == 20 ? 1 : 0);
        set(raw, change, "next_comm", to == 10 ? 'a' : 'b');
        set(raw, change, "next_pid", to);
        set(raw, change, "next_prio", 120);
        switch_raw.push_back(raw);
    };
    for (std::uint64_t round = 0; round < 10; ++round) {
        const std::uint64_t time = kT0 + round * 20'000'000;
        wakeups[ColumnId::kTime].push_back(time);
        wakeups[ColumnId::kPid].push_back(10);
        wakeups[ColumnId::kTid].push_back(10);
        wakeups[ColumnId::kWeight].push_back(1);
        std::string raw;
        set(raw, wakeup, "common_type", id_of(wakeup));
        set(raw, wakeup, "common_pid", 10);
        set(raw, wakeup, "comm", 'b');
        set(raw, wakeup, "pid", 20);
        set(raw, wakeup, "prio", 120);
        set(raw, wakeup, "success", 1);
        set(raw, wakeup, "target_cpu", 0);
        wakeup_raw.push_back(raw);
        switch_row(time + 3'000'000, 10, 20);
        switch_row(time + 8'000'000, 20, 10);
    }
    SampleBatch out = batch(1);
    out.add_strings({{1, "a"}, {2, "b"}});
    out.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {kT0, kT0}},
                                      {ColumnId::kTaskOp, {6, 6}},
                                      {ColumnId::kPid, {10, 20}},
                                      {ColumnId::kTid, {10, 20}},
                                      {ColumnId::kString, {1, 2}}});
    out.add(series(0), switches, {{ColumnId::kRawBytes, switch_raw}});
    out.add(series(1), wakeups, {{ColumnId::kRawBytes, wakeup_raw}});
    put(out);
    EXPECT_EQ(exported().sample_count, 30U);
    const Said script = perf("script -i perf.data");
    EXPECT_EQ(script.errors, "");
    EXPECT_EQ(count_of(script.output, "prev_comm=a prev_pid=10 prev_prio=120"), 10U) << script.output;
    const Said latency = perf("sched latency -i perf.data");
    EXPECT_EQ(latency.errors, "");
    const std::size_t row = latency.output.find("  b:20");
    ASSERT_NE(row, std::string::npos) << latency.output;
    const std::string line = latency.output.substr(row, latency.output.find('\n', row) - row);
    EXPECT_NE(line.find("|       10 | avg:   3.000 ms | max:   3.000 ms |"), std::string::npos) << line;
}

}  // namespace
}  // namespace perfleet::tracepoint_test
