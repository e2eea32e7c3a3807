// perfleet compare with real programs: the stored data of each run, the verdict, and runs that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
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
    // One session per run, without the warm-up.
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
        compare(joined({"--precision", "1000", "-e", "task-clock"}, {"sleep", "0.1"}, {"sleep", "0.2"}));
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
    const Finished anyway =
        compare(joined({"-n", "2", "--ignore-failure", "--format", "json"}, {"true"}, {"sh", "-c", "exit 3"}));
    EXPECT_EQ(anyway.ending.status, 0) << anyway.error_output;
    EXPECT_NE(anyway.error_output.find("2 of 2 runs of B ended with another status than 0"), std::string::npos)
        << anyway.error_output;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--", "true", ":::"}, {"--", ":::", "true"}, {"--", "true", ":::", ":::", "true"}}) {
        const Finished refused = compare(words);
        EXPECT_EQ(refused.ending.status, 2) << words.size();
        EXPECT_NE(refused.error_output.find("a command is missing beside :::"), std::string::npos);
    }
}

TEST_F(CompareProgram, ShowsTheDistributionOfOneCommand) {
    const Finished shown = compare({"-n", "3", "--bytes", "1m", "--", "sleep", "0.01"});
    ASSERT_EQ(shown.ending.status, 0) << shown.error_output;
    EXPECT_TRUE(shown.output.starts_with("3 runs\n  A  sleep 0.01\n\n")) << shown.output;
    for (const char* text : {"median", "p90", "distribution: ", "█", "throughput\n  A  ", " MB/s"}) {
        EXPECT_NE(shown.output.find(text), std::string::npos) << text << shown.output;
    }
    const json row = rows_of(
        json::parse(compare({"-n", "3", "--items", "10", "--format", "json", "--", "sleep", "0.01"}).output))[0];
    EXPECT_EQ(row.at("command"), "sleep 0.01");
    EXPECT_EQ(row.at("runs"), 3);
    EXPECT_NEAR(row.at("rate").get<double>(), 10e9 / row.at("mean").get<double>(), 1e-6);
    EXPECT_LE(row.at("min").get<double>(), row.at("median").get<double>());
    EXPECT_LT(row.at("mean_low").get<double>(), row.at("mean").get<double>());
    EXPECT_TRUE(row.at("relative").is_null());
    EXPECT_EQ(compare({"--fail-if", "mean > 5%", "--", "true"}).ending.status, 2);
}

TEST_F(CompareProgram, SeveralAreComparedWithTheReferenceAndCorrectedTogether) {
    const std::vector<json> rows =
        rows_of(json::parse(compare({"-n", "5", "--reference", "2", "--format", "json", "--", "sleep", "0.01",
                                     ":::", "sleep", "0.05", ":::", "sleep", "0.011", ":::", "sleep", "0.05"})
                                .output));
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_TRUE(rows[1].at("p").is_null()) << "the reference";
    std::vector<std::pair<double, double>> p_values;
    for (const std::size_t i : {0U, 2U, 3U}) {
        EXPECT_NEAR(rows[i].at("relative").get<double>(),
                    rows[i].at("mean").get<double>() / rows[1].at("mean").get<double>(), 1e-9);
        p_values.emplace_back(rows[i].at("p"), rows[i].at("p_adjusted"));
        const bool is_shown = p_values.back().second < 0.05;
        EXPECT_EQ(rows[i].at("verdict"), !is_shown ? "no" : rows[i].at("relative") < 1 ? "faster" : "slower");
        // The interval, where there is one, is at the level at which the line is tested.
        const auto bound = [&](const char* name) {
            return rows[i].at(name).is_null() ? 1.0 : rows[i].at(name).get<double>();
        };
        EXPECT_EQ(is_shown, bound("relative_low") > 1 || bound("relative_high") < 1) << rows[i].dump();
    }
    // Holm: the least p is multiplied by 3, the next one by 2.
    std::sort(p_values.begin(), p_values.end());
    double least = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        least = std::max(least, std::min(1.0, static_cast<double>(3 - i) * p_values[i].first));
        EXPECT_NEAR(p_values[i].second, least, 1e-12) << i;
    }
    const Finished table = compare({"-n", "2", "--format", "markdown", "--", "true", ":::", "sleep", "0.01"});
    EXPECT_TRUE(table.output.starts_with("| Command | Mean | Median | Min | Max | Relative |\n")) << table.output;
    EXPECT_NE(table.output.find("\n| `sleep 0.01` | "), std::string::npos) << table.output;
    const Finished unknown = compare({"--reference", "3", "--", "true", ":::", "false"});
    EXPECT_EQ(unknown.ending.status, 2);
    EXPECT_NE(unknown.error_output.find("the number (1 to 2)"), std::string::npos) << unknown.error_output;
}

