// Groups of events in exports, as the real perf reads them.
#include <gtest/gtest.h>

#include "tests/perf_data/export_fixture.h"

namespace perfleet::group_test {
namespace {

constexpr std::uint64_t kT0 = 1'000'000'000'000;

EventRecord event(const std::string& name, std::uint64_t config, std::uint16_t group) {
    EventRecord record;
    record.name = name;
    record.kind = Kind::kSample;
    record.perf_type = 1;  // PERF_TYPE_SOFTWARE
    record.perf_config = config;
    record.period = 1;
    record.unit = "events";
    record.group = group;
    return record;
}

class PerfDataGroups : public ExportTest {
protected:
    // Beside the warnings about sessions that have not ended.
    static std::string warnings_of_groups(const ExportSummary& summary) {
        std::string text;
        for (const std::string& warning : summary.warnings) {
            text += warning.find("group") != std::string::npos ? warning + "\n" : "";
        }
        return text;
    }
    SessionRecord session(SessionId id, const std::vector<EventRecord>& events) const {
        SessionRecord record = sample_session(kTarget, id);
        record.events = events;
        return record;
    }
    // A row of each of these events.
    void put_rows(const SessionRecord& record, const std::vector<std::uint16_t>& events) {
        define(record);
        SampleBatch rows = batch(1, 0, record.session);
        for (const std::uint16_t number : events) {
            rows.add({Kind::kSample, EventNumber{number}}, {{ColumnId::kTime, {kT0 + number}},
                                                            {ColumnId::kPid, {100}},
                                                            {ColumnId::kTid, {100}},
                                                            {ColumnId::kWeight, {1}}});
        }
        put(rows);
    }
};

TEST_F(PerfDataGroups, AreThoseThatPerfFindsWhoeverOfThemHasRows) {
    put_rows(session(kSession, {event("cpu-clock", 0, 0), event("task-clock", 1, 1), event("page-faults", 2, 1),
                                event("context-switches", 3, 1), event("minor-faults", 5, 2),
                                event("major-faults", 6, 2), event("cpu-migrations", 4, 0)}),
             {0, 1, 2, 6});
    const ExportSummary summary = exported();
    EXPECT_EQ(summary.sample_count, 4U);
    EXPECT_EQ(warnings_of_groups(summary), "");
    if (!perf_is_here()) {
        GTEST_SKIP() << "perf is not installed";
    }
    // Of a group without any row there is nothing to report.
    EXPECT_EQ(perf("evlist -g -i perf.data").output,
              "cpu-clock\n{task-clock,page-faults,context-switches}\ncpu-migrations\n");
    const Said header = perf("report --header-only -i perf.data");
    EXPECT_NE(header.output.find("# group: {task-clock,page-faults,context-switches}\n"), std::string::npos)
        << header.output;
    EXPECT_EQ(header.output.find("# group: {minor"), std::string::npos);
    const Said report = perf("report --stdio -n -i perf.data");
    EXPECT_EQ(report.status, 0) << report.errors;
    EXPECT_NE(report.output.find("'anon group { task-clock, page-faults, context-switches }'"), std::string::npos)
        << report.output;
    const Said script = perf("script -F event -i perf.data");
    EXPECT_EQ(script.output, "       cpu-clock: \n      task-clock: \n     page-faults: \n  cpu-migrations: \n")
        << script.errors;
}

TEST_F(PerfDataGroups, AreLeftOutWhereOneEventIsSelectedOrSessionsDisagree) {
    const SessionId later{1, 3};
    put_rows(session(kSession, {event("task-clock", 1, 1), event("page-faults", 2, 1)}), {0, 1});
    Selection one_event;
    one_event.event = "page-faults";
    EXPECT_EQ(warnings_of_groups(exported(one_event)), "");
    if (perf_is_here()) {
        EXPECT_EQ(perf("evlist -g -i perf.data").output, "page-faults\n");
    }
    put_rows(session(later, {event("task-clock", 1, 1), event("context-switches", 3, 1)}), {0, 1});
    EXPECT_NE(warnings_of_groups(exported()).find("task-clock: its group isn't the same in all sessions"),
              std::string::npos);
    if (perf_is_here()) {
        EXPECT_EQ(perf("evlist -g -i perf.data").output, "task-clock\npage-faults\ncontext-switches\n");
    }
}

TEST_F(PerfDataGroups, OfSessionsThatAgreeAreTheSame) {
    const std::vector<EventRecord> events{event("task-clock", 1, 1), event("page-faults", 2, 1)};
    put_rows(session(kSession, events), {0});
    put_rows(session(SessionId{1, 3}, events), {1});
    EXPECT_EQ(warnings_of_groups(exported()), "");
    if (perf_is_here()) {
        EXPECT_EQ(perf("evlist -g -i perf.data").output, "{task-clock,page-faults}\n");
    }
}

// perf skips events without samples, and with a leader all of its group.
TEST_F(PerfDataGroups, AreLeftOutWhereTheirLeaderHasNoSamples) {
    put_rows(session(kSession, {event("task-clock", 1, 1), event("page-faults", 2, 1)}), {1});
    EXPECT_NE(warnings_of_groups(exported()).find("task-clock has no samples, and leads a group"), std::string::npos);
    if (perf_is_here()) {
        EXPECT_EQ(perf("evlist -g -i perf.data").output, "task-clock\npage-faults\n");
        EXPECT_NE(perf("report --stdio -n -i perf.data").output.find("Samples: 1  of event 'page-faults'"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace perfleet::group_test
