// Runs of hand-made switches and samples; the figure and the page of them.
#include "exporters/schedule/schedule.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "exporters/schedule/schedule_figure.h"
#include "exporters/schedule/schedule_page.h"
#include "exporters/sink/testing/page_json.h"

namespace perfleet::schedule_test {
namespace {

using Json = nlohmann::json;

const std::string kOdd = "it's \"<b>\" </script> ünï";

// Rows of one target or several, with the threads that they name.
struct Rows {
    std::vector<std::string> targets{"vm"};
    std::vector<TimelineEvent> events{{"sched:sched_switch", ""}};
    std::vector<TimelineThread> threads;
    std::vector<TimelineRow> rows;
    std::vector<TimelineSwitch> switches;

    std::uint32_t thread(std::uint32_t tid, const std::string& command, std::uint32_t target = 0) {
        for (std::uint32_t i = 0; i < threads.size(); ++i) {
            if (threads[i].tid == tid && threads[i].command == command && threads[i].target == target) {
                return i;
            }
        }
        threads.push_back({target, tid == 0 ? 0U : 100U, tid, command});
        return static_cast<std::uint32_t>(threads.size() - 1);
    }
    static std::string name_of(std::uint32_t tid) { return tid == 0 ? "swapper" : "t" + std::to_string(tid); }

