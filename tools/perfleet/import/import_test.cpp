// From a file to the answer, through the store: published figures to the printed digit.
#include "query-engine/statistic/testing/text_query.h"
#include "tools/perfleet/import/testing/import_fixture.h"

namespace perfleet::import_test {
namespace {

TEST(Import, KanataTableThreeFourIsPrintedAsPublished) {
    const auto store = stored(read_kbench(golden("kanata_table_3_4.txt"), {}));
    const Answer answer = ask(*store, {{"kbench", "yes"}});
    EXPECT_EQ(printed(answer, "mean_a"), (Texts{"5100.97", "9605.60", "14508.03", "19060.23", "23549.47"}));
    EXPECT_EQ(printed(answer, "sd_a"), (Texts{"461.51", "262.10", "420.36", "471.02", "389.48"}));
    EXPECT_EQ(printed(answer, "cv_a"), (Texts{"9.05", "2.73", "2.90", "2.47", "1.65"}));
    EXPECT_EQ(printed(answer, "mean"), (Texts{"5100.97", "4802.80", "4836.01", "4765.06", "4709.89"}));
    EXPECT_EQ(printed(answer, "change"), (Texts{"-", "-5.85", "0.69", "-1.47", "-1.16"}));
    EXPECT_EQ(printed(answer, "converged"), (Texts{"no", "no", "no", "no", "no"}));
    EXPECT_EQ(printed(answer, "tests_needed")[0], "56");
    EXPECT_EQ(printed(answer, "median_a")[0], "4965.00");
    EXPECT_EQ(printed(answer, "mad_a")[0], "192.00");
    EXPECT_EQ(answer.ledger.stored, 150U);
    EXPECT_TRUE(warns_of(answer, "not converged"));
    EXPECT_TRUE(warns_of(answer, "var_p differs"));
}

TEST(Import, KanataRunOneIsPrintedAsPublished) {
    const auto store = stored(read_kbench(golden("kanata_run_1.txt"), {}));
    const Answer answer = ask(*store, {{"kbench", "yes"}});
    const std::vector<std::pair<std::string, std::string>> published{
        {"mean_a", "1361987.77"}, {"var_a", "6227560.94"},
        {"mean", "4539.96"},      {"var_y", "69.20"},
        {"sd_y", "8.32"},         {"cv_y", "0.18"},
        {"half_width", "2.50"},   {"low", "4537.46"},
        {"high", "4542.46"},      {"half_width_of_mean", "0.06"},
        {"var_p", "20758.54"},    {"sd_p", "144.08"},
        {"cv_p", "3.17"}};
    for (const auto& [column, figure] : published) {
        EXPECT_EQ(printed(answer, column), Texts{figure}) << column;
    }
}

TEST(Import, SkippedTestsAreLeftOutOfEachGroup) {
    const auto store = stored(read_kbench(golden("kanata_table_3_4.txt"), {}));
    const Answer answer = ask(*store, {{"kbench", "yes"}, {"skip", "1"}});
    EXPECT_EQ(printed(answer, "tests")[0], "29");
    EXPECT_EQ(printed(answer, "mean_a")[0], "5030.24");
    EXPECT_EQ(printed(answer, "sd_a")[0], "255.29");
}

TEST(Import, SkippedValuesOfAColumnAreLeftOutInEveryView) {
    const auto store = stored(read_columns("a\n1000\n1\n2\n3\n4\n", {}));
    EXPECT_EQ(printed(ask(*store, {{"skip", "1"}}), "count"), Texts{"4"});
    EXPECT_EQ(printed(ask(*store, {{"skip", "1"}}), "max"), Texts{"4"});
    EXPECT_EQ(printed(ask(*store, {{"skip", "2"}, {"sketch", "yes"}}), "count"), Texts{"3"});
    EXPECT_EQ(printed(ask(*store, {{"skip", "1"}, {"mode", "bernat"}}), "max"), Texts{"4"});
    EXPECT_EQ(printed(ask(*store, {{"skip", "1"}, {"mode", "sel4bench-legacy"}}), "samples"), Texts{"4"});
    EXPECT_EQ(printed(ask(*store, {{"skip", "1"}, {"runs", "yes"}}), "least"),
              printed(ask(*store, {{"runs", "yes"}}), "least"));
    EXPECT_EQ(ask(*store, {{"skip", "1"}, {"histogram", "log2"}}).rows.back()[3], AnswerValue{std::uint64_t{4}});
    EXPECT_EQ(ask(*store, {{"skip", "1"}, {"histogram", "linear"}}).rows.back()[3], AnswerValue{std::uint64_t{4}});
    const Answer table = ask(*store, {{"skip", "1"}, {"table", "yes"}});
    ASSERT_EQ(table.rows.size(), 4U);
    EXPECT_EQ(table.rows[0], (std::vector<AnswerValue>{std::uint64_t{2}, std::uint64_t{1}}));
    for (const char* view : {"sketch", "runs", "table"}) {
        const Answer nothing = ask(*store, {{"skip", "5"}, {view, "yes"}});
        EXPECT_TRUE(nothing.rows.empty()) << view;
        EXPECT_TRUE(warns_of(nothing, "--skip 5")) << view;
    }
    EXPECT_TRUE(warns_of(ask(*store, {{"skip", "5"}}), "--skip 5"));
}

TEST(Import, SingleValuesHaveNoAccumulatedLatencies) {
    const Answer answer = ask(*stored(read_columns("a\n1\n2\n3\n", {})), {{"kbench", "yes"}});
    EXPECT_TRUE(answer.rows.empty());
    EXPECT_TRUE(warns_of(answer, "a: single values, of which --kbench says nothing"));
}

TEST(Import, MeasuredValuesAreNoProfile) {
    const auto store = stored(read_columns("a\n1\n2\n3\n", {}));
    for (const char* command : {"top", "tree"}) {
        for (const OptionTexts& options : {OptionTexts{}, OptionTexts{{"event", "a"}}}) {
            const Result<Answer> answer = run_text_query(command, options, *store, SymbolPaths{}, UtcNs{0});
            ASSERT_TRUE(answer.ok()) << answer.error().message;
            EXPECT_TRUE(answer->rows.empty()) << command;
            EXPECT_EQ(answer->ledger, Ledger{}) << command;
            EXPECT_TRUE(warns_of(*answer, "no samples: no selected session was recorded to sample")) << command;
        }
    }
    EXPECT_EQ(run_text_query("latency", {{"event", "b"}}, *store, SymbolPaths{}, UtcNs{0}).error().code,
              ErrorCode::kUsage);
    EXPECT_EQ(run_text_query("latency", {{"event", ""}}, *store, SymbolPaths{}, UtcNs{0}).error().code,
              ErrorCode::kUsage);
}

TEST(Import, TheVarianceStandsBesideItsRoot) {
    const Answer answer = ask(*stored(read_columns("a\n1\n2\n3\n4\n", {})), {});
    EXPECT_EQ(printed(answer, "var"), Texts{"1.67"});
    EXPECT_EQ(printed(answer, "sd"), Texts{"1.29"});
}

TEST(Import, TableComesBackAsItWas) {
    const auto store = stored(read_kbench(golden("kanata_table_3_4.txt"), {}));
    const Answer answer = ask(*store, {{"table", "yes"}});
    ASSERT_EQ(answer.rows.size(), 30U);
    EXPECT_EQ(answer.columns[5].name, "N=5");
    // Y = A / N of the same test behind it.
    EXPECT_EQ(answer.columns[10].name, "Y_N=5");
    EXPECT_EQ(answer.rows[0],
              (std::vector<AnswerValue>{std::uint64_t{1}, std::uint64_t{7'152}, std::uint64_t{9'502},
                                        std::uint64_t{14'610}, std::uint64_t{19'647}, std::uint64_t{23'302}, 7'152.0,
                                        4'751.0, 4'870.0, 4'911.75, 4'660.4}));
}

TEST(Import, BootstrapIntervalsAreThoseOfTheAskedFigures) {
    std::string text;
    for (int i = 0; i < 400; ++i) {
        text += std::to_string(1'000 + (i * 7'919 % 401)) + "\n";
    }
    const auto store = stored(read_columns(text, {}));
    const Answer answer = ask(*store, {{"bootstrap", "mean,sd,cv,median,mad,p90"}});
    ASSERT_EQ(answer.rows.size(), 1U);
    const Answer plain = ask(*store, {{"percentiles", "90"}});
    const auto number = [](const Answer& from, const std::string& name) { return std::stod(printed(from, name)[0]); };
    for (const char* name : {"mean", "sd", "median", "mad", "p90"}) {
        EXPECT_NEAR(number(answer, name), number(plain, name), 0.005) << name;
        EXPECT_LT(number(answer, std::string{name} + "_low"), number(answer, name)) << name;
        EXPECT_GT(number(answer, std::string{name} + "_high"), number(answer, name)) << name;
    }
    EXPECT_NEAR(number(answer, "cv"), number(plain, "cv"), 0.005);
    EXPECT_TRUE(warns_of(ask(*stored(read_columns("1\n2\n3\n", {})), {{"bootstrap", "mean"}}), "no intervals"));
}

TEST(Import, BootstrapShowsNoIntervalOfAPercentileFromTooFewValues) {
    const auto answer_of = [](int count, const char* figures, int run_length) {
        std::string text;
        for (int i = 0; i < count; ++i) {
            text += std::to_string(1'000 + (i / run_length * 7'919 % 401)) + "\n";
        }
        return ask(*stored(read_columns(text, {})), {{"bootstrap", figures}});
    };
    const Answer few = answer_of(298, "mean,p99", 1);
    EXPECT_EQ(printed(few, "p99_low")[0], "-");
    EXPECT_EQ(printed(few, "p99_high")[0], "-");
    EXPECT_NE(printed(few, "mean_low")[0], "-");
    EXPECT_TRUE(warns_of(few, "no interval of p99: it takes 299 independent values, and 298 are there"));
    const Answer enough = answer_of(299, "p99", 1);
    EXPECT_NE(printed(enough, "p99_low")[0], "-");
    EXPECT_FALSE(warns_of(enough, "no interval of"));
    EXPECT_TRUE(
        warns_of(answer_of(40, "p90", 4), "p90: it takes 29 independent values, and 40 are there, which depend"));
}

TEST(Import, BernatsRuleOnTableThreeFour) {
    const auto store = stored(read_kbench(golden("kanata_table_3_4.txt"), {}));
    const Answer answer = ask(*store, {{"mode", "bernat"}});
    EXPECT_EQ(printed(answer, "line")[0], "min=4674 max=7152 count=30 95th=6359 90th=5483 50th=4981 mad=213");
}

TEST(Import, BernatsRuleHasAnyWholePercentAndItsIntendedNeighbour) {
    const auto store = stored(read_columns("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", {}));
    const Answer printed_rule = ask(*store, {{"mode", "bernat"}, {"percentiles", "0,95,100"}});
    EXPECT_EQ(printed(printed_rule, "p0")[0], "1");
    EXPECT_EQ(printed(printed_rule, "p95")[0], "10");
    EXPECT_EQ(printed(printed_rule, "p100")[0], "10");
    EXPECT_TRUE(warns_of(printed_rule, "read behind the last value"));
    const Answer intended = ask(*store, {{"mode", "bernat-intended"}});
    EXPECT_EQ(printed(intended, "line")[0], "min=1 max=10 count=10 95th=9 90th=10 50th=6 mad=3");
    EXPECT_FALSE(warns_of(intended, "read behind the last value"));
}

TEST(Import, GroupsHaveTheSizesOfTheirParameters) {
    const auto runs = read_kbench(
        "boot noise\nInitial Test size: 10\r\nDelta: 3\nNumber of Tests / Sample size of Accumulated latency: 1\n"
        "Number of Groups: 6\nAccumulated latencies (clock cycles):\n1 2 3 4 5 6\nDone!\n",
        {});
    ASSERT_TRUE(runs.ok());
    std::vector<std::uint64_t> sizes;
    for (const auto& row : (*runs)[0].series[0].rows) {
        sizes.push_back(row[0]);
    }
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{10, 13, 16, 19, 22, 25}));
    EXPECT_EQ((*runs)[0].labels.at("status"), "ok");
}

