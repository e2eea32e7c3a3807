// What is profiled, and how, by the options that perf has, too: tested on the real kernel.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::option_program_test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kCalls = "syscalls:sys_enter_getppid";

class OptionProgram : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "profiles others, and system calls: needs root";
        }
    }

    [[nodiscard]] Finished try_record(Words options, const Words& command = {"true"}) const {
        options.insert(options.begin(), {program_path("perfleet"), "record", "-q", "--data", data_});
        options.emplace_back("--");
        options.insert(options.end(), command.begin(), command.end());
        return run(options);
    }
    // A field of each row of the recording, as perf script prints it.
    [[nodiscard]] std::multiset<std::string> recorded(const Words& options, const Words& command,
                                                      const std::string& field) const {
        const Finished finished = try_record(options, command);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return fields(field);
    }
    [[nodiscard]] std::multiset<std::string> fields(const std::string& field) const {
        const Finished script = run({program_path("perfleet"), "script", "--data", data_, "-G", "-F", field});
        EXPECT_TRUE(script.ending.status == 0 || script.error_output.find("no samples") != std::string::npos)
            << script.error_output;
        std::multiset<std::string> words;
        std::istringstream text{script.output};
        for (std::string word; text >> word;) {
            words.insert(word);
        }
        return words;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    // A second of CPU on each of two threads of execution.
    Words busy_twice_{
        "sh", "-c",
        "'" + workload_path("shares_workload") + "' 0.3 & '" + workload_path("shares_workload") + "' 0.3; wait"};
};

TEST_F(OptionProgram, CpuListTakesTheseCpusAlone) {
    const auto cpus = recorded({"-e", "cpu-clock", "-C", "0"}, busy_twice_, "cpu");
    EXPECT_GT(cpus.size(), 100U);
    EXPECT_EQ(cpus.count("[000]"), cpus.size()) << *cpus.rbegin();
    EXPECT_EQ(try_record({"-e", "cpu-clock", "-C", "4095"}).ending.status, 2);
}

TEST_F(OptionProgram, UidTakesTheProcessesOfThisUser) {
    constexpr uid_t kUser = 61'234;
    Process::Options options;
    options.user = kUser;
    const Process busy({"/bin/sh", "-c", "while :; do :; done"}, options);
    const Process other({"/bin/sh", "-c", "while :; do :; done"});
    const auto pids =
        recorded({"-e", "cpu-clock", "--uid", std::to_string(kUser), "--duration", "1"}, {"sleep", "1000"}, "pid");
    EXPECT_GT(pids.size(), 10U);
    EXPECT_EQ(pids.count(std::to_string(busy.pid())), pids.size());
    const Finished nobody = try_record({"-e", "cpu-clock", "--uid", "61235"});
    EXPECT_NE(nobody.error_output.find("no process of this user"), std::string::npos) << nobody.error_output;
}

TEST_F(OptionProgram, ACommandBesideAPidOnlySaysHowLong) {
    const Process busy({"/bin/sh", "-c", "while :; do :; done"});
    const auto pids = recorded({"-e", "cpu-clock", "-p", std::to_string(busy.pid())}, {"sleep", "1"}, "pid");
    EXPECT_GT(pids.size(), 10U);
    EXPECT_EQ(pids.count(std::to_string(busy.pid())), pids.size());
}

TEST_F(OptionProgram, NoInheritLeavesOutWhatStartsLater) {
    const Words command{"sh", "-c", "'" + workload_path("getppid_workload") + "' 1000"};
    EXPECT_EQ(recorded({"-e", kCalls}, command, "event").size(), 1'001U) << "the shell calls once";
    EXPECT_EQ(recorded({"-e", kCalls, "-i"}, command, "event").size(), 1U);
}

TEST_F(OptionProgram, DelaySkipsTheFirstPart) {
    const Words calls{workload_path("getppid_workload"), "1000"};
    EXPECT_EQ(recorded({"-e", "cpu-clock", "-e", kCalls, "-D", "1000000"}, calls, "event").size(), 0U);
    const auto seen = recorded({"-e", "cpu-clock", "-D", "50"}, {workload_path("shares_workload"), "0.5"}, "event");
    EXPECT_GT(seen.size(), 10U);
}

// The kernel makes a fork of a program with tracepoints wait for others that open some: one that waits while sampling
// starts makes copies of events that are off.
TEST_F(OptionProgram, AForkWhileSamplingStartsLosesNothing) {
    std::vector<std::unique_ptr<Process>> others;
    for (int i = 0; i < 4; ++i) {
        others.push_back(std::make_unique<Process>(
            Words{"sh", "-c", "while kill -0 $PPID; do perf stat -e 'syscalls:*getppid' true 2>&-; done"}));
    }
    const Words forks{"sh", "-c",
                      "i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done; exec '" +
                          workload_path("getppid_workload") + "' 500"};
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(recorded({"-e", kCalls, "-D", "60"}, forks, "event").size(), 500U);
    }
}