TEST_F(CompareProgram, EachOfSeveralHasAVerdictAgainstTheReference) {
    const auto three = [](std::vector<std::string> options) {
        options.insert(options.end(), {"-n", "4", "-e", "page-faults", "--reference", "2", "--"});
        for (const char* const block_size : {"64M", "1k", "2k"}) {
            const auto command = copy_of_zeros(block_size);
            options.insert(options.end(), command.begin(), command.end());
            options.emplace_back(":::");
        }
        options.pop_back();
        return options;
    };
    const Finished exceeded =
        compare(three({"--fail-if", "mean(page-faults) > 100%", "--percentiles", "50", "--format", "json"}));
    EXPECT_EQ(exceeded.ending.status, 1) << exceeded.error_output;
    const json answer = json::parse(exceeded.output);
    std::map<std::string, json> faults;
    bool has_median = false;
    for (const json& row : rows_of(answer)) {
        has_median |= row.at("figure") == "median";
        if (row.at("event") == "page-faults" && row.at("figure") == "mean") {
            EXPECT_TRUE(faults.emplace(row.at("side"), row).second) << row.dump();
        }
    }
    EXPECT_TRUE(has_median);
    ASSERT_EQ(faults.size(), 2U) << "A and C against B";
    EXPECT_EQ(faults.at("A").at("outcome"), "exceeded");
    EXPECT_EQ(faults.at("C").at("outcome"), "within");
    EXPECT_EQ(faults.at("A").at("before"), faults.at("C").at("before"));
    EXPECT_EQ(answer.at("ledger").at("parts").size(), 3U) << "the reference counts once";
    EXPECT_NE(answer.at("warnings").dump().find("A: --fail-if mean(page-faults) > 100%: exceeded"), std::string::npos)
        << answer.at("warnings");
    // One table for each, then the summary.
    const Finished within = compare(three({"--fail-if", "mean(page-faults) < -100%"}));
    EXPECT_EQ(within.ending.status, 0) << within.error_output;
    for (const char* const text :
         {"B before, A after\n4 runs before, 4 runs after\n", "\nB before, C after\n",
          "low, high, p: with 97.5 % confidence of each side, 95 % of all 2 together", "\n4 runs of each\n  A  dd "}) {
        EXPECT_NE(within.output.find(text), std::string::npos) << text << within.output;
    }
    const Finished undecided =
        compare(three({"--fail-if", "mean(elapsed) > 1000000%", "--fail-undecided", "--confidence", "99.9999"}));
    EXPECT_EQ(undecided.ending.status, 3) << undecided.output << undecided.error_output;
}

TEST_F(CompareProgram, ProfilesEachOfSeveral) {
    const Finished finished = compare({"-n",
                                       "2",
                                       "--warmup",
                                       "0",
                                       "--profile",
                                       "-e",
                                       "task-clock",
                                       "--fail-if",
                                       "self > 99%",
                                       "--",
                                       "sh",
                                       "-c",
                                       "for i in $(seq 100000); do :; done",
                                       ":::",
                                       "sh",
                                       "-c",
                                       "for i in $(seq 100001); do :; done",
                                       ":::",
                                       "sh",
                                       "-c",
                                       "for i in $(seq 300000); do :; done"});
    EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_NE(finished.output.find("relative to A"), std::string::npos) << "times have no condition" << finished.output;
    EXPECT_NE(finished.output.find("A before, C after"), std::string::npos) << finished.output;
    EXPECT_NE(finished.error_output.find("side=\"C\",run=\"profile\"}' -o difference.html"), std::string::npos)
        << finished.error_output;
}

