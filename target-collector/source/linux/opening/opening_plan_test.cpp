#include "target-collector/source/linux/opening/opening_plan.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/event/event_trouble.h"

namespace perfleet::opening_plan_test {
namespace {

std::vector<OpenEvent> events_of(const std::string& list) {
    auto specs = parse_events({list}, EventPlaces{});
    EXPECT_TRUE(specs.ok()) << (specs.ok() ? "" : specs.error().message);
    std::vector<OpenEvent> events;
    for (const EventSpec& spec : *specs) {
        OpenEvent event;
        event.spec = spec;
        event.rate = {false, 1'000};
        events.push_back(event);
    }
    return events;
}

std::string scenario_of(const std::vector<Opening>& plan) {
    std::string text;
    for (const Opening& opening : plan) {
        static constexpr const char* kRoles[] = {"side-band", "alone", "leader", "member", "reader"};
        text += (text.empty() ? "" : " ") + std::string(kRoles[static_cast<std::size_t>(opening.role)]);
        text += opening.role == OpeningRole::kSideBand ? "" : "-" + std::to_string(opening.event_index);
        text += opening.attr.disabled != 0 ? "" : "+";  // enabled from the beginning
        text += opening.attr.enable_on_exec != 0 ? "!" : "";
        text += (opening.attr.read_format & PERF_FORMAT_GROUP) != 0 ? "*" : "";
    }
    return text;
}

constexpr const char* kGroups = "{cache-misses,instructions},cycles,{r1a8:u,page-faults,L1-dcache-loads}";

TEST(OpeningPlan, HasLeadersFirstAndReadersLast) {
    const std::vector<Opening> plan = plan_openings(events_of(kGroups), {}, {});
    EXPECT_EQ(scenario_of(plan),
              "side-band leader-0 member-1+ reader-0+* alone-2 leader-3 member-4+ member-5+ reader-3+*");
    EXPECT_EQ(plan.size(), opening_count(events_of(kGroups)));
    EXPECT_EQ(plan[1].attr.type, static_cast<std::uint32_t>(PERF_TYPE_HARDWARE));
    EXPECT_EQ(plan[1].attr.config, static_cast<std::uint64_t>(PERF_COUNT_HW_CACHE_MISSES));
    EXPECT_EQ(plan[2].attr.config, static_cast<std::uint64_t>(PERF_COUNT_HW_INSTRUCTIONS));
    EXPECT_EQ(plan[2].attr.sample_period, 1'000U) << "each is sampled by itself";
    EXPECT_EQ(plan[5].attr.type, static_cast<std::uint32_t>(PERF_TYPE_RAW));
    EXPECT_EQ(plan[5].attr.exclude_kernel, 1U);
    EXPECT_EQ(plan[8].attr.config, static_cast<std::uint64_t>(PERF_COUNT_SW_DUMMY));
    EXPECT_EQ(plan[8].attr.sample_period, 0U) << "a reader has no samples";
}

// What waits for an exec is the leader: the others go with it.
TEST(OpeningPlan, OfACommandItsLeadersWaitForTheExec) {
    AttrOptions options;
    options.inherit = true;
    options.enable_on_exec = true;
    PerfFeatures features;
    features.inherited_group_reads = true;
    const std::vector<Opening> plan = plan_openings(events_of("{cycles,instructions},cs"), options, features);
    EXPECT_EQ(scenario_of(plan), "side-band leader-0! member-1+ reader-0+* alone-2!");
    for (const Opening& opening : plan) {
        EXPECT_EQ(opening.attr.inherit, 1U);
    }
    EXPECT_EQ(scenario_of(plan_openings(events_of("{cycles,instructions},cs"), options, {})),
              "side-band leader-0! member-1+ alone-2!")
        << "before Linux 4.13 each is read by itself";
}

TEST(OpeningPlan, LeadersAreFoundFromTheirMembers) {
    const std::vector<OpenEvent> events = events_of(kGroups);
    std::string leaders;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        leaders += std::to_string(leader_of(events, i));
    }
    EXPECT_EQ(leaders, "002333");
}

TEST(OpeningPlan, WhatAGroupCannotHoldIsNamedWithTheWayOut) {
    const std::vector<OpenEvent> events = events_of("{cycles,instructions}");
    const Error error = group_error(events[0].spec, events[1].spec, EINVAL);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_NE(error.message.find("-e instructions: "), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("with cycles"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("outside the braces"), std::string::npos) << error.message;
    EXPECT_EQ(group_error(events[0].spec, events[1].spec, EACCES).code, ErrorCode::kPermission);
}

}  // namespace
}  // namespace perfleet::opening_plan_test
