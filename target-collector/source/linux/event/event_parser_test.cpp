#include "target-collector/source/linux/event/event_parser.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/source/linux/event/event_table.h"
#include "target-collector/source/linux/event/perf_attr.h"
#include "target-collector/source/linux/testing/event_places.h"

namespace perfleet {
namespace {

class EventParser : public ::testing::Test {
protected:
    EventParser() {
        folders_.add_tracepoint("sched", "sched_switch", "316");
        folders_.add_tracepoint("sched", "sched_wakeup", "318");
        folders_.add_tracepoint("syscalls", "sys_enter_getppid", "77");
    }

    [[nodiscard]] std::vector<EventSpec> parse(const std::vector<std::string>& lists) const {
        auto events = parse_events(lists, places_);
        EXPECT_TRUE(events.ok()) << (events.ok() ? "" : events.error().message);
        return events.ok() ? std::move(*events) : std::vector<EventSpec>{};
    }
    [[nodiscard]] Error error_of(const std::string& list) const {
        auto events = parse_events({list}, places_);
        EXPECT_FALSE(events.ok()) << list;
        return events.ok() ? Error{} : events.error();
    }

    EventFolders folders_;
    EventPlaces places_ = folders_.places();
};

TEST_F(EventParser, TakesListsAndRepetitions) {
    const auto events = parse({"cpu-clock,page-faults", "cs"});
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].name, "cpu-clock");
    EXPECT_EQ(events[0].type, static_cast<std::uint32_t>(PERF_TYPE_SOFTWARE));
    EXPECT_EQ(events[0].config, static_cast<std::uint64_t>(PERF_COUNT_SW_CPU_CLOCK));
    EXPECT_EQ(events[0].unit, "ns");
    EXPECT_EQ(events[1].config, static_cast<std::uint64_t>(PERF_COUNT_SW_PAGE_FAULTS));
    EXPECT_EQ(events[2].name, "cs");
    EXPECT_EQ(events[2].config, static_cast<std::uint64_t>(PERF_COUNT_SW_CONTEXT_SWITCHES));
    EXPECT_EQ(events[2].row_kind(), Kind::kSample);
}

TEST_F(EventParser, ModifiersExcludeTheOtherSide) {
    const auto events = parse({"cpu-clock:u,task-clock:k,cycles:uk,sched:sched_switch:k"});
    ASSERT_EQ(events.size(), 4U);
    EXPECT_TRUE(events[0].exclude_kernel);
    EXPECT_FALSE(events[0].exclude_user);
    EXPECT_FALSE(events[1].exclude_kernel);
    EXPECT_TRUE(events[1].exclude_user);
    EXPECT_FALSE(events[2].exclude_kernel);
    EXPECT_FALSE(events[2].exclude_user);
    EXPECT_TRUE(events[3].exclude_user);
    EXPECT_EQ(events[3].config, 316U);
}

TEST_F(EventParser, FindsTracepointsWithTheirFormat) {
    const auto events = parse({"sched:sched_switch,syscalls:sys_enter_getppid"});
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].type, static_cast<std::uint32_t>(PERF_TYPE_TRACEPOINT));
    EXPECT_EQ(events[0].config, 316U);
    EXPECT_EQ(events[0].row_kind(), Kind::kTracepoint);
    EXPECT_EQ(events[0].format, "name: sched_switch\nID: 316\n");
    EXPECT_EQ(events[1].config, 77U);
}

TEST_F(EventParser, TakesRawEvents) {
    const auto events = parse({"r1a8,r00c0:u"});
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].type, static_cast<std::uint32_t>(PERF_TYPE_RAW));
    EXPECT_EQ(events[0].config, 0x1a8U);
    EXPECT_EQ(events[1].config, 0xc0U);
    EXPECT_TRUE(events[1].exclude_kernel);
}

