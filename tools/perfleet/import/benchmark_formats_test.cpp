// Results of Go's benchmarks, Google Benchmark and hyperfine: the parsed values, and the verdict of `diff` on two
// imports.
#include <gtest/gtest.h>

#include "query-engine/statistic/diff/diff_runs.h"
#include "tools/perfleet/import/testing/import_fixture.h"

namespace perfleet::benchmark_formats_test {
namespace {

// "EVENT UNIT VALUE" of each series of a run; counters as "EVENT iterations N".
Texts lines_of(const ImportedRun& run) {
    Texts lines;
    for (const ImportedSeries& series : run.series) {
        const std::uint64_t value = series.values.empty()
                                        ? series.rows.at(0)[place_in_row<Kind::kCounter, ColumnId::kValue>()]
                                        : series.values.at(0);
        lines.push_back(series.event + " [" + series.unit + "] " + std::to_string(value));
    }
    return lines;
}

constexpr const char* kGo =
    "goos: linux\ngoarch: amd64\npkg: example.com/x\ncpu: Intel(R) Xeon(R) Processor @ 2.80GHz\n"
    "BenchmarkJoin-2   \t  445597\t        48.40 ns/op\t    222798 widgets/op\t       5 B/op\t       1 allocs/op\n"
    "BenchmarkJoin-2   \t  482916\t        49.28 ns/op\t    241458 widgets/op\t       5 B/op\t       1 allocs/op\n"
    "BenchmarkSub/size=small-2         \t  330784\t        98.82 ns/op\t1011.90 MB/s\n"
    "some log line\nBenchmarkSub/size=small-2\n--- FAIL: BenchmarkBroken\n"
    "PASS\nok  \texample.com/x\t0.517s\n";

TEST(BenchmarkFormats, EachLineOfGoIsARun) {
    const Runs runs = read_go_bench(kGo, {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_EQ(
        lines_of((*runs)[0]),
        (Texts{"BenchmarkJoin-2 [0.01 ns] 4840", "BenchmarkJoin-2 [iterations] 445597", "BenchmarkJoin-2 B/op [B/op] 5",
               "BenchmarkJoin-2 allocs/op [allocs/op] 1", "BenchmarkJoin-2 widgets/op [widgets/op] 222798",
               "BenchmarkSub/size=small-2 [0.01 ns] 9882", "BenchmarkSub/size=small-2 [iterations] 330784",
               "BenchmarkSub/size=small-2 MB/s [0.1 MB/s] 10119"}));
    EXPECT_EQ((*runs)[1].labels.at(kRepetitionLabel), "2");
    EXPECT_EQ((*runs)[1].labels.at("pkg"), "example.com/x");
    EXPECT_EQ((*runs)[1].labels.at("cpu"), "Intel(R) Xeon(R) Processor @ 2.80GHz");
    EXPECT_EQ((*runs)[1].series.size(), 5U) << "BenchmarkSub ran once";
    EXPECT_EQ((*runs)[0].warnings, Texts{"BenchmarkBroken failed: go test says so"});
}

TEST(BenchmarkFormats, BenchmarksOfSeveralPackagesStayApart) {
    const Runs runs = read_go_bench("pkg: a\nBenchmarkX 1 5 ns/op\npkg: b\nBenchmarkX 1 7 ns/op\n", {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 1U);
    EXPECT_EQ(lines_of((*runs)[0]), (Texts{"a.BenchmarkX [ns] 5", "a.BenchmarkX [iterations] 1", "b.BenchmarkX [ns] 7",
                                           "b.BenchmarkX [iterations] 1"}));
}

// As version 1.7.1 prints it, with bytes in powers of 1024.
constexpr const char* kGoogleText =
    "Running ./gb\n"
    "------------------------------------------------------------------------------\n"
    "Benchmark                    Time             CPU   Iterations UserCounters...\n"
    "------------------------------------------------------------------------------\n"
    "BM_copy/64                3.99 ns         2.34 ns      6016211 bytes_per_second=2G/s foo=12.5M rate=212.9/s\n"
    "BM_copy/64                3.78 ns         2.32 ns      6016211 bytes_per_second=2G/s foo=12.5M rate=214.5/s\n"
    "BM_copy/64_mean           3.84 ns         2.33 ns            3 bytes_per_second=2G/s foo=12.5M rate=213.8/s\n"
    "BM_copy/64_stddev        0.132 ns        0.009 ns            3 bytes_per_second=1M/s foo=0 rate=0.83/s\n"
    "BM_copy/64_cv             3.43 %          0.39 %             3 bytes_per_second=0.39% foo=0.00% rate=0.39%\n"
    "BM_err              ERROR OCCURRED: 'no device'\n"
    "BM_mean                  0.001 ms        0.002 ms        14183\n";

TEST(BenchmarkFormats, GooglesTextHasRepetitionsWithoutAggregates) {
    const Runs runs = read_google_benchmark(kGoogleText, {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_EQ(lines_of((*runs)[0]),
              (Texts{"BM_copy/64 [0.01 ns] 399", "BM_copy/64 [iterations] 6016211",
                     "BM_copy/64 bytes_per_second [B/s] 2147483648", "BM_copy/64 cpu_time [0.01 ns] 234",
                     "BM_copy/64 foo [count] 12500000", "BM_copy/64 rate [0.1 count] 2129", "BM_mean [ns] 1000",
                     "BM_mean [iterations] 14183", "BM_mean cpu_time [ns] 2000"}));
    EXPECT_EQ((*runs)[0].warnings, Texts{"BM_err failed: 'no device'"});
}

TEST(BenchmarkFormats, GooglesJsonHasRepetitionsWithoutAggregates) {
    const Runs runs = read_google_benchmark(
        R"({"context": {"num_cpus": 2, "library_build_type": "release", "load_avg": [1,2]}, "benchmarks": [
        {"name": "BM", "run_type": "iteration", "repetitions": 2, "repetition_index": 0, "threads": 1,
         "iterations": 10, "real_time": 1.25e+00, "cpu_time": 1.0, "time_unit": "us", "items_per_second": 5.0e+02},
        {"name": "BM", "run_type": "iteration", "iterations": 10, "real_time": 1.5, "cpu_time": 1.0, "time_unit": "us"},
        {"name": "BM_err", "run_type": "iteration", "error_occurred": true, "error_message": "no device",
         "iterations": 1, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
        {"name": "BM_mean", "run_type": "aggregate", "real_time": 1.3, "cpu_time": 1.0, "time_unit": "us"}]})",
        {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_EQ(lines_of((*runs)[0]), (Texts{"BM [ns] 1250", "BM [iterations] 10", "BM cpu_time [ns] 1000",
                                           "BM items_per_second [items/s] 500"}));
    EXPECT_EQ((*runs)[0].labels.at("library_build_type"), "release");
    EXPECT_EQ((*runs)[0].warnings, Texts{"BM_err failed: no device"});
}

constexpr const char* kHyperfine =
    R"({"results": [{"command": "./a", "mean": 0.2, "median": 0.2, "times": [0.0011944030000000001, 0.25],
        "exit_codes": [0, 3], "parameters": {"n": "4"}}, {"command": "./b", "mean": 1, "times": [1]}]})";

TEST(BenchmarkFormats, EachTimeOfHyperfineIsARun) {
    const Runs runs = read_hyperfine(kHyperfine, {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 3U);
    EXPECT_EQ(lines_of((*runs)[0]), Texts{"elapsed [ns] 1194403"});
    EXPECT_EQ((*runs)[0].labels.at(kCommandLabel), "./a");
    EXPECT_EQ((*runs)[0].labels.at("parameter_n"), "4");
    EXPECT_EQ((*runs)[1].labels.at("status"), "failed");
    EXPECT_EQ((*runs)[2].labels.at(kCommandLabel), "./b");
    EXPECT_EQ((*runs)[2].labels.at(kRepetitionLabel), "1");
}

TEST(BenchmarkFormats, AreRecognisedByTheirBeginning) {
    EXPECT_EQ(benchmark_format_of(kGo), "go-bench");
    EXPECT_EQ(benchmark_format_of(kGoogleText), "google-benchmark");
    EXPECT_EQ(benchmark_format_of("{\n  \"context\": {\n \"num_cpus\": 2,"), "google-benchmark");
    EXPECT_EQ(benchmark_format_of(kHyperfine), "hyperfine");
    for (const char* other : {"", "{}", "Benchmark results", "1 2 3", "PERFILE2", "{\"results\": []}"}) {
        EXPECT_EQ(benchmark_format_of(other), "") << other;
    }
}

TEST(BenchmarkFormats, WhatIsNoneIsRefused) {
    for (const auto& [reader, text, reason] :
         {std::tuple{&read_go_bench, "PASS\n", "expected lines of go test -bench"},
          {&read_google_benchmark, "{\"benchmarks\": []}", "that are no aggregates"},
          {&read_google_benchmark, "{\"benchmarks\": [", "is the output complete?"},
          {&read_google_benchmark, "BM 1 ns", "below Google Benchmark's heading"},
          {&read_hyperfine, "{\"results\": [{\"command\": \"a\"}]}", "--export-json"},
          {&read_hyperfine, "[]", "JSON without an array \"results\""}}) {
        const Runs runs = reader(text, {});
        ASSERT_FALSE(runs.ok()) << text;
        EXPECT_NE(runs.error().message.find(reason), std::string::npos) << runs.error().message;
    }
    const Runs odd = read_go_bench("BenchmarkX 1 -5 ns/op 3 B/op\nBenchmarkX 1 +Inf ns/op\nBenchmarkX 1 4 ns/op\n", {});
    ASSERT_TRUE(odd.ok());
    EXPECT_EQ(lines_of((*odd)[0]),
              (Texts{"BenchmarkX [ns] 4", "BenchmarkX [iterations] 1", "BenchmarkX B/op [B/op] 3"}));
}

class BenchmarkDiff : public testing::Test {
protected:
    void import(const std::string& side, Runs runs) {
        ASSERT_TRUE(runs.ok()) << runs.error().message;
        StoreDestination destination{*store_};
        for (ImportedRun& run : *runs) {
            run.labels["side"] = side;
            ASSERT_TRUE(store_run(run, {"board", "aarch64", kImportTime, "file"}, destination).ok());
        }
    }
    void import_values(const std::string& side, const std::vector<int>& values,
                       const std::string& name = "BenchmarkX") {
        std::string text;
        for (const int value : values) {
            text += name + "-8 100 " + std::to_string(value) + " ns/op 7 B/op\n";
        }
        import(side, read_go_bench(text, {}));
    }
    [[nodiscard]] Answer diff(const OptionTexts& more = {}) const {
        OptionTexts options{{"before", "{side=\"a\"}"}, {"after", "{side=\"b\"}"}};
        options.insert(more.begin(), more.end());
        auto answer = run_text_query("diff", options, *store_, {}, kImportTime);
        EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
        return answer.ok() ? std::move(*answer) : Answer{};
    }
    [[nodiscard]] static double real_in(const Answer& answer, const std::string& column) {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            if (answer.columns[i].name == column && !answer.rows.empty()) {
                const auto* number = std::get_if<double>(&answer.rows[0][i]);
                return number == nullptr ? -1 : *number;
            }
        }
        return -1;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
};

// Expected: all ways to deal the pooled values to two sides of these sizes, enumerated in Python (no SciPy), as
// benchstat computes it: exact up to 50 values a side, with ties up to 25.
TEST_F(BenchmarkDiff, PValuesAreMannAndWhitneys) {
    struct Case {
        std::vector<int> before;
        std::vector<int> after;
        double p_value;
    };
    for (const Case& one : std::vector<Case>{
             {{1, 2, 3, 4}, {5, 6, 7, 8}, 0.02857142857142857},
             {{5, 5, 5, 5}, {6, 6, 6, 6}, 0.02857142857142857},
             {{10, 10, 11, 12, 12, 13}, {11, 12, 13, 13, 14, 15}, 0.08008658008658008},
             {{1, 1, 2, 2, 3}, {2, 2, 3, 3, 3, 4, 4}, 0.07575757575757576},
             {{17, 72, 97, 8, 32, 15, 63, 97, 57, 60}, {113, 78, 56, 42, 92, 33, 79, 85}, 0.22912381735911147},
             {{622, 780, 785, 2,   712, 456, 272, 738, 821, 234, 605, 967, 104, 923, 325, 31,  22,  26,  665, 554,
               9,   961, 902, 390, 702, 221, 992, 432, 743, 29,  540, 227, 782, 448, 961, 507, 566, 238, 353, 236,
               693, 224, 779, 470, 975, 296, 948, 22,  426, 857, 938, 569, 944, 657, 102, 190, 644, 741, 880, 303},
              {223, 860, 440, 1017, 838,  1096, 828, 612, 1058, 1090, 532, 619, 949, 1032, 786,
               294, 410, 390, 701,  1096, 1003, 611, 966, 1063, 617,  502, 703, 973, 135,  591,
               348, 861, 916, 513,  524,  780,  277, 475, 661,  1003, 819, 894, 790, 855,  483,
               188, 549, 779, 620,  210,  897,  267, 633, 960,  502,  479, 601, 850, 130,  580},
              0.012475998959018438}}) {
        store_ = make_memory_store();
        import_values("a", one.before);
        import_values("b", one.after);
        const Answer answer = diff();
        ASSERT_EQ(answer.rows.size(), 2U) << "ns, and B/op that are all equal";
        EXPECT_NEAR(real_in(answer, "p"), one.p_value, 1e-9) << one.before.size();
        EXPECT_EQ(printed(answer, "verdict")[1], "no difference shown: all values are equal");
        EXPECT_EQ(real_in(answer, "p"), real_in(answer, "p_adjusted")) << "equal values are no comparison";
    }
}

TEST_F(BenchmarkDiff, SaysHowMuchTheMedianChanged) {
    import_values("a", {100, 101, 102, 103, 104, 105, 106, 107});
    import_values("b", {110, 111, 112, 113, 114, 115, 116, 117});
    const Answer answer = diff({{"fail-if", "median(BenchmarkX-8) > 5%"}});
    EXPECT_EQ(printed(answer, "figure")[0], "median");
    EXPECT_EQ(printed(answer, "before")[0], "103.50");
    EXPECT_EQ(printed(answer, "after")[0], "113.50");
    EXPECT_EQ(printed(answer, "difference")[0], "10.00");
    EXPECT_NEAR(real_in(answer, "change"), 100 * (113.5 / 103.5 - 1), 0.05) << "of logarithms";
    // R's wilcox.test takes the differences at rank 14 of 64 from either end.
    EXPECT_NEAR(real_in(answer, "difference_low"), 7, 1e-9);
    EXPECT_NEAR(real_in(answer, "difference_high"), 13, 1e-9);
    EXPECT_TRUE(printed(answer, "verdict")[0].starts_with("slower by 9.7 % [")) << printed(answer, "verdict")[0];
    EXPECT_EQ(printed(answer, "outcome")[0], "exceeded");
}

TEST_F(BenchmarkDiff, FewerThanFourASideHaveNoVerdict) {
    import_values("a", {1, 2, 3});
    import_values("b", {5, 6, 7, 8});
    const Answer answer = diff();
    EXPECT_EQ(printed(answer, "p")[0], "-");
    EXPECT_EQ(printed(answer, "verdict")[0], "unknown: fewer than 4 repetitions before");
    EXPECT_TRUE(warns_of(answer, "Repeat the benchmark"));
}

TEST_F(BenchmarkDiff, CommandsOfOneFileStayApart) {
    const auto text = [](const char* first, const char* second) {
        return std::string{R"({"results": [{"command": "a", "mean": 1, "times": [)"} + first +
               R"(]}, {"command": "b", "mean": 1, "times": [)" + second + "]}]}";
    };
    import("a", read_hyperfine(text("1,2,3,4", "11,12,13,14"), {}));
    import("b", read_hyperfine(text("5,6,7,8", "11,12,13,14"), {}));
    const Answer answer = diff();
    EXPECT_EQ(printed(answer, kCommandLabel), (Texts{"a", "b"}));
    EXPECT_EQ(printed(answer, "before_count"), (Texts{"4", "4"}));
    EXPECT_NEAR(real_in(answer, "p"), 0.02857142857142857, 1e-9);
}

}  // namespace
}  // namespace perfleet::benchmark_formats_test
