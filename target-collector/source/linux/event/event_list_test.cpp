#include "target-collector/source/linux/event/event_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "target-collector/source/linux/testing/event_places.h"

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
    EventFolders folders;
    folders.add_pmu_file("msr/type", "9");
    folders.add_pmu_file("msr/events/tsc", "event=0x00");
    folders.add_pmu_file("msr/events/tsc.unit", "ticks");
    folders.add_pmu_file("uprobe/type", "8");
    EventPlaces places = folders.places();
    places.tracefs = {"/nonexistent"};
    EXPECT_EQ(list_events(events, places),
              "cycles\n"
              "  cycles (cpu-cycles)                             cycles  not on this machine\n"
              "  ref-cycles                                      cycles\n"
              "exceptions\n"
              "  page-faults (faults)                            events\n"
              "tracepoints\n"
              "  SYSTEM:NAME, such as sched:sched_switch; they need tracefs, which can't be read here (run as root)\n"
              "PMU msr\n"
              "  msr/tsc/\n"
              "raw events of the processor\n"
              "  rHEX, such as r1a8, or cpu/event=0xa8,umask=1/: its manual has the numbers\n"
              "breakpoints\n"
              "  mem:ADDRESS[/LENGTH][:r|w|rw|x], such as mem:0x601040/8:w\n"
              "Behind a name: :u counts in user space only, :k in the kernel only; /period=N/ or /freq=N/ sets the "
              "rate.\n"
              "In braces: events that are counted all or none, for ratios: {cache-misses,instructions}, "
              "{cs,cpu-clock}:u\n");
}

}  // namespace
}  // namespace perfleet
