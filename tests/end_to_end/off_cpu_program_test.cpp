// Time off the CPU, from the scheduler to the table.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "target-collector/source/linux/bpf/off_cpu_tracer.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::off_cpu_program_test {
namespace {

class OffCpuProgram : public testing::Test {
protected:
    void SetUp() override {
        auto unwinder = KernelUnwinder::open({});
        if (!unwinder.ok()) {
            GTEST_SKIP() << unwinder.error().message;
        }
        if (const auto tracer = OffCpuTracer::open(**unwinder, {}); !tracer.ok()) {
            GTEST_SKIP() << tracer.error().message;
        }
    }

    [[nodiscard]] std::string perfleet(std::vector<std::string> words) const {
        words.insert(words.begin(), program_path("perfleet"));
        words.insert(words.end(), {"--data", data_});
        const Finished finished = run(words);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished.output;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
};

TEST_F(OffCpuProgram, SleepIsASecondBlocked) {
    const Finished recorded = run({program_path("perfleet"), "record", "-q", "--data", data_, "-e", "cpu-clock", "-g",
                                   "--off-cpu", "--", "sleep", "1"});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const auto table = nlohmann::json::parse(perfleet({"top", "--off-cpu", "--format", "json"}));
    std::vector<std::string> names;
    for (const auto& column : table["columns"]) {
        names.push_back(column["name"]);
    }
    const std::vector<std::string> expected{
        "symbol", "image", "command", "self", "self_percent", "blocked", "runnable", "children", "children_percent"};
    EXPECT_EQ(names, expected);
    double self_ms = 0;
    double whole_ms = 0;
    for (const auto& row : table["rows"]) {
        self_ms += row[3].get<double>();
        EXPECT_NEAR(row[3].get<double>(), row[5].get<double>() + row[6].get<double>(), 1e-6);
        EXPECT_NE(row[0], "__schedule") << "the scheduler's own frames are left out";
        whole_ms = row[2] == "sleep" ? std::max(whole_ms, row[7].get<double>()) : whole_ms;
    }
    EXPECT_GT(self_ms, 990);
    EXPECT_GT(whole_ms, 990);
    EXPECT_EQ(table["ledger"]["produced"], table["ledger"]["stored"]);
    EXPECT_TRUE(table["warnings"].empty()) << table["warnings"] << ": each switch is there, however few";
    // The same in every form of a profile.
    std::istringstream lines{perfleet({"export", "--to", "folded", "-o", "-", "--off-cpu"})};
    double folded_ns = 0;
    for (std::string line; std::getline(lines, line);) {
        folded_ns += std::stod(line.substr(line.rfind(' ') + 1));
    }
    EXPECT_GT(folded_ns, 990e6);
    EXPECT_NE(perfleet({"flamegraph", "--text", "--off-cpu"}).find("nanosleep"), std::string::npos);
    EXPECT_NE(perfleet({"tree", "--event", "wakeup-time"}).find("total [ms]"), std::string::npos);
    EXPECT_NE(perfleet({"losses"}).find("offcpu-time"), std::string::npos);
}

TEST_F(OffCpuProgram, SessionsWithoutItSayHowToRecordIt) {
    const Finished recorded = run({program_path("perfleet"), "record", "-q", "--data", data_, "--", "true"});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Finished asked = run({program_path("perfleet"), "top", "--off-cpu", "--data", data_});
    EXPECT_EQ(asked.ending.status, 2);
    EXPECT_NE(asked.error_output.find("record with --off-cpu"), std::string::npos) << asked.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::off_cpu_program_test
