// perfleet stat with real programs, compared with their known actions and with the real perf stat.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/process.h"

namespace perfleet::stat_program_test {
namespace {

using end_to_end::Finished;
using end_to_end::program_path;

Finished stat(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {program_path("perfleet"), "stat"});
    return end_to_end::run(arguments);
}

nlohmann::json row_of(const nlohmann::json& answer, const std::string& event) {
    for (const auto& row : answer["rows"]) {
        if (row[0] == event) {
            return row;
        }
    }
    return {};
}

TEST(StatProgram, LeavesStandardOutputAndTheExitStatusToTheCommand) {
    const Finished finished = stat({"--", "sh", "-c", "echo out; exit 3"});
    EXPECT_EQ(finished.ending.status, 3);
    EXPECT_EQ(finished.output, "out\n");
    EXPECT_NE(finished.error_output.find("task-clock"), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("status other than 0"), std::string::npos);
    EXPECT_EQ(stat({"--", "/nowhere/at-all"}).ending.status, 127);
    EXPECT_EQ(stat({"-e", "no-such-event", "--", "true"}).ending.status, 2);
    EXPECT_EQ(stat({"-r", "0", "--", "true"}).ending.status, 2);
}

// As perf.
TEST(StatProgram, ShowsItsCountsAndEndsByTheSignalThatEndsItsCommand) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        end_to_end::Process counting(
            {program_path("perfleet"), "stat", "--", "sh", "-c", "echo started; exec sleep 1000"});
        ASSERT_TRUE(counting.wait_for_output("started").has_value()) << counting.error_output();
        counting.send_signal(signal);
        const auto ending = counting.wait();
        ASSERT_TRUE(ending.has_value()) << "the command runs on";
        EXPECT_EQ(ending->signal, signal);
        EXPECT_NE(counting.error_output().find("task-clock"), std::string::npos) << counting.error_output();
    }
}

