// Events as their users spell them: what is recorded, compared with the real perf, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

#include "target-collector/source/linux/event/tracepoint_finder.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::event_spelling_program_test {
namespace {

class RecordedEvents : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0 || find_tracefs({}).empty()) {
            GTEST_SKIP() << "needs root and tracefs";
        }
    }

    [[nodiscard]] Finished record(const std::vector<std::string>& options,
                                  const std::vector<std::string>& command) const {
        std::vector<std::string> words{program_path("perfleet"), "record", "-q", "--data", folder_ / "data"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return run(words);
    }

    TemporaryFolder folder_;
};

TEST_F(RecordedEvents, AFilterCountsWhatPerfCounts) {
    const std::vector<std::string> command{"sh", "-c", "for i in 1 2 3 4 5; do (exit 0); done; ls / >/dev/null"};
    const std::string filter = "ret == 0";  // fork in the child
    std::vector<std::string> perf{"perf", "stat", "-x,", "-e", "syscalls:sys_exit_*lone*", "--filter", filter};
    perf.insert(perf.end(), command.begin(), command.end());
    std::istringstream counted{run(perf).error_output};
    std::uint64_t of_perf = 0;
    for (std::string line; std::getline(counted, line);) {
        of_perf += line.find("syscalls:") == std::string::npos ? 0 : std::stoull(line);
    }
    const Finished recorded = record({"-e", "syscalls:sys_exit_*lone*", "--filter", filter}, command);
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Finished shown =
        run({program_path("perfleet"), "tracepoints", "--data", folder_ / "data", "--format", "csv"});
    std::istringstream rows{shown.output};
    std::uint64_t of_ours = 0;
    for (std::string line; std::getline(rows, line);) {
        const std::size_t name = line.find("syscalls:");
        of_ours += name == std::string::npos ? 0 : std::stoull(line.substr(line.find(',', name) + 1));
    }
    EXPECT_EQ(of_ours, of_perf) << shown.output;
    EXPECT_GE(of_ours, 5U) << shown.output;
}

TEST_F(RecordedEvents, AFilterStandsBehindItsEvents) {
    const Finished first = record({"--filter", "ret == 0", "-e", "raw_syscalls:sys_exit"}, {"true"});
    EXPECT_EQ(first.ending.status, 2);
    EXPECT_NE(first.error_output.find("--filter: it follows the -e whose tracepoints it filters"), std::string::npos)
        << first.error_output;
    const Finished both =
        record({"-e", "raw_syscalls:sys_exit", "--filter", "ret == 0", "--filter", "idd == 1"}, {"true"});
    EXPECT_EQ(both.ending.status, 2);
    EXPECT_NE(both.error_output.find("--filter (ret == 0) && (idd == 1): the kernel doesn't take it for "
                                     "raw_syscalls:sys_exit, whose fields are id, ret"),
              std::string::npos)
        << both.error_output;
}

// An error is one line, and the program to be recorded isn't run.
TEST_F(RecordedEvents, WhatIsRefusedIsOneLine) {
    for (const std::string list : {"cpu-clok", "{cpu-clock,faults", "*:*", "mem:main:x", "cpu-clock:X", "intel_pt//"}) {
        const Finished refused = record({"-e", list}, {"sh", "-c", "echo ran"});
        EXPECT_NE(refused.ending.status, 0) << list;
        EXPECT_EQ(refused.output, "") << list;
        EXPECT_EQ(refused.error_output.find('\n'), refused.error_output.size() - 1) << refused.error_output;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::event_spelling_program_test
