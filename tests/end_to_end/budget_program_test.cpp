// What a collector does that uses more of a processor than it may.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::budget_program_test {
namespace {

class BudgetProgram : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "needs root";
        }
    }
    TemporaryFolder folder_;
};

TEST_F(BudgetProgram, TooMuchLowersTheFrequencyAndSaysSo) {
    const std::string frames = folder_ / "frames";
    const std::string data = folder_ / "data";
    // Sampling alone takes more than a tenth of a percent. Symbols would take so much at first that no sample follows.
    const Finished collected =
        run({program_path("perfleet-collector"), "--output", frames, "-a", "-e", "cpu-clock", "-F", "2000", "-g",
             "--cpu-budget", "0.1", "--no-keep-symbols", "--duration", "12"});
    EXPECT_EQ(collected.ending.status, 0) << collected.error_output;
    EXPECT_NE(collected.error_output.find("CPU budget of 0.10 %"), std::string::npos) << collected.error_output;
    const Finished imported = run({program_path("perfleet"), "import", "--format", "frames", frames, "--data", data});
    ASSERT_EQ(imported.ending.status, 0) << imported.error_output;
    const Finished asked = run({program_path("perfleet"), "controls", "--data", data, "--format", "json"});
    const auto table = nlohmann::json::parse(asked.output);
    ASSERT_GE(table["rows"].size(), 1U) << asked.output;
    EXPECT_EQ(table["rows"][0][4], "cpu-clock");
    EXPECT_LT(table["rows"][0][5].get<std::uint64_t>(), 2'000U);
    // The weight of a sample is still right: more than before, at a lower frequency.
    const Finished top = run({program_path("perfleet"), "top", "--data", data, "--format", "json"});
    std::uint64_t weight_ns = 0;
    const auto weights = nlohmann::json::parse(top.output);
    for (const auto& row : weights["rows"]) {
        weight_ns += row[3].get<std::uint64_t>();
    }
    constexpr std::uint64_t kPeriodNs = 500'000;  // of the frequency that was requested
    EXPECT_GT(weight_ns, weights["ledger"]["stored"].get<std::uint64_t>() * kPeriodNs * 6 / 5);
}

TEST_F(BudgetProgram, IsRefusedWhereTheFrequencyCannotFollow) {
    for (const std::vector<std::string>& choice :
         {std::vector<std::string>{"--", "true"}, std::vector<std::string>{"-a", "-c", "100000"}}) {
        std::vector<std::string> words{program_path("perfleet-collector"), "--output", folder_ / "refused",
                                       "--cpu-budget", "1"};
        words.insert(words.end(), choice.begin(), choice.end());
        const Finished finished = run(words);
        EXPECT_EQ(finished.ending.status, 2);
        EXPECT_NE(finished.error_output.find("--cpu-budget"), std::string::npos) << finished.error_output;
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::budget_program_test
