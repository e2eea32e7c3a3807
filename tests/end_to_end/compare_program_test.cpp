// perfleet compare with real programs: what is stored of each run, the verdict, and runs that fail.
#include <gtest/gtest.h>

#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::compare_program_test {
namespace {

using nlohmann::json;

// Each row of an answer by the names of its columns.
std::vector<json> rows_of(const json& answer) {
    std::vector<json> rows;
    for (const json& row : answer.at("rows")) {
        json& named = rows.emplace_back();
        for (std::size_t i = 0; i < row.size(); ++i) {
            named[answer.at("columns")[i].at("name").get<std::string>()] = row[i];
        }
    }
    return rows;
}

class CompareProgram : public ::testing::Test {
protected:
    Finished compare(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {program_path("perfleet"), "compare", "--data", data_});
        return run(arguments);
    }

    static std::vector<std::string> copy_of_zeros(const std::string& block_size) {
        return {"dd", "if=/dev/zero", "of=/dev/null", "bs=" + block_size, "count=1"};
    }

    static std::vector<std::string> joined(std::vector<std::string> options, const std::vector<std::string>& a,
                                           const std::vector<std::string>& b) {
        options.emplace_back("--");
        options.insert(options.end(), a.begin(), a.end());
        options.emplace_back(":::");
        options.insert(options.end(), b.begin(), b.end());
        return options;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "store";
};

TEST_F(CompareProgram, RunsBothInTurnsAndSaysWhatDiffers) {
    const Finished finished =
        compare(joined({"-n", "4", "-e", "page-faults", "--fail-if", "mean > 100%", "--format", "json"},
                       copy_of_zeros("1k"), copy_of_zeros("64M")));
    EXPECT_EQ(finished.ending.status, 1) << finished.error_output << "64 MiB are 16,384 pages";
    std::map<std::string, json> means;
    for (const json& row : rows_of(json::parse(finished.output))) {
        if (row.at("figure") == "mean") {
            means[row.at("event").get<std::string>()] = row;
        }
    }
    for (const char* event : {"elapsed", "user", "system", "page-faults"}) {
        ASSERT_TRUE(means.contains(event)) << event;
        EXPECT_EQ(means[event].at("before_runs"), 4) << event;
        EXPECT_EQ(means[event].at("after_runs"), 4) << event;
    }
    EXPECT_GT(means["page-faults"].at("difference").get<double>(), 15'000);
    EXPECT_TRUE(means["page-faults"].at("verdict").get<std::string>().find("greater") != std::string::npos)
        << means["page-faults"].dump();
    // One session a run, without the warm-up.
    const Finished sessions = run({program_path("perfleet"), "sessions", "--data", data_, "--format", "json"});
    EXPECT_EQ(rows_of(json::parse(sessions.output)).size(), 8U);
}

TEST_F(CompareProgram, TextIsALineForEachEvent) {
    const Finished finished =
        compare(joined({"-n", "3", "-e", "page-faults"}, copy_of_zeros("1k"), copy_of_zeros("64M")));
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_TRUE(finished.output.starts_with("3 runs before, 3 runs after\n\n  mean of ")) << finished.output;
    for (const char* line : {"\n  elapsed ", "\n  user ", "\n  system ", "\n  page-faults "}) {
        EXPECT_NE(finished.output.find(line), std::string::npos) << line << finished.output;
    }
    EXPECT_EQ(finished.output.find("p99"), std::string::npos) << finished.output;
    EXPECT_EQ(finished.error_output.find("perfleet"), std::string::npos) << finished.error_output;
}

TEST_F(CompareProgram, ProfilesBothSides) {
    const Finished finished = compare(
        joined({"-n", "2", "--warmup", "0", "--profile", "-e", "task-clock", "--fail-if", "self(nowhere) > 2%"},
               {"sh", "-c", "for i in $(seq 100000); do :; done"}, {"sh", "-c", "for i in $(seq 300000); do :; done"}));
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find("--fail-if self(nowhere) > 2%: nothing of the kind was compared"),
              std::string::npos)
        << finished.error_output;
    const Finished sessions = run({program_path("perfleet"), "sessions", "--data", data_, "--all", "--select",
                                   "{run=\"profile\"}", "--format", "json"});
    EXPECT_EQ(rows_of(json::parse(sessions.output)).size(), 4U) << sessions.error_output;
    const Finished refused = compare(joined({"--fail-if", "self > 2%"}, {"true"}, {"true"}));
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find("self > 2% is about profiles: add --profile"), std::string::npos)
        << refused.error_output;
}

TEST_F(CompareProgram, RunsUntilTheElapsedTimeIsKnownWellEnough) {
    const Finished rough =
        compare(joined({"--precision", "1000", "-e", "task-clock"}, {"sleep", "0.01"}, {"sleep", "0.02"}));
    ASSERT_EQ(rough.ending.status, 0) << rough.error_output;
    EXPECT_TRUE(rough.output.starts_with("5 runs before, 5 runs after\n")) << rough.output;
    EXPECT_NE(rough.error_output.find("5 runs of each side: the change of elapsed is known to +-"), std::string::npos)
        << rough.error_output;
    // The note, the table and JSON have one interval.
    const Finished noted = compare(joined({"--precision", "1000", "--format", "json"}, {"sleep", "0.01"}, {"true"}));
    for (const json& row : rows_of(json::parse(noted.output))) {
        const bool is_elapsed = row.at("event") == "elapsed";
        EXPECT_EQ(row.at("primary"), is_elapsed ? "yes" : "no");
        if (is_elapsed) {
            std::ostringstream interval;
            interval << std::fixed << std::setprecision(2) << std::showpos << "[" << row.at("change_low").get<double>()
                     << " %, " << row.at("change_high").get<double>() << " %]";
            EXPECT_NE(noted.error_output.find(interval.str()), std::string::npos)
                << interval.str() << noted.error_output;
            EXPECT_EQ(row.at("p"), row.at("p_adjusted")) << "tested alone";
        }
    }
    const Finished most =
        compare(joined({"--precision", "0.01", "-n", "6", "-e", "task-clock"}, {"sleep", "0.01"}, {"sleep", "0.02"}));
    EXPECT_TRUE(most.output.starts_with("6 runs before, 6 runs after\n")) << most.output;
    EXPECT_EQ(most.ending.status, 3) << "the precision wasn't reached";
}

TEST_F(CompareProgram, ARunThatFailsEndsIt) {
    const Finished failed = compare(joined({"-n", "2"}, {"true"}, {"sh", "-c", "echo lost; exit 3"}));
    EXPECT_EQ(failed.ending.status, 1);
    EXPECT_NE(failed.error_output.find("B (sh -c echo lost; exit 3) ended with status 3: nothing is compared"),
              std::string::npos)
        << failed.error_output;
    EXPECT_EQ(failed.output, "") << "standard output is the verdict's";
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--", "true"},
                                                  {"--", "true", ":::"},
                                                  {"--", "true", ":::", "true", ":::", "true"}}) {
        const Finished refused = compare(words);
        EXPECT_EQ(refused.ending.status, 2) << words.size();
        EXPECT_NE(refused.error_output.find("two commands, with ::: between them"), std::string::npos);
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::compare_program_test