    void switch_at(std::uint64_t ns, std::uint32_t cpu, std::uint32_t from, std::uint32_t to, std::int64_t state = 1,
                   std::uint32_t target = 0) {
        TimelineSwitch made;
        made.row = rows.size();
        made.previous_tid = from;
        made.previous_command = name_of(from);
        made.previous_state = state;
        made.next_tid = to;
        made.next_command = name_of(to);
        switches.push_back(made);
        rows.push_back({ns, 1, 0, thread(from, name_of(from), target), 0, cpu});
    }
    void sample_at(std::uint64_t ns, std::uint32_t cpu, std::uint32_t tid) {
        rows.push_back({ns, 1, 0, thread(tid, name_of(tid)), 0, cpu});
    }
    [[nodiscard]] Schedule schedule() const {
        return make_schedule({targets, events, threads, rows, switches, UtcNs{1'700'000'000'000'000'000}});
    }
};

// "begin+length thread", with "!" where it was preempted.
std::vector<std::string> runs_of(const Schedule& schedule, std::size_t lane) {
    std::vector<std::string> texts;
    for (const ScheduleSpan& span : schedule.lanes.at(lane).spans) {
        texts.push_back(std::to_string(span.begin_ns) + "+" + std::to_string(span.length_ns) + " " +
                        (span.thread == ScheduleSpan::kSeveral ? "several" : schedule.threads[span.thread].command) +
                        (span.is_preempted ? "!" : ""));
    }
    return texts;
}

TEST(Schedule, SamplesOfAClockAreDrawnHoweverManyOtherRowsThereAre) {
    Rows rows;
    rows.events = {{"cpu-clock", "ns"}, {"libc.so.6:malloc", "events", false}, {"offcpu-time", "ns"}};
    rows.sample_at(1'000, 0, 7);
    for (std::uint64_t ns = 1'100; ns < 1'200; ns += 10) {
        rows.sample_at(ns, 0, 8);
        rows.rows.back().event = ns % 20 == 0 ? 1 : 2;
    }
    rows.sample_at(2'000, 0, 7);
    const Schedule schedule = rows.schedule();
    EXPECT_NE(schedule.warnings.at(0).find("drawn from samples of cpu-clock"), std::string::npos);
    ASSERT_EQ(schedule.threads.size(), 1U);
    EXPECT_EQ(schedule.threads[0].command, "t7");
}

TEST(Schedule, RunsGoFromSwitchToSwitch) {
    Rows rows;
    rows.switch_at(1'000, 0, 7, 0);  // ran since the first row
    rows.switch_at(1'200, 1, 0, 8);
    rows.switch_at(1'300, 0, 0, 7);
    rows.switch_at(1'500, 0, 7, 9, 0);  // could have gone on
    rows.switch_at(1'900, 0, 9, 0, 2);
    rows.switch_at(2'000, 0, 0, 7);
    const Schedule schedule = rows.schedule();
    ASSERT_EQ(schedule.lanes.size(), 2U);
    EXPECT_EQ(schedule.lanes[0].name, "CPU 0");
    EXPECT_FALSE(schedule.is_sampled);
    EXPECT_EQ(schedule.duration_ns, 1'000U);
    EXPECT_EQ(runs_of(schedule, 0), (std::vector<std::string>{"0+0 t7", "300+200 t7!", "500+400 t9"}));
    EXPECT_EQ(runs_of(schedule, 1), (std::vector<std::string>{"200+800 t8"}));  // to the end of the recording
    EXPECT_EQ(schedule.lanes[0].busy_ns, 600U);
    EXPECT_EQ(schedule.threads[0].running_ns, 200U);
    EXPECT_EQ(schedule.threads[0].preempted_count, 1U);
    EXPECT_EQ(schedule.thread_name(schedule.threads[0]), "t7 100/7");
    EXPECT_TRUE(schedule.warnings.empty());
}

TEST(Schedule, TimeBetweenSwitchesThatDoNotMatchIsNobodys) {
    Rows rows;
    rows.switch_at(0, 0, 0, 7);
    rows.switch_at(5'000, 0, 8, 0);  // what switched from 7 to 8 was lost
    const Schedule schedule = rows.schedule();
    EXPECT_EQ(schedule.span_count(), 0U);
    EXPECT_EQ(schedule.lanes[0].unknown_ns, 5'000U);
    ASSERT_EQ(schedule.warnings.size(), 1U);
    EXPECT_NE(schedule.warnings[0].find("5 us of CPU time belong to no thread"), std::string::npos)
        << schedule.warnings[0];
}

// Without -a only the switches from the program's own threads are recorded.
TEST(Schedule, SwitchesOfSingleThreadsAreNotTakenForAllSwitches) {
    Rows rows;
    for (std::uint64_t i = 1; i <= 10; ++i) {
        rows.switch_at(i * 1'000, 0, 7, 0);
    }
    const Schedule alone = rows.schedule();
    ASSERT_FALSE(alone.warnings.empty());
    EXPECT_NE(alone.warnings[0].find("record -a -e sched:sched_switch"), std::string::npos) << alone.warnings[0];
    rows.events.push_back({"cpu-clock", "ns"});
    for (std::uint64_t i = 0; i < 10; ++i) {
        rows.sample_at(10'000 + i * 100, 0, 7);
        rows.rows.back().event = 1;
    }
    const Schedule sampled = rows.schedule();
    EXPECT_TRUE(sampled.is_sampled);
    EXPECT_EQ(runs_of(sampled, 0), (std::vector<std::string>{"8900+1000 t7"}));
    EXPECT_EQ(sampled.lanes[0].unknown_ns, 0U);
    ASSERT_EQ(sampled.warnings.size(), 1U);
    EXPECT_NE(sampled.warnings[0].find("drawn from samples of cpu-clock"), std::string::npos) << sampled.warnings[0];
}

TEST(Schedule, AThreadThatEndsRanUntilThen) {
    Rows rows;
    rows.switch_at(0, 0, 0, 7);
    rows.switch_at(5'000, 0, 7, 0, 0x40);
    rows.rows.back().thread = rows.thread(0, "swapper");  // as the kernel reports samples of a thread that is gone
    EXPECT_EQ(runs_of(rows.schedule(), 0), (std::vector<std::string>{"0+5000 t7"}));
}

TEST(Schedule, TargetsWithTheSameThreadIdsStayApart) {
    Rows rows;
    rows.targets = {"a", "b"};
    rows.switch_at(0, 0, 0, 7, 1, 0);
    rows.switch_at(100, 0, 0, 7, 1, 1);
    rows.switch_at(300, 0, 7, 0, 1, 0);
    rows.switch_at(400, 0, 7, 0, 1, 1);
    const Schedule schedule = rows.schedule();
    ASSERT_EQ(schedule.lanes.size(), 2U);
    EXPECT_EQ(schedule.lanes[1].name, "b CPU 0");
    EXPECT_EQ(schedule.threads.size(), 2U);
    EXPECT_EQ(schedule.thread_name(schedule.threads[1]), "b t7 100/7");
    EXPECT_EQ(schedule.lanes[0].busy_ns, 300U);
    EXPECT_EQ(schedule.lanes[1].busy_ns, 300U);
}

TEST(Schedule, SamplesSayWhatRanUntilThen) {
    Rows rows;
    rows.events = {{"cpu-clock", "ns"}};
    for (const std::uint64_t ns : {1'000U, 2'000U, 3'000U, 9'000U, 10'000U}) {  // nothing ran in between
        rows.sample_at(ns, 2, ns < 3'000 ? 7 : 8);
    }
    const Schedule schedule = rows.schedule();
    EXPECT_TRUE(schedule.is_sampled);
    EXPECT_EQ(schedule.lanes[0].name, "CPU 2");
    EXPECT_EQ(runs_of(schedule, 0), (std::vector<std::string>{"0+1000 t7", "1000+1000 t8", "7000+2000 t8"}));
    EXPECT_NE(schedule.warnings.at(0).find("drawn from samples of cpu-clock"), std::string::npos);
}

TEST(Schedule, ShortRunsAreDrawnTogetherAndNoTimeIsLost) {
    Rows rows;
    std::mt19937 random{5};
    std::uint32_t now = 0;
    for (std::uint64_t ns = 0; rows.rows.size() < 4'000; ns += 1 + random() % 20'000) {
        const auto next = static_cast<std::uint32_t>(random() % 5);
        rows.switch_at(ns, 0, now, next, static_cast<std::int64_t>(random() % 2));
        now = next;
    }
    Schedule schedule = rows.schedule();
    const Schedule before = schedule;
    merge_short_spans(schedule, 100);
    EXPECT_LE(schedule.span_count(), 100U);
    EXPECT_GT(schedule.span_count(), 0U);
    std::uint64_t run_count = 0;
    std::uint64_t last_ns = 0;
    for (const ScheduleSpan& span : schedule.lanes[0].spans) {
        EXPECT_GE(span.begin_ns, last_ns);
        last_ns = span.begin_ns + span.length_ns;
        run_count += span.merged_runs;
    }
    EXPECT_EQ(run_count, before.span_count());
    EXPECT_EQ(schedule.lanes[0].busy_ns, before.lanes[0].busy_ns);
    EXPECT_EQ(schedule.warnings.size(), before.warnings.size() + 1);
}

TEST(SchedulePage, HoldsEachRun) {
    Rows rows;
    rows.targets = {kOdd};
    rows.switch_at(1'000, 0, 0, 7);
    rows.switch_at(1'500, 0, 7, 9, 0);
    rows.switch_at(1'900, 0, 9, 7);
    rows.switch_at(2'100, 0, 7, 0);
    const Schedule schedule = rows.schedule();
    const std::string page = figure_page(schedule_page(schedule, Ledger{}, {kOdd}));
    const Json data = Json::parse(json_of_page(page));
    EXPECT_EQ(data["kind"], "schedule");
    const Json& lane = data["schedule"]["lanes"][0];
    EXPECT_EQ(lane["begin"], (Json{0, 500, 400}));  // each from the one before
    EXPECT_EQ(lane["length"], (Json{500, 400, 200}));
    EXPECT_EQ(lane["thread"], (Json{0, 1, 0}));
    EXPECT_EQ(lane["preempted"], (Json{1, 0, 0}));
    EXPECT_EQ(data["schedule"]["threads"]["name"], (Json{"t7 100/7", "t9 100/9"}));
    EXPECT_EQ(data["schedule"]["threads"]["running_ns"], (Json{700, 400}));
    EXPECT_EQ(page.find("<b>"), std::string::npos);
    EXPECT_NE(figure_json(schedule_page(make_schedule({}), Ledger{}, {})).find("\"lanes\":[]"), std::string::npos);
}

TEST(SchedulePage, CountsOneThingAsOne) {
    Rows rows;
    rows.switch_at(1'000, 0, 0, 7);
    rows.switch_at(2'000, 0, 7, 0);
    const Schedule schedule = rows.schedule();
    EXPECT_NE(figure_json(schedule_page(schedule, Ledger{}, {}, ", of x")).find("1 CPU, 1 thread, from switches, of x"),
              std::string::npos);
    EXPECT_NE(svg_of(schedule_figure(schedule)).find("1 CPU · 1 thread · from switches"), std::string::npos);
}

TEST(ScheduleFigure, DrawsRunsInTheirThreadsColours) {
    Rows rows;
    rows.switch_at(0, 0, 0, 7);
    rows.switch_at(600, 0, 7, 9);
    rows.switch_at(1'000, 0, 9, 0);
    const Figure figure = schedule_figure(rows.schedule());
    ASSERT_GE(figure.boxes.size(), 3U);
    EXPECT_EQ(figure.boxes[1].left, 1'500);  // the plot begins there and is 8,200 wide
    EXPECT_EQ(figure.boxes[1].width, 8'200 * 6 / 10);
    EXPECT_EQ(figure.boxes[2].left, figure.boxes[1].left + figure.boxes[1].width);
    EXPECT_NE(figure.boxes[1].colour, figure.boxes[2].colour);
    EXPECT_NE(svg_of(figure).find("t7 100/7"), std::string::npos);
    EXPECT_NE(svg_of(schedule_figure(make_schedule({}))).find("no runs"), std::string::npos);
}

}  // namespace
}  // namespace perfleet::schedule_test
