// perfleet compare with real programs: what is stored of each run, the verdict, and runs that fail.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
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
