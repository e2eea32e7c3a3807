// The state of machines that are made of files, and of the one that runs this.
#include "target-collector/linux/host/machine_state.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace perfleet {
namespace {

using State = std::vector<std::pair<std::string, std::string>>;

class MachineState : public testing::Test {
protected:
    void SetUp() override {
        root_ = std::filesystem::path{testing::TempDir()} / ("machine-" + std::to_string(::getpid()));
        std::filesystem::remove_all(root_);
        std::filesystem::create_directories(root_);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void put(const std::string& path, const std::string& text) {
        const auto file = root_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream{file} << text;
    }
    [[nodiscard]] State state() const { return machine_state(root_.string()); }

private:
    std::filesystem::path root_;
};

TEST_F(MachineState, IsReadFromWhereLinuxKeepsIt) {
    const std::string cpus = "sys/devices/system/cpu/";
    put(cpus + "cpu0/cpufreq/scaling_governor", "performance\n");
    put(cpus + "cpu1/cpufreq/scaling_governor", "performance\n");
    put(cpus + "cpu0/cpufreq/scaling_cur_freq", "2400000\n");
    put(cpus + "cpu1/cpufreq/scaling_cur_freq", "2400000\n");
    put(cpus + "intel_pstate/no_turbo", "1\n");
    put(cpus + "smt/active", "0\n");
    put(cpus + "isolated", "2-3\n");
    put("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: A Processor @ 2.40GHz\nflags\t\t: fpu\n");
    EXPECT_EQ(state(), (State{{"frequency_khz", "2400000"},
                              {"governor", "performance"},
                              {"isolated_cpus", "2-3"},
                              {"kernel", "6.1.0-18-amd64"},
                              {"machine", "A Processor @ 2.40GHz"},
                              {"smt", "off"},
                              {"turbo", "off"}}));
    put(cpus + "cpu1/cpufreq/scaling_governor", "powersave\n");
    put(cpus + "cpu1/cpufreq/scaling_cur_freq", "800000\n");
    put(cpus + "intel_pstate/no_turbo", "0\n");
    EXPECT_EQ(state()[0].second, "800000-2400000");
    EXPECT_EQ(state()[1].second, "performance,powersave");
    EXPECT_EQ(state()[6].second, "on");
}

TEST_F(MachineState, WhatAMachineDoesNotSayIsLeftOut) {
    EXPECT_TRUE(state().empty());
    put("sys/devices/system/cpu/isolated", "\n");
    put("sys/devices/system/cpu/cpufreq/boost", "0\n");
    put("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n");
    EXPECT_EQ(state(), (State{{"turbo", "off"}}));
}

TEST(MachineStateHere, HasTheRunningKernel) {
    utsname system{};
    ASSERT_EQ(::uname(&system), 0);
    const State state = machine_state();
    const auto kernel = std::find_if(state.begin(), state.end(), [](const auto& one) { return one.first == "kernel"; });
    ASSERT_NE(kernel, state.end());
    EXPECT_EQ(kernel->second, system.release);
}

}  // namespace
}  // namespace perfleet
