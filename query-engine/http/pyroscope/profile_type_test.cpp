#include "query-engine/http/pyroscope/profile_type.h"

#include <gtest/gtest.h>

namespace perfleet::pyroscope {
namespace {

std::vector<ProfileType> types() {
    Answer events;
    for (const auto& [event, unit] : std::vector<std::pair<std::string, std::string>>{{"cpu-clock:u", "ns"},
                                                                                      {"cpu-clock:k", "ns"},
                                                                                      {"sched:sched_switch", "events"},
                                                                                      {"offcpu-time", "ns"},
                                                                                      {"inuse_space", "bytes"},
                                                                                      {"off_cpu", "ns"},
                                                                                      {"mutex_delay", "ns"},
                                                                                      {"samples", "events"},
                                                                                      {"cpu", "ns"}}) {
        events.rows.push_back({event, unit, std::uint64_t{1}});
    }
    return profile_types(events);
}

TEST(ProfileTypes, HavePyroscopesIds) {
    std::vector<std::string> ids;
    for (const ProfileType& type : types()) {
        ids.push_back(type.id());
    }
    const std::vector<std::string> expected{"process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                                            "process_cpu:samples:count:cpu:nanoseconds",
                                            "cpu-clock_k:cpu-clock_k:nanoseconds:cpu-clock_k:nanoseconds",
                                            "cpu-clock_k:samples:count:cpu-clock_k:nanoseconds",
                                            "sched_sched_switch:sched_sched_switch:count:sched_sched_switch:count",
                                            "sched_sched_switch:samples:count:sched_sched_switch:count",
                                            "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds",
                                            "offcpu-time:offcpu-time:nanoseconds:offcpu-time:nanoseconds",
                                            "offcpu-time:samples:count:offcpu-time:nanoseconds",
                                            "memory:inuse_space:bytes:space:bytes",
                                            "off_cpu:samples:count:off_cpu:nanoseconds",
                                            "mutex:delay:nanoseconds:contentions:count"};
    EXPECT_EQ(ids, expected);
}

TEST(ProfileTypes, AreFoundWithTheOptionsThatSelectThem) {
    using Selections = std::vector<OptionValues>;
    EXPECT_EQ(find_type(types(), "process_cpu:samples:count:cpu:nanoseconds")->selections,
              (Selections{{{"event", std::string{"cpu-clock:u"}}, {"measure", std::string{"samples"}}},
                          {{"event", std::string{"samples"}}}}));
    EXPECT_EQ(find_type(types(), "process_cpu:cpu:nanoseconds:cpu:nanoseconds")->selections,
              (Selections{{{"event", std::string{"cpu-clock:u"}}}, {{"event", std::string{"cpu"}}}}));
    EXPECT_EQ(find_type(types(), "off_cpu:off_cpu:nanoseconds:off_cpu:nanoseconds")->selections,
              (Selections{{{"off-cpu", true}}, {{"event", std::string{"off_cpu"}}}}));
    EXPECT_EQ(find_type(types(), "a:b:c:d:e").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(find_type(types(), "cpu").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace perfleet::pyroscope
