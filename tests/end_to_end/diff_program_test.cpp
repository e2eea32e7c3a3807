// perfleet diff as people and their CI run it: imported latencies, and recordings of a program whose shares are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "query-engine/select/selection.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::diff_program_test {
namespace {

using nlohmann::json;

class DiffProgram : public ::testing::Test {
protected:
    // 100 values from 1,000 to 1,099 in an order without meaning, times `factor`.
    void import(const std::string& version, double factor, const std::vector<std::string>& more = {"--unit", "ns"}) {
        std::vector<int> values(100);
        for (int i = 0; i < 100; ++i) {
            values[static_cast<std::size_t>(i)] = static_cast<int>((1'000 + i) * factor);
        }
        std::shuffle(values.begin(), values.end(), std::mt19937_64{7});
        const std::string file = folder_ / version;
        std::ofstream text{file};
        text << "call\n";
        for (const int value : values) {
            text << value << "\n";
        }
        text.close();
        std::vector<std::string> command{"import", "--format", "columns", "--label", "version=" + version,
                                         "--data", data_,      file};
        command.insert(command.end(), more.begin(), more.end());
        (void)perfleet(command);
    }

    Finished diff(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {program_path("perfleet"), "diff", "--data", data_});
        return run(arguments);
    }

    static std::string version(const std::string& name) { return "{version=\"" + name + "\"}"; }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "store";
};

std::map<std::string, json> by_figure(const json& answer) {
    std::map<std::string, json> rows;
    for (const json& row : rows_of(answer)) {
        rows[row.at("figure").get<std::string>()] = row;
    }
    return rows;
}

TEST_F(DiffProgram, SaysHowMuchSlowerInTextJsonAndCsv) {
    import("1", 1);
    import("2", 1.1);
    const std::vector<std::string> sides{"--before", version("1"), "--after", version("2"), "--within-run"};
    const Finished text = diff(sides);
    EXPECT_EQ(text.ending.status, 0) << text.error_output;
    EXPECT_NE(text.output.find("mean: slower by 10.0 % ["), std::string::npos) << text.output;
    EXPECT_NE(text.output.find("rows before: 100 produced, all stored\n"), std::string::npos);
    EXPECT_NE(text.output.find("low, high, p: of all lines together\n"
                               "detects: the smallest change shown in 80 of 100 such comparisons\n"),
              std::string::npos);
    std::istringstream lines{text.output};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80U) << line;
    }
    std::vector<std::string> in_json{"diff", "--data", data_};
    in_json.insert(in_json.end(), sides.begin(), sides.end());
    const json answer = perfleet_json(in_json);
    const auto rows = by_figure(answer);
    EXPECT_EQ(rows.at("mean").at("before"), 1049.5);
    EXPECT_EQ(rows.at("mean").at("unit"), "ns");
    EXPECT_EQ(rows.at("median").at("before"), 1049.5);
    EXPECT_NEAR(rows.at("mean").at("change").get<double>(), 10, 0.1);
    EXPECT_LT(rows.at("mean").at("change_low").get<double>(), 10);
    EXPECT_GT(rows.at("mean").at("change_high").get<double>(), 10);
    EXPECT_LT(rows.at("shift").at("p_adjusted").get<double>(), 0.0001);
    EXPECT_TRUE(rows.at("p99").at("difference_low").is_null());  // 100 values make no interval of it
    EXPECT_EQ(rows.at("mean").at("before_sessions").get<std::string>().size(), 32U);
    EXPECT_EQ(answer.at("ledger").at("produced"), 200);
    EXPECT_EQ(answer.at("ledger").at("parts").at("after").at("stored"), 100);
    std::vector<std::string> in_csv = sides;
    in_csv.insert(in_csv.end(), {"--format", "csv"});
    EXPECT_NE(diff(in_csv).output.find("\r\ncall,,mean,ns,1049.5,"), std::string::npos);
}

TEST_F(DiffProgram, DecimalsOfTheSidesMayDiffer) {
    const auto import_text = [&](const std::string& version, const std::string& values) {
        const std::string file = folder_ / version;
        std::ofstream{file} << "call_us\n" << values;
        (void)perfleet({"import", "--format", "columns", "--label", "version=" + version, "--data", data_, file});
    };
    import_text("1", "1.5\n2.5\n3.5\n");
    import_text("2", "3.125\n5.125\n7.125\n");
    const json answer =
        perfleet_json({"diff", "--data", data_, "--before", version("1"), "--after", version("2"), "--within-run"});
    const auto rows = by_figure(answer);
    EXPECT_EQ(rows.at("median").at("unit"), "us");
    EXPECT_DOUBLE_EQ(rows.at("median").at("before").get<double>(), 2.5);
    EXPECT_DOUBLE_EQ(rows.at("median").at("after").get<double>(), 5.125);
    EXPECT_DOUBLE_EQ(rows.at("mean").at("difference").get<double>(), 2.625);
    // Welch: variances 1 and 4 of three values, 2.9412 degrees of freedom. The mean has nine tenths of the 5 %:
    // t = 3.3612 (R: qt(1 - 0.0225, 50 / 17)).
    EXPECT_NEAR(rows.at("mean").at("difference_high").get<double>(), 2.625 + 3.3612 * std::sqrt(5.0 / 3), 0.001);
    EXPECT_DOUBLE_EQ(rows.at("shift").at("difference").get<double>(), 2.625);
    const Finished text = diff({"--before", version("1"), "--after", version("2")});
    EXPECT_NE(text.output.find("call_us [us]: 3 before, 3 after"), std::string::npos) << text.output;
}

