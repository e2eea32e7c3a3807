// A collector beside other profilers of the machine: neither disturbs the other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::neighbour_test {
namespace {

TEST(Neighbour, PerfRecordsBesideACollectorOfAllProcesses) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "profiles everything: needs root";
    }
    TemporaryFolder folder;
    const std::string data = folder / "perf.data";
    Process collector({program_path("perfleet-collector"), "--output", folder / "frames", "-a", "-g", "-e", "cpu-clock",
                       "--", "sh", "-c", "echo started; exec sleep 1000"});
    ASSERT_TRUE(collector.wait_for_output("started").has_value()) << collector.error_output();
    // The kernel's bookkeeping of all listeners is under test, so the collector has to be one all the while.
    for (int round = 0; round < 2; ++round) {
        const Finished recorded = run({"perf", "record", "-o", data, "--", "true"});
        EXPECT_EQ(recorded.ending.signal, 0) << recorded.error_output;
        EXPECT_EQ(recorded.ending.status, 0) << recorded.error_output;
    }
    collector.send_signal(SIGTERM);
    const auto ending = collector.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << collector.error_output();
}

}  // namespace
}  // namespace perfleet::end_to_end::neighbour_test
