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
    const std::vector<std::string> expected{"symbol",          "image",   "command",  "self",     "self_percent",
                                            "self_samples",    "blocked", "runnable", "children", "children_percent",
                                            "children_samples"};
    EXPECT_EQ(names, expected);
    std::uint64_t self_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t whole_ns = 0;
    const auto number = [](const nlohmann::json& row, std::size_t at) { return row[at].get<std::uint64_t>(); };
    for (const auto& row : table["rows"]) {
        self_ns += number(row, 3);
        blocked_ns += number(row, 6);
        runnable_ns += number(row, 7);
        EXPECT_NE(row[0], "__schedule") << "the scheduler's own frames are left out";
        whole_ns = row[2] == "sleep" ? std::max(whole_ns, number(row, 8)) : whole_ns;
    }
    EXPECT_EQ(self_ns, blocked_ns + runnable_ns);
    EXPECT_EQ(self_ns, table["measure"]["total"].get<std::uint64_t>());
    EXPECT_GT(blocked_ns, 990'000'000U);
    EXPECT_GT(whole_ns, 990'000'000U);
    // Each part alone.
    for (const auto& [event, sum] : {std::pair{"offcpu-time", blocked_ns}, std::pair{"runqueue-time", runnable_ns}}) {
        const auto alone = nlohmann::json::parse(perfleet({"top", "--event", event, "--format", "json"}));
        const std::uint64_t total = alone.contains("measure") ? alone["measure"]["total"].get<std::uint64_t>() : 0;
        EXPECT_EQ(total, sum) << event;
    }
    EXPECT_EQ(table["ledger"]["produced"], table["ledger"]["stored"]);
    EXPECT_TRUE(table["warnings"].empty()) << table["warnings"] << ": each switch is there, however few";
    // The same in every form of a profile.
    std::istringstream lines{perfleet({"export", "--to", "folded", "-o", "-", "--off-cpu"})};
    std::uint64_t folded_blocked_ns = 0;
    std::uint64_t folded_ns = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::uint64_t amount = std::stoull(line.substr(line.rfind(' ') + 1));
        folded_ns += amount;
        folded_blocked_ns += line.starts_with("sleep [blocked];") ? amount : 0;
    }
    EXPECT_EQ(folded_ns, self_ns);
    EXPECT_GT(folded_blocked_ns, 990'000'000U);
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