TEST_F(DiffProgram, ExitStatusIsThatOfTheConditions) {
    import("1", 1);
    import("2", 1.1);
    import("3", 1);  // other labels, the same values
    const auto status = [&](const std::string& after, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"--before", version("1"), "--after", version(after), "--within-run"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return diff(arguments).ending.status;
    };
    EXPECT_EQ(status("2", {"--fail-if", "mean > 5%"}), 1);
    EXPECT_EQ(status("2", {"--fail-if", "mean > 15%"}), 0);
    EXPECT_EQ(status("2", {"--fail-if", "mean > 15%", "--fail-if", "median > 5%"}), 1);
    EXPECT_EQ(status("2", {"--fail-if", "mean(call) > 5%"}), 1);
    EXPECT_EQ(status("2", {"--fail-if", "mean < -5%"}), 0);
    EXPECT_EQ(status("2", {"--fail-if", "max > 5%"}), 1);
    EXPECT_EQ(status("3", {"--fail-if", "mean > 5%, median > 5%, max > 5%"}), 0);
    // Too few values for an interval of p99: undecided.
    EXPECT_EQ(status("2", {"--fail-if", "p99 > 5%"}), 0);
    EXPECT_EQ(status("2", {"--fail-if", "p99 > 5%", "--fail-undecided"}), 3);
    EXPECT_EQ(status("2", {"--fail-if", "p99 > 5%", "--fail-if", "mean > 5%", "--fail-undecided"}), 1);
    EXPECT_EQ(status("2", {"--fail-if", "mean > 5"}), 2);
    EXPECT_EQ(status("2", {"--fail-if", "self > 5%"}), 2);
    EXPECT_EQ(status("2", {"--fail-if", "mean(other) > 5%"}), 1);
    EXPECT_EQ(status("none", {"--fail-if", "mean > 5%"}), 1);
    EXPECT_EQ(diff({"--before", "last", "last~1"}).ending.status, 2);
    const Finished undecided =
        diff({"--before", version("1"), "--after", version("2"), "--within-run", "--fail-if", "p99 > 5%"});
    EXPECT_NE(undecided.error_output.find("an interval takes 299 on each side"), std::string::npos)
        << undecided.error_output;
}

TEST_F(DiffProgram, OneRunASideSaysNothingOfTheNext) {
    import("1", 1);
    import("2", 1.1);
    const std::vector<std::string> sides{"--before", version("1"), "--after", version("2")};
    const Finished one = diff(sides);
    EXPECT_NE(one.output.find("mean: unknown: one run a side doesn't predict the next one"), std::string::npos)
        << one.output;
    EXPECT_NE(one.error_output.find("--within-run compares the rows within these"), std::string::npos)
        << one.error_output;
    std::vector<std::string> with_condition = sides;
    with_condition.insert(with_condition.end(), {"--fail-if", "mean > 5%"});
    EXPECT_EQ(diff(with_condition).ending.status, 0);
    with_condition.emplace_back("--fail-undecided");
    EXPECT_EQ(diff(with_condition).ending.status, 3);

    // Three more per side, which differ by some percent.
    for (const double spread : {0.99, 1.01, 1.02}) {
        import("1", spread);
        import("2", 1.1 * spread);
    }
    const Finished several = diff(sides);
    EXPECT_NE(several.output.find("400 in 4 runs before"), std::string::npos) << several.output;
    EXPECT_NE(several.output.find("mean: slower by 10.0 % ["), std::string::npos) << several.output;
    // By how the runs differ: then the same data are weaker evidence than as values by themselves.
    std::vector<std::string> in_json{"diff", "--data", data_};
    in_json.insert(in_json.end(), sides.begin(), sides.end());
    const double by_runs = by_figure(perfleet_json(in_json)).at("mean").at("change_low").get<double>();
    in_json.emplace_back("--within-run");
    EXPECT_NE(by_figure(perfleet_json(in_json)).at("mean").at("change_low").get<double>(), by_runs);
}