TEST_F(EventParser, NamesTheUnknownEventAndItsNeighbours) {
    const Error error = error_of("cpu-clok");
    EXPECT_EQ(error.code, ErrorCode::kUsage);
    EXPECT_NE(error.message.find("-e cpu-clok: "), std::string::npos);
    EXPECT_NE(error.message.find("'cpu-clock'"), std::string::npos);
    EXPECT_NE(error_of("sched:sched_swich").message.find("'sched:sched_switch'"), std::string::npos);
    EXPECT_NE(error_of("shed:sched_switch").message.find("'sched:sched_switch'"), std::string::npos);
    EXPECT_EQ(error_of("qqqqqqqqqqq").code, ErrorCode::kUsage);
}

TEST_F(EventParser, RefusesWhatIsNoList) {
    for (const char* list :
         {"", ",", "cs,", ",cs", "cs,,faults", "cpu-clock:x", "cpu-clock:", "cs,cs", "nonsense:u", "sched:", ":x",
          "sched:../sched/sched_switch", "sched:sched_switch:", "rxyz", "r11112222333344445"}) {
        const Error error = error_of(list);
        EXPECT_EQ(error.code, ErrorCode::kUsage) << list;
        EXPECT_NE(error.message.find("-e"), std::string::npos) << error.message;
    }
    EXPECT_EQ(error_of(std::string(300, 'x')).code, ErrorCode::kUsage);
}

TEST_F(EventParser, RefusesMoreEventsThanASessionHolds) {
    std::string list = "r1";
    for (std::uint32_t i = 2; i <= limits::kEventsMax + 1; ++i) {
        char name[16];
        std::snprintf(name, sizeof(name), ",r%x", i);
        list += name;
    }
    EXPECT_EQ(error_of(list).code, ErrorCode::kUsage);
}

// Names and groups, a word an event: "page-faults/1".
std::string groups_of(const std::vector<EventSpec>& events) {
    std::string text;
    for (const EventSpec& event : events) {
        text += (text.empty() ? "" : " ") + event.name + "/" + std::to_string(event.group);
    }
    return text;
}

TEST_F(EventParser, BracesMakeGroups) {
    EXPECT_EQ(groups_of(parse({"cpu-clock,{cache-misses,instructions},{cs,faults}", "r1,{r2,sched:sched_switch}"})),
              "cpu-clock/0 cache-misses/1 instructions/1 cs/2 faults/2 r1/0 r2/3 sched:sched_switch/3");
    EXPECT_EQ(groups_of(parse({"{cpu-clock}:u,{cs,faults}"})), "cpu-clock:u/0 cs/1 faults/1") << "one is no group";
}

// Checked against what `perf record -vv` opens for the same text.
TEST_F(EventParser, AGroupsModifierIsAddedToThoseOfItsEvents) {
    const auto events = parse({"{task-clock:k,page-faults,cs:u,sched:sched_switch,sched:sched_wakeup:k,r1:uk}:u"});
    EXPECT_EQ(groups_of(events),
              "task-clock:uk/1 page-faults:u/1 cs:u/1 sched:sched_switch:u/1 sched:sched_wakeup:uk/1 r1:uk/1");
    for (const EventSpec& event : events) {
        EXPECT_FALSE(event.exclude_user) << event.name;
        EXPECT_EQ(event.exclude_kernel, event.name.ends_with(":u")) << event.name;
        const auto alone = parse({event.name});
        EXPECT_EQ(alone[0].config, event.config);
        EXPECT_EQ(alone[0].exclude_kernel, event.exclude_kernel);
    }
}