TEST(Import, ARunThatDidNotEndIsStoredAsFailedWithWhatItMeasured) {
    std::string text = golden("kanata_table_3_4.txt");
    text.resize(text.find("Done!") - 40);
    const auto runs = read_kbench(text, {});
    ASSERT_TRUE(runs.ok());
    EXPECT_EQ((*runs)[0].labels.at("status"), "failed");
    EXPECT_EQ((*runs)[0].series[0].rows.size() % 5, 0U);
    EXPECT_FALSE((*runs)[0].series[0].rows.empty());
    EXPECT_TRUE(warns_of(ask(*stored(runs), {}), "failed"));
}

TEST(Import, SizesOfABareTableAreRefusedForAFileThatSaysItsOwn) {
    ImportHints hints;
    hints.initial_test_size = 10;
    const auto runs = read_kbench(golden("kanata_run_1.txt"), hints);
    ASSERT_FALSE(runs.ok());
    EXPECT_NE(runs.error().message.find("line 1: "), std::string::npos) << runs.error().message;
    EXPECT_NE(runs.error().message.find("leave out --initial-test-size"), std::string::npos);
}

TEST(Import, TheSameRunComesInOnce) {
    const auto runs = read_kbench(golden("kanata_run_1.txt"), {});
    const auto store = stored(runs);
    StoreDestination destination{*store};
    const auto again = store_run((*runs)[0], {"board", "aarch64", kImportTime, "file"}, destination);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->was_there);
    EXPECT_EQ(ask(*store, {}).ledger.stored, 30U);
}