TEST(StatProgram, CountsTheSystemCallsOfEachRunAndItsChildren) {
    const end_to_end::TemporaryFolder folder;
    const std::string file = folder / "counts.json";
    // A known number of writes of one byte, in a child of the program.
    const Finished finished =
        stat({"-r", "4", "-e", "syscalls:sys_enter_write,page-faults", "--format", "json", "-o", file, "--", "sh", "-c",
              "dd if=/dev/zero of=/dev/null bs=1 count=500 status=none; true"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_EQ(finished.error_output, "");
    std::ifstream stream{file};
    const nlohmann::json answer = nlohmann::json::parse(stream);
    const nlohmann::json writes = row_of(answer, "syscalls:sys_enter_write");
    EXPECT_EQ(writes[1], 500);
    EXPECT_EQ(writes[3], 500);
    EXPECT_EQ(writes[4], 500);
    EXPECT_EQ(writes[6], 4);
    EXPECT_GT(row_of(answer, "page-faults")[1], 50);
    EXPECT_GE(row_of(answer, "elapsed")[1], row_of(answer, "elapsed")[3]);
    const Finished again = stat({"-o", file, "--", "true"});
    EXPECT_NE(again.ending.status, 0);
    EXPECT_NE(again.error_output.find("--force"), std::string::npos) << again.error_output;
}

TEST(StatProgram, AgreesWithPerf) {
    const std::string script = "dd if=/dev/zero of=/dev/null bs=1 count=300 status=none";
    const Finished ours = stat({"-e", "syscalls:sys_enter_write", "--format", "csv", "--", "sh", "-c", script});
    const Finished perf =
        end_to_end::run({"perf", "stat", "-x,", "-e", "syscalls:sys_enter_write", "sh", "-c", script});
    ASSERT_EQ(perf.ending.status, 0) << perf.error_output;
    EXPECT_TRUE(perf.error_output.starts_with("300,")) << perf.error_output;
    EXPECT_NE(ours.error_output.find("syscalls:sys_enter_write,300,"), std::string::npos) << ours.error_output;
}

TEST(StatProgram, IntervalsAddUpToTheRun) {
    const Finished finished =
        stat({"-I", "50", "-e", "syscalls:sys_enter_write", "--format", "json", "--", "sh", "-c",
              "for count in 300 200; do dd if=/dev/zero of=/dev/null bs=1 count=$count status=none; sleep 0.2; done"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    const nlohmann::json answer = nlohmann::json::parse(finished.error_output);
    ASSERT_GE(answer["rows"].size(), 4U);
    std::uint64_t writes = 0;
    double time_s = 0;
    for (const auto& row : answer["rows"]) {
        EXPECT_GT(row[0], time_s);
        time_s = row[0];
        EXPECT_EQ(row[1], "syscalls:sys_enter_write");
        writes += row[2].get<std::uint64_t>();
    }
    EXPECT_EQ(writes, 500U);
    EXPECT_EQ(stat({"-I", "50", "-r", "2", "--", "true"}).ending.status, 2);
}

// Without a command: up to the end of the processes, or to Ctrl-C.
TEST(StatProgram, OfProcessesEndsWithThem) {
    const end_to_end::Process busy(
        {"sh", "-c", "end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do :; done"});
    const Finished finished = stat({"-p", std::to_string(busy.pid()), "-e", "task-clock", "--format", "json"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_GT(row_of(nlohmann::json::parse(finished.error_output), "task-clock")[1], 0);
}

TEST(StatProgram, OfTheMachineEndsWithCtrlC) {
    end_to_end::Process stat_of_all({program_path("perfleet"), "stat", "-a", "-I", "20", "-e", "cpu-clock"});
    ASSERT_TRUE(stat_of_all.wait_for_error("time").has_value());
    stat_of_all.send_signal(SIGINT);
    const auto ending = stat_of_all.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0);
    EXPECT_EQ(stat({}).ending.status, 2);
    EXPECT_EQ(stat({"-a", "-r", "2"}).ending.status, 2);
}

TEST(StatProgram, OfTheMachineEndsAfterItsDuration) {
    const Finished finished = stat({"-a", "--duration", "0.25", "-I", "100", "-e", "cpu-clock", "--format", "json"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    const nlohmann::json answer = nlohmann::json::parse(finished.error_output);
    EXPECT_GE(answer["rows"].back()[0], 0.25);
    EXPECT_EQ(stat({"-a", "--duration", "0", "-e", "cpu-clock"}).ending.status, 2);
    const Finished with_command = stat({"--duration", "1", "--", "true"});
    EXPECT_EQ(with_command.ending.status, 2);
    EXPECT_NE(with_command.error_output.find("timeout SECONDS"), std::string::npos) << with_command.error_output;
}

TEST(StatProgram, SaysWhatThisMachineDoesNotCount) {
    const Finished finished = stat({"-e", "page-faults,cycles,instructions", "--", "true"});
    EXPECT_EQ(finished.ending.status, 0);
    const Finished perf = end_to_end::run({"perf", "stat", "-e", "cycles", "true"});
    const bool has_counters = perf.error_output.find("not supported") == std::string::npos;
    EXPECT_EQ(finished.error_output.find("not supported") == std::string::npos, has_counters) << finished.error_output;
}

// As perf does where perf_event_paranoid is 2.
TEST(StatProgram, OfAUserWithoutRightsCountsInUserSpace) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "another user: needs root";
    }
    end_to_end::Process::Options options;
    options.user = 65'534;
    const std::string events = "task-clock,page-faults";
    const Finished perf = end_to_end::run({"perf", "stat", "-x,", "-e", events, "true"}, options);
    if (perf.ending.status != 0) {
        GTEST_SKIP() << "this kernel lets users without rights count nothing: " << perf.error_output;
    }
    const Finished ours =
        end_to_end::run({program_path("perfleet"), "stat", "--format", "json", "-e", events + ",context-switches", "--",
                         "sh", "-c", "i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done"},
                        options);
    ASSERT_EQ(ours.ending.status, 0) << ours.error_output;
    const nlohmann::json answer = nlohmann::json::parse(ours.error_output);
    const bool is_restricted = perf.error_output.find("page-faults:u") != std::string::npos;
    const nlohmann::json clock = row_of(answer, is_restricted ? "task-clock:u" : "task-clock");
    EXPECT_GT(clock[1], 0) << answer;
    EXPECT_TRUE(std::string{clock.back()}.ends_with(" CPUs")) << clock;
    EXPECT_GT(row_of(answer, is_restricted ? "page-faults:u" : "page-faults")[1], 10) << answer;
    // Never in user space: perf counts 0.
    EXPECT_EQ(row_of(answer, "context-switches")[1].is_null(), is_restricted) << answer;
    EXPECT_EQ(answer["warnings"].size(), is_restricted ? 1U : 0U) << answer;
}

}  // namespace
}  // namespace perfleet::stat_program_test