TEST_F(EventParser, RefusesWhatIsNoGroupByItsPlace) {
    const std::vector<std::pair<std::string, std::string>> refused{
        {"{cs,faults", "character 1: the '}' to this '{' is missing"},
        {"cs,{", "character 4: the '}' to this '{' is missing"},
        {"cpu-clock,{}", "character 11: a group without events"},
        {"{cs,{faults}}", "character 5: a group within a group"},
        {"cs,faults}", "character 10: there is no '{' to this '}'"},
        {"cs:u{cs,faults}", "character 1: a comma is missing"},
        {"{cs,faults}cpu-clock", "character 12: after a group comes"},
        {"{cs,faults}:", "character 12: a modifier is missing"},
        {"{cs,faults}:u{r1,r2}", "character 14: a comma is missing"},
        {"{cs,}", "an event's name is missing"},
        {"{,cs}", "an event's name is missing"},
        {"{cs,faults},", "an event's name is missing"},
        {"{cs,nonsense}", "-e nonsense: there is no such event"},
        {"{cs,cs}", "-e cs: it is named twice"},
    };
    for (const auto& [list, expected] : refused) {
        const Error error = error_of(list);
        EXPECT_EQ(error.code, ErrorCode::kUsage) << list;
        EXPECT_NE(error.message.find(expected), std::string::npos) << list << " → " << error.message;
    }
    std::string list = "cs,{r1";
    for (std::size_t i = 2; i <= kGroupEventsMax; ++i) {
        char name[16];
        std::snprintf(name, sizeof(name), ",r%zx", i);
        list += name;
    }
    EXPECT_EQ(parse({list + "}"}).size(), 1 + kGroupEventsMax);
    EXPECT_NE(error_of(list + ",faults}").message.find("character 4: at most 32 events"), std::string::npos);
}

TEST_F(EventParser, SaysHowToMountTracefs) {
    places_.tracefs = {"/nonexistent/tracing"};
    const Error error = error_of("sched:sched_switch");
    EXPECT_EQ(error.code, ::geteuid() == 0 ? ErrorCode::kUnavailable : ErrorCode::kPermission);
    EXPECT_NE(error.message.find("mount -t tracefs"), std::string::npos);
}

TEST(EventTable, FindsEventsByNameAndAlias) {
    ASSERT_NE(find_named_event("faults"), nullptr);
    EXPECT_EQ(find_named_event("faults"), find_named_event("page-faults"));
    EXPECT_EQ(find_named_event("cpu-cycles"), find_named_event("cycles"));
    EXPECT_EQ(find_named_event(""), nullptr);
    EXPECT_EQ(find_named_event("Cycles"), nullptr);
}

TEST(SamplingAttr, CarriesPeriodsOnlyWhereTheKernelThenStillObeysThem) {
    EventSpec faults;
    faults.type = PERF_TYPE_SOFTWARE;
    faults.config = PERF_COUNT_SW_PAGE_FAULTS;
    EXPECT_EQ(sampling_attr(faults, {false, 10}, {}, {}).sample_type & PERF_SAMPLE_PERIOD, 0U);
    EXPECT_NE(sampling_attr(faults, {false, 1}, {}, {}).sample_type & PERF_SAMPLE_PERIOD, 0U);
    EXPECT_NE(sampling_attr(faults, {true, 99}, {}, {}).sample_type & PERF_SAMPLE_PERIOD, 0U);
}

TEST(SamplingAttr, DefaultsToNinetyNineHertzAndToEveryTracepoint) {
    EventSpec clock;
    clock.type = PERF_TYPE_SOFTWARE;
    EXPECT_TRUE(sampling_rate_of(clock, {}).is_frequency);
    EXPECT_EQ(sampling_rate_of(clock, {}).value, 99U);
    EventSpec tracepoint;
    tracepoint.type = PERF_TYPE_TRACEPOINT;
    EXPECT_FALSE(sampling_rate_of(tracepoint, {}).is_frequency);
    EXPECT_EQ(sampling_rate_of(tracepoint, {}).value, 1U);
    EXPECT_TRUE(sampling_rate_of(tracepoint, {500, {}}).is_frequency);
    EXPECT_EQ(sampling_rate_of(clock, {{}, 7}).value, 7U);
    EXPECT_EQ(sampling_rate_of(clock, {{}, {}, 999}).value, 999U);
    EXPECT_FALSE(sampling_rate_of(tracepoint, {{}, {}, 999}).is_frequency);
}

}  // namespace
}  // namespace perfleet