TEST_F(OptionProgram, DelayOfMinusOneWaitsForAControlRequest) {
    GatewayProgram gateway{data_};
    const std::string go = folder_ / "go";
    const std::string workload = "'" + workload_path("getppid_workload") + "' ";
    Process collector({program_path("perfleet-collector"), "--gateway", gateway.listen(), "--target", "board",
                       "--exit-wait", "60", "-e", kCalls, "-D", "-1", "--", "sh", "-c",
                       workload + "1000; until [ -e '" + go + "' ] || ! kill -0 $PPID; do sleep 0.05; done; exec " +
                           workload + "500"});
    ASSERT_TRUE(collector.wait_for_output("getppid calls=1000").has_value()) << collector.error_output();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    Finished started;
    do {  // until the gateway has stored the session
        started =
            run({program_path("perfleet"), "control", "start", "--data", data_, "--target", "board", "--wait", "60"});
    } while (started.ending.status != 0 && std::chrono::steady_clock::now() < deadline);
    ASSERT_EQ(started.ending.status, 0) << started.error_output << started.output;
    std::ofstream{go} << "go";
    const auto ending = collector.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << collector.error_output();
    EXPECT_EQ(fields("event").size(), 500U)
        << collector.error_output() << started.output
        << run({program_path("perfleet"), "losses", "--data", data_, "--format", "csv"}).output
        << run({program_path("perfleet"), "counters", "--data", data_, "--format", "csv"}).output
        << run({program_path("perfleet"), "controls", "--data", data_, "--format", "csv"}).output;
}

TEST_F(OptionProgram, MmapPagesTakesPagesOrASize) {
    for (const auto& [written, pages] :
         {std::pair{"16", 16U}, std::pair{"64K", 16U}, std::pair{"65537B", 32U}, std::pair{"9", 16U}}) {
        Process collector({program_path("perfleet-collector"), "--output", folder_ / written, "-e", "cpu-clock", "-m",
                           written, "--", "sh", "-c", "echo started; exec sleep 1000"});
        ASSERT_TRUE(collector.wait_for_output("started").has_value()) << collector.error_output();
        std::set<std::uint64_t> sizes_pages;
        std::ifstream maps{"/proc/" + std::to_string(collector.pid()) + "/maps"};
        for (std::string line; std::getline(maps, line);) {
            if (line.find("[perf_event]") != std::string::npos) {
                const std::size_t dash = line.find('-');
                sizes_pages.insert((std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16)) /
                                   static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
            }
        }
        EXPECT_TRUE(sizes_pages.contains(pages + 1)) << written;
        collector.send_signal(SIGTERM);
        EXPECT_TRUE(collector.wait().has_value());
    }
}

TEST_F(OptionProgram, AllKernelAndAllUserTakeOneSideAlone) {
    const Words command{
        "sh", "-c",
        "dd if=/dev/zero of=/dev/null bs=1 count=300000 2>&-; exec '" + workload_path("shares_workload") + "' 0.1"};
    const auto is_kernel = [](const std::string& address) { return address.starts_with("ffff"); };
    const auto count_kernel = [&](const std::multiset<std::string>& ips) {
        return static_cast<std::size_t>(std::count_if(ips.begin(), ips.end(), is_kernel));
    };
    const auto both = recorded({"-e", "cpu-clock"}, command, "ip");
    EXPECT_GT(count_kernel(both), 10U);
    EXPECT_LT(count_kernel(both), both.size());
    const auto kernel = recorded({"-e", "cpu-clock", "--all-kernel"}, command, "ip");
    EXPECT_GT(kernel.size(), 10U);
    EXPECT_EQ(count_kernel(kernel), kernel.size());
    const auto user = recorded({"-e", "cpu-clock", "--all-user"}, command, "ip");
    EXPECT_GT(user.size(), 10U);
    EXPECT_EQ(count_kernel(user), 0U);
}

TEST_F(OptionProgram, FrequenciesAboveTheLimitAreLoweredOrRefused) {
    const Finished lowered = try_record({"-e", "cpu-clock", "-F", "99999999"});
    EXPECT_EQ(lowered.ending.status, 0);
    EXPECT_EQ(try_record({"-e", "cpu-clock", "-F", "max", "--strict-freq"}).ending.status, 0);
    const Finished refused = try_record({"-e", "cpu-clock", "-F", "99999999", "--strict-freq"});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find("/proc/sys/kernel/perf_event_max_sample_rate"), std::string::npos)
        << refused.error_output;
}

TEST_F(OptionProgram, OptionsOfPerfAreTakenOrRefusedWithWhatToUseInstead) {
    const Finished taken = try_record({"-e", "cpu-clock", "-T", "-P", "-R", "-B", "-N", "--buildid-all",
                                       "--exclude-perf", "--sample-cpu", "--call-graph", "fp", "-k", "raw"});
    EXPECT_EQ(taken.ending.status, 0) << taken.error_output;
    for (const auto& [option, named] :
         std::vector<std::pair<Words, std::string>>{{{"--call-graph", "dwarf,65536"}, "65528"},
                                                    {{"--call-graph", "dwarf,x"}, "dwarf,16384"},
                                                    {{"--call-graph=lbr"}, "auto takes the best"},
                                                    {{"--call-graph", "up"}, "'up'"},
                                                    {{"-j", "any,zz"}, "'zz'"},
                                                    {{"-n"}, "perfleet stat"},
                                                    {{"-G", "x"}, "--uid"},
                                                    {{"-m", "0"}, "-m"},
                                                    {{"-m", "x"}, "-m"},
                                                    {{"-t", "1", "-p", "1"}, "exclude each other"},
                                                    {{"-D", "-1"}, "perfleet control"},
                                                    {{"-C", "a"}, "0,2-3"},
                                                    {{"--all-user", "--all-kernel"}, "--all-kernel"},
                                                    {{"--mmap-page", "8"}, "'--mmap-pages'"}}) {
        const Finished refused = try_record(option);
        EXPECT_EQ(refused.ending.status, 2) << option.front();
        EXPECT_NE(refused.error_output.find(named), std::string::npos) << refused.error_output;
    }
    const Finished branches = try_record({"-e", "cpu-clock", "-b"});
    EXPECT_NE(branches.ending.status, 0);
    EXPECT_NE(branches.error_output.find("-b: cpu-clock has no branch stacks here"), std::string::npos)
        << branches.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::option_program_test