TEST_F(CompareProgram, ParametersMakeACommandOfEachValue) {
    const std::string log = folder_ / "log";
    const Finished shown = compare({"-n", "2", "--warmup", "0", "--parameter", "n", "1..3", "--parameter", "word",
                                    "a,b", "--", "sh", "-c", "echo {n}{word} >> '" + log + "'"});
    ASSERT_EQ(shown.ending.status, 0) << shown.error_output;
    EXPECT_NE(shown.error_output.find("12 runs: 6 commands, 2 runs each"), std::string::npos) << shown.error_output;
    EXPECT_NE(shown.output.find("\n  F n=3 word=b "), std::string::npos) << shown.output;
    EXPECT_EQ(run({"sh", "-c", "sort -u '" + log + "' | tr '\\n' ' '"}).output, "1a 1b 2a 2b 3a 3b ");
    const Finished labels = run({program_path("perfleet"), "sessions", "--data", data_, "--all", "--select",
                                 "{parameter_n=\"2\",parameter_word=\"b\"}", "--format", "json"});
    EXPECT_EQ(rows_of(json::parse(labels.output)).size(), 2U) << labels.error_output;
    for (const auto& [words, reason] :
         {std::pair{std::vector<std::string>{"--parameter", "n", "1..200", "--", "true"}, "2200 runs, at most 1000"},
          {{"--parameter", "n", "8..1", "--", "true"}, "a range ascends"},
          {{"--parameter", "n", "1..900", "--", "true"}, "of at most 500 values"}}) {
        const Finished refused = compare(words);
        EXPECT_EQ(refused.ending.status, 2) << reason;
        EXPECT_NE(refused.error_output.find(reason), std::string::npos) << refused.error_output;
    }
}

TEST_F(CompareProgram, RunsWhatStandsBesideEachRun) {
    const std::string log = folder_ / "log";
    const auto note = [&](const char* text) { return std::string{"echo "} + text + " >> '" + log + "'"; };
    std::ofstream{folder_ / "input"} << "given\n";
    const Finished shown =
        compare({"-n", "2", "--setup", note("setup"), "--prepare", note("prepare"), "--cleanup", note("cleanup"),
                 "--input", folder_ / "input", "--shell", "sh", "--", "cat >> '" + log + "'"});
    ASSERT_EQ(shown.ending.status, 0) << shown.error_output;
    EXPECT_EQ(run({"sh", "-c", "tr '\\n' ' ' < '" + log + "'"}).output,
              "setup prepare given prepare given prepare given cleanup ");
    const Finished quoted = compare({"-n", "2", "--shell", "sh", "echo a | cat", "echo b | cat"});
    EXPECT_EQ(quoted.ending.status, 0) << quoted.error_output;
    EXPECT_NE(quoted.output.find("\n  B  echo b | cat\n"), std::string::npos) << quoted.output;
    const Finished failed = compare({"-n", "2", "--prepare", "exit 4", "--", "true"});
    EXPECT_EQ(failed.ending.status, 1);
    EXPECT_NE(failed.error_output.find("--prepare 'exit 4' ended with status 4"), std::string::npos)
        << failed.error_output;
    EXPECT_NE(compare({"sleep 1"}).error_output.find("add --shell sh"), std::string::npos);
}

TEST_F(CompareProgram, ComparesWithTheNewestBaseline) {
    const auto with = [](std::vector<std::string> options, const std::string& block_size) {
        const auto command = copy_of_zeros(block_size);
        options.insert(options.end(), {"-e", "page-faults", "--"});
        options.insert(options.end(), command.begin(), command.end());
        return options;
    };
    EXPECT_EQ(compare(with({"-n", "3", "--save", "main"}, "128M")).ending.status, 0);
    EXPECT_EQ(compare(with({"-n", "4", "--save", "main"}, "1k")).ending.status, 0);
    const Finished greater = compare(
        with({"-n", "5", "--baseline", "main", "--fail-if", "mean(page-faults) > 100%", "--format", "json"}, "64M"));
    EXPECT_EQ(greater.ending.status, 1) << greater.error_output;
    const auto rows = rows_of(json::parse(greater.output));
    EXPECT_EQ(rows[0].at("before_runs"), 4) << "of the newest alone";
    EXPECT_EQ(rows[0].at("after_runs"), 5);
    const Finished missing = compare({"--baseline", "other", "--", "true"});
    EXPECT_EQ(missing.ending.status, 1);
    EXPECT_NE(missing.error_output.find("save one with --save other"), std::string::npos) << missing.error_output;
    EXPECT_EQ(compare({"--save", "two", "--", "true", ":::", "true"}).ending.status, 2);
}

}  // namespace
}  // namespace perfleet::end_to_end::compare_program_test
