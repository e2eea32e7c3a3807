#include "target-collector/source/linux/event_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace perfleet {
namespace {

// The thesis' categories of events, those of software beside them.
TEST(EventList, EachEventHasOneOfTheCategories) {
    const auto categories = event_categories();
    EXPECT_EQ(std::set<std::string_view>(categories.begin(), categories.end()).size(), categories.size());
    for (const std::string_view named : {"instruction execution", "cache", "branch prediction", "exceptions",
                                         "pipeline stalls", "cycles", "debug and trace"}) {
        EXPECT_NE(std::find(categories.begin(), categories.end(), named), categories.end()) << named;
    }
    for (const NamedEvent& event : named_events()) {
        EXPECT_NE(std::find(categories.begin(), categories.end(), event.category), categories.end()) << event.name;
    }
}

TEST(EventList, EveryEventIsTriedAndTimeIsAlwaysThere) {
    const std::vector<ListedEvent> events = try_named_events();
    EXPECT_EQ(events.size(), named_events().size());
    const auto clock = std::find_if(events.begin(), events.end(),
                                    [](const ListedEvent& listed) { return listed.event->name == "cpu-clock"; });
    ASSERT_NE(clock, events.end());
    EXPECT_EQ(clock->trouble, "");
}

TEST(EventList, TextNamesEachEventOnceBelowItsCategoryAndWhatIsWrong) {
    const std::vector<ListedEvent> events{{find_named_event("cycles"), "not on this machine"},
                                          {find_named_event("page-faults"), ""},
                                          {find_named_event("ref-cycles"), ""}};
    EXPECT_EQ(list_events(events, EventPlaces{{"/nonexistent"}}),
              "cycles\n"
              "  cycles (cpu-cycles)                             cycles  not on this machine\n"
              "  ref-cycles                                      cycles\n"
              "exceptions\n"
              "  page-faults (faults)                            events\n"
              "tracepoints\n"
              "  SYSTEM:NAME, such as sched:sched_switch; they need tracefs, which can't be read here (run as root)\n"
              "raw events of the processor\n"
              "  rHEX, such as r1a8: its manual has the numbers\n"
              "Behind a name: :u counts in user space only, :k in the kernel only.\n"
              "In braces: events that are counted all or none, for ratios: {cache-misses,instructions}, "
              "{cs,cpu-clock}:u\n");
}

}  // namespace
}  // namespace perfleet
