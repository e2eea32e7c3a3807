// Requirements of the source documents on runs and their figures, from imported files to the answer.
#include <gtest/gtest.h>

#include "tools/perfleet/import/testing/import_fixture.h"

namespace perfleet::latency_requirements_test {
namespace {

ImportedRun run_of(const std::vector<std::uint64_t>& values, const std::map<std::string, std::string>& labels = {}) {
    ImportedRun run;
    run.labels = {{"format", "columns"}, {"status", "ok"}};
    for (const auto& [name, text] : labels) {
        run.labels[name] = text;
    }
    run.series.emplace_back();
    run.series[0].kind = Kind::kTracepoint;
    run.series[0].event = "lookup";
    run.series[0].unit = "cycles";
    run.series[0].values = values;
    return run;
}

std::string text_of(const Answer& answer, const std::string& column, std::size_t row = 0) {
    const auto texts = printed(answer, column);
    return row < texts.size() ? texts[row] : "";
}

// S3-1
TEST(LatencyRequirement, TheModulesAverageIsAWholeNumber) {
    const auto store = stored(std::vector{run_of({75, 75, 76})});
    const Answer bernat = ask(*store, {{"mode", "bernat"}});
    EXPECT_EQ(text_of(bernat, "avg"), "75");
    EXPECT_EQ(text_of(ask(*store, {}), "mean"), "75.33");
}

// S3-3
TEST(LatencyRequirement, CyclesBecomeNanosecondsByTheStoredFrequencyOnly) {
    const Answer known = ask(*stored(std::vector{run_of({75, 75}, {{"clock_hz", "3000000000"}})}), {});
    EXPECT_EQ(text_of(known, "mean_ns"), "25.00");
    EXPECT_EQ(text_of(known, "median_ns"), "25.00");
    const Answer unknown = ask(*stored(std::vector{run_of({75, 75})}), {{"checklist", "yes"}});
    EXPECT_EQ(text_of(unknown, "mean"), "75.00");
    EXPECT_EQ(text_of(unknown, "mean_ns"), "-");
    EXPECT_TRUE(warns_of(unknown, "no labels that say how it was measured: machine, kernel, clock_hz, "));
    EXPECT_FALSE(warns_of(ask(*stored(std::vector{run_of({75, 75})}), {}), "how it was measured"));
}

// S3-4, S3-5
TEST(LatencyRequirement, ARunKeepsItsParametersAndIsFoundByThem) {
    const auto store = stored(std::vector{run_of({75, 75, 76}, {{"loop_count", "5000"}, {"dst", "192.0.2.1"}}),
                                          run_of({90, 91, 92}, {{"loop_count", "10000"}, {"dst", "192.0.2.1"}})});
    EXPECT_EQ(ask(*store, {{"select", R"({dst="192.0.2.1"})"}}).rows.size(), 2U);
    const Answer one = ask(*store, {{"select", R"({loop_count="10000"})"}});
    ASSERT_EQ(one.rows.size(), 1U);
    EXPECT_EQ(text_of(one, "median"), "91.00");
    // Parameters belong to the session's first message: the same values with others are another run, and the first
    // keeps its own.
    StoreDestination destination{*store};
    const auto again = store_run(run_of({75, 75, 76}, {{"loop_count", "1"}, {"dst", "192.0.2.1"}}),
                                 {"board", "aarch64", kImportTime, "file"}, destination);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(again->was_there);
    EXPECT_EQ(ask(*store, {{"select", R"({loop_count="5000"})"}}).rows.size(), 1U);
    EXPECT_EQ(ask(*store, {{"select", R"({loop_count="1"})"}}).rows.size(), 1U);
}

// S3-10
TEST(LatencyRequirement, TheMinimumStandsWithItsVarianceFromRunToRun) {
    ImportedRun failed = run_of({1});
    failed.fail("no match");
    const auto store = stored(std::vector{run_of({72, 80, 90}), run_of({74, 80, 95}), run_of({76, 90, 99}), failed});
    const Answer runs = ask(*store, {{"runs", "yes"}});
    ASSERT_EQ(runs.rows.size(), 1U);
    EXPECT_EQ(text_of(runs, "runs"), "3");
    EXPECT_EQ(text_of(runs, "min"), "72.00");
    EXPECT_EQ(text_of(runs, "min_mean"), "74.00");
    EXPECT_EQ(text_of(runs, "min_variance"), "4.00");  // of 72, 74, 76
    EXPECT_EQ(text_of(runs, "min_sd"), "2.00");
    EXPECT_EQ(text_of(runs, "median_mean"), "83.33");  // of 80, 80, 90
    EXPECT_EQ(text_of(runs, "median_sd"), "5.77");
    // 83.33 ± 4.302653 × 5.7735 ÷ √3
    EXPECT_EQ(text_of(runs, "median_low"), "68.99");
    EXPECT_EQ(text_of(runs, "median_high"), "97.68");
    EXPECT_TRUE(warns_of(runs, "1 run that failed is left out"));
    const Answer one = ask(*stored(std::vector{run_of({72, 80})}), {{"runs", "yes"}});
    EXPECT_EQ(text_of(one, "min_variance"), "-");
    EXPECT_TRUE(warns_of(one, "one run says nothing"));
}

// S3-14
TEST(LatencyRequirement, RunsAtSeveralFrequenciesAreNotTakenForOne) {
    const std::map<std::string, std::string> steady{
        {"frequency_khz", "2400000"}, {"governor", "performance"}, {"turbo", "off"}};
    auto slower = steady;
    slower["frequency_khz"] = "1800000";
    const auto same = stored(std::vector{run_of({72, 80}, steady), run_of({73, 80}, steady)});
    EXPECT_FALSE(warns_of(ask(*same, {}), "differ"));
    EXPECT_FALSE(warns_of(ask(*same, {{"runs", "yes"}}), "differ"));
    const auto mixed = stored(std::vector{run_of({72, 80}, steady), run_of({73, 80}, slower)});
    EXPECT_TRUE(warns_of(ask(*mixed, {}), "runs differ in frequency_khz: 1800000, 2400000"));
    EXPECT_TRUE(warns_of(ask(*mixed, {{"runs", "yes"}}), "runs differ in frequency_khz: 1800000, 2400000"));
    auto turbo = steady;
    turbo["turbo"] = "on";
    EXPECT_TRUE(warns_of(ask(*stored(std::vector{run_of({72, 80}, turbo)}), {}), "the frequency may change"));
}

// S4-W6
TEST(LatencyRequirement, EachFigureLeadsToItsRawValuesItsConfigurationAndItsTool) {
    const auto store = stored(read_kbench(golden("kanata_run_1.txt"), {}));
    const Answer figures = ask(*store, {{"kbench", "yes"}});
    const std::string session = text_of(figures, "session");
    ASSERT_EQ(session.size(), 32U);
    const Answer raw = ask(*store, {{"table", "yes"}, {"session", session}});
    ASSERT_EQ(raw.rows.size(), 30U);
    EXPECT_EQ(std::get<std::uint64_t>(raw.rows[0][1]), 1'363'962U);
    const auto sessions = run_text_query("sessions", {{"session", session}}, *store, {}, kImportTime);
    ASSERT_TRUE(sessions.ok());
    EXPECT_NE(text_of(*sessions, "labels").find("initial_test_size=300"), std::string::npos)
        << text_of(*sessions, "labels");
    EXPECT_EQ(text_of(*sessions, "version"), PERFLEET_VERSION);
}

// S4-W7
TEST(LatencyRequirement, SingleAndAccumulatedLatenciesStandInOneStore) {
    auto runs = read_kbench(golden("kanata_run_1.txt"), {});
    ASSERT_TRUE(runs.ok());
    runs->push_back(run_of({4'540, 4'541, 4'542}));
    const auto store = stored(runs);
    const Answer all = ask(*store, {});
    ASSERT_EQ(all.rows.size(), 2U);
    // Only accumulated ones have a test size, and only they say something of a primary latency.
    std::vector<std::string> sizes = printed(all, "test_size");
    std::sort(sizes.begin(), sizes.end());
    EXPECT_EQ(sizes, (Texts{"-", "300"}));
    EXPECT_EQ(ask(*store, {{"kbench", "yes"}}).rows.size(), 1U);
}

}  // namespace
}  // namespace perfleet::latency_requirements_test