TEST_F(DiffProgram, WarnsOfWhatWasMeasuredDifferently) {
    import("1", 1, {"--clock-hz", "1.5e9", "--label", "clock_hz=1500000000", "--label", "governor=performance"});
    import("2", 1, {"--clock-hz", "2000000000", "--label", "governor=powersave"});
    import("us", 1, {"--unit", "us"});
    import("3", 1, {"--event", "call"});
    const Finished frequency = diff({"--before", version("1"), "--after", version("2")});
    EXPECT_NE(frequency.error_output.find("clock_hz (1500000000 before, 2000000000 after)"), std::string::npos)
        << frequency.error_output;
    EXPECT_NE(frequency.error_output.find("governor (performance before, powersave after)"), std::string::npos);
    EXPECT_EQ(frequency.error_output.find("version"), std::string::npos);  // differs on purpose
    EXPECT_NE(frequency.error_output.find("not all runs have 13 of 15 labels that say how (--checklist names them)"),
              std::string::npos)
        << frequency.error_output;
    const Finished checklist = diff({"--before", version("1"), "--after", version("2"), "--checklist"});
    EXPECT_NE(checklist.error_output.find("not all runs have the labels machine, kernel, frequency_khz, "),
              std::string::npos)
        << checklist.error_output;
    const Finished unit = diff({"--before", version("3"), "--after", version("us")});
    EXPECT_EQ(unit.ending.status, 0);
    EXPECT_NE(unit.error_output.find("call is in cycles before and in us after: not compared"), std::string::npos)
        << unit.error_output;
    const Finished same = diff({"--before", version("1"), "--after", version("1")});
    EXPECT_NE(same.error_output.find("is on both sides"), std::string::npos) << same.error_output;
    EXPECT_EQ(same.error_output.find("measured differently"), std::string::npos);
}

// Chance differences of samples are taken for a change once in a million runs. User space alone: the kernel's work for
// others isn't the same in both halves.
TEST_F(DiffProgram, FindsAPlantedChangeOfAProfileAndNothingInHalves) {
    const std::vector<std::string> confident{"--confidence", "99.9999", "--within-run"};
    const auto differences = [&](const std::string& before, const std::string& after) {
        std::vector<std::string> arguments{"diff", "--data", data_, "--before", before, "--after", after};
        arguments.insert(arguments.end(), confident.begin(), confident.end());
        return perfleet_json(arguments);
    };
    for (const std::vector<std::string>& shares : {std::vector<std::string>{"70", "20"}, {"55", "35"}}) {
        std::vector<std::string> command{"record", "-g",     "-e",  "cpu-clock:u", "-F",
                                         "999",    "--data", data_, "--",          workload_path("shares_workload"),
                                         "4"};
        command.insert(command.end(), shares.begin(), shares.end());
        (void)perfleet(command);
    }
    const json planted = differences("last~1", "last");
    expect_ledger_adds_up(planted);
    std::map<std::string, json> self;
    for (const json& row : rows_of(planted)) {
        if (row.at("figure") == "self") {
            self[row.at("symbol").get<std::string>()] = row;
        }
    }
    EXPECT_TRUE(self.at("work_a").at("verdict").get<std::string>().starts_with("less by ")) << planted.dump(1);
    EXPECT_TRUE(self.at("work_b").at("verdict").get<std::string>().starts_with("more by ")) << planted.dump(1);
    EXPECT_LT(self.at("work_b").at("difference_low").get<double>(), 15);
    EXPECT_GT(self.at("work_b").at("difference_high").get<double>(), 15);
    EXPECT_TRUE(self.at("work_c").at("verdict").get<std::string>().starts_with("no difference shown"));
    // The largest change comes first.
    const std::set<std::string> first{rows_of(planted)[0].at("symbol"), rows_of(planted)[1].at("symbol")};
    EXPECT_EQ(first.size() + first.count("work_c"), first.size()) << planted.dump(1);
    const std::vector<std::string> sides{"--before", "last~1", "--after", "last"};
    const auto status = [&](const std::string& condition) {
        std::vector<std::string> arguments = sides;
        arguments.insert(arguments.end(), confident.begin(), confident.end());
        arguments.insert(arguments.end(), {"--fail-if", condition});
        return diff(arguments).ending.status;
    };
    EXPECT_EQ(status("self > 5%"), 1);
    EXPECT_EQ(status("self(work_c) > 5%"), 0);
    EXPECT_EQ(status("self(work_a) < -5%"), 1);

    // The first recording, cut in the middle.
    const json session = rows_of(perfleet_json({"sessions", "--data", data_})).front();
    const auto start = parse_time(session.at("start").get<std::string>(), UtcNs{0});
    const auto end = parse_time(session.at("end").get<std::string>(), UtcNs{0});
    ASSERT_TRUE(start.ok() && end.ok());
    const std::string middle = format_time(UtcNs{start->value + (end->value - start->value) / 2});
    const std::string id = session.at("session");
    const json halves = differences(id + " .." + middle, id + " " + middle + "..");
    EXPECT_GT(halves.at("rows").size(), 3U);
    for (const json& row : rows_of(halves)) {
        EXPECT_TRUE(row.at("verdict").get<std::string>().starts_with("no difference shown")) << row.dump();
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::diff_program_test