TEST(Import, ColumnsAndTheModulesLines) {
    const Answer answer = ask(*stored(read_columns("a b\n1 10\n2 20\n3 30\n", {})), {});
    EXPECT_EQ(printed(answer, "event"), (Texts{"a", "b"}));
    EXPECT_EQ(printed(answer, "median"), (Texts{"2.00", "20.00"}));
    const auto failed = read_bernat("err=-22 msg=\"lookup error\"\n", {});
    ASSERT_TRUE(failed.ok());
    EXPECT_EQ((*failed)[0].labels.at("status"), "failed");
    EXPECT_EQ((*failed)[0].labels.at("error"), "lookup error");
    EXPECT_TRUE((*failed)[0].series.empty());
    EXPECT_FALSE(read_columns("1 2\n3\n", {}).ok());
    EXPECT_FALSE(read_columns("\n", {}).ok());
}

TEST(Import, Sel4benchTableReproducesInItsLegacyMode) {
    std::string raw;
    for (int i = 0; i < 740; ++i) {
        raw += std::string(i == 0 ? "" : ",") + (i % 740 < 613 ? "208" : "212");
    }
    const auto store = stored(read_sel4bench(
        R"([{"Benchmark":"Tracepoint overhead","Results":[{"Type":"effective","Raw results":[)" + raw + "]}]}]", {}));
    const Answer legacy = ask(*store, {{"mode", "sel4bench-legacy"}});
    EXPECT_EQ(printed(legacy, "event"), Texts{"Tracepoint overhead / effective"});
    EXPECT_EQ(printed(legacy, "mean"), Texts{"208.69"});
    EXPECT_EQ(printed(legacy, "variance"), Texts{"2.75"});
    EXPECT_EQ(printed(legacy, "sd"), Texts{"1.66"});
    EXPECT_EQ(printed(legacy, "sd_percent"), Texts{"1"});
    EXPECT_EQ(printed(ask(*store, {}), "sd"), Texts{"1.51"});
    EXPECT_FALSE(read_sel4bench("[{]", {}).ok());
}

}  // namespace
}  // namespace perfleet::import_test
