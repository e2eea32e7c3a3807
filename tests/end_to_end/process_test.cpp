#include "tests/end_to_end/process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace perfleet::end_to_end {
namespace {

TEST(Process, GathersBothOutputsAndTheStatus) {
    const Finished finished = run({"sh", "-c", "echo out; echo err >&2; exit 3"});
    EXPECT_EQ(finished.ending.status, 3);
    EXPECT_EQ(finished.output, "out\n");
    EXPECT_EQ(finished.error_output, "err\n");
}

TEST(Process, WaitsForALineWhileTheProgramRuns) {
    Process process{{"sh", "-c", "echo starting; echo ready listen=a,b query=none; exec sleep 1000"}};
    const auto line = process.wait_for_output("ready ");
    ASSERT_TRUE(line.has_value());
    EXPECT_EQ(field_of(*line, "listen"), "a,b");
    EXPECT_EQ(field_of(*line, "query"), "none");
    EXPECT_EQ(field_of(*line, "other"), "");
    process.send_signal(SIGKILL);
    const auto ending = process.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->signal, SIGKILL);
}

TEST(Process, GivesUpOnALineWhenTheProgramEnds) {
    Process process{{"sh", "-c", "echo something else"}};
    EXPECT_EQ(process.wait_for_output("ready "), std::nullopt);
}

TEST(Process, PassesTheEnvironment) {
    Process::Options options;
    options.environment = {"PERFLEET_TEST_WORD=word"};
    EXPECT_EQ(run({"sh", "-c", "echo $PERFLEET_TEST_WORD"}, options).output, "word\n");
}

TEST(TemporaryFolder, IsRemovedWithItsContent) {
    std::filesystem::path path;
    {
        const TemporaryFolder folder;
        path = folder.path();
        std::ofstream{folder / "file"} << "content";
        ASSERT_TRUE(std::filesystem::exists(path / "file"));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Workload, GetppidSaysHowManyCallsItMade) {
    const Finished finished = run({workload_path("getppid_workload"), "1234"});
    EXPECT_EQ(finished.ending.status, 0);
    EXPECT_EQ(finished.output, "getppid calls=1234\n");
    EXPECT_EQ(run({workload_path("getppid_workload")}).ending.status, 2);
    EXPECT_EQ(run({workload_path("getppid_workload"), "-1"}).ending.status, 2);
}

TEST(Workload, SharesRunsInFullRounds) {
    const Finished finished = run({workload_path("shares_workload"), "0.01"});
    EXPECT_EQ(finished.ending.status, 0);
    EXPECT_TRUE(finished.output.starts_with("shares rounds=")) << finished.output;
}

}  // namespace
}  // namespace perfleet::end_to_end
