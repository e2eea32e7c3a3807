// Files as people really have them: each comes in right, or is refused with its line and the way out.
#include <gtest/gtest.h>

#include <limits>

#include "query-engine/statistic/answer/value_unit.h"
#include "tools/perfleet/import/exact_decimal.h"
#include "tools/perfleet/import/testing/import_fixture.h"

namespace perfleet::import_variants_test {
namespace {

using Values = std::vector<std::uint64_t>;

// The error's text, or nothing.
std::string refusal(const Runs& runs) { return runs.ok() ? "" : runs.error().message; }

bool is_warned(const ImportedRun& run, const std::string& what) {
    for (const std::string& warning : run.warnings) {
        if (warning.find(what) != std::string::npos) {
            return true;
        }
    }
    return false;
}

struct Column {
    std::string event;
    std::string unit;
    Values values;

    friend bool operator==(const Column&, const Column&) = default;
};

void PrintTo(const Column& column, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's name
    *out << column.event << " [" << column.unit << "]";
    for (const std::uint64_t value : column.values) {
        *out << " " << value;
    }
}

std::vector<Column> columns_of(const std::string& text) {
    const auto runs = read_columns(text, {});
    EXPECT_TRUE(runs.ok()) << refusal(runs) << "\n" << text;
    std::vector<Column> columns;
    if (runs.ok()) {
        for (const ImportedSeries& series : (*runs)[0].series) {
            columns.push_back({series.event, series.unit, series.values});
        }
    }
    return columns;
}

std::string column_refusal(const std::string& text) { return refusal(read_columns(text, {})); }

using Columns = std::vector<Column>;

TEST(ExactDecimal, IsExactToTheLastDigit) {
    const auto value = [](const char* text) { return parse_decimal(text).value; };
    EXPECT_EQ(value("18446744073709551615"), (ExactDecimal{~0ULL, 0}));
    EXPECT_EQ(value("0.1234567890123456789"), (ExactDecimal{1'234'567'890'123'456'789, 19}));
    EXPECT_EQ(value("12.500"), (ExactDecimal{125, 1}));
    EXPECT_EQ(value("1.5e3"), (ExactDecimal{15, -2}));
    EXPECT_EQ(value("1500e-3"), (ExactDecimal{15, 1}));
    EXPECT_EQ(value("+1'234'567.25"), (ExactDecimal{123'456'725, 2}));
    EXPECT_EQ(value("-0.00"), (ExactDecimal{0, 0}));
    EXPECT_EQ(in_parts({15, -2}, 0), 1'500U);
    EXPECT_EQ(in_parts({15, 1}, 3), 1'500U);
    EXPECT_FALSE(in_parts({15, 1}, 0));
    EXPECT_FALSE(in_parts({~0ULL, 0}, 1));
    EXPECT_EQ(parse_decimal("18446744073709551616").fault, DecimalFault::kTooManyDigits);
    EXPECT_EQ(parse_decimal("1e1001").fault, DecimalFault::kTooManyDigits);
    EXPECT_EQ(parse_decimal("-4").fault, DecimalFault::kNegative);
    for (const char* text :
         {"", ".", "-", "--4", "+-4", "1.2.3", "1e", "e5", "0x1f", "12us", "nan", "inf", "1,23", "1 2"}) {
        EXPECT_EQ(parse_decimal(text).fault, DecimalFault::kNoNumber) << text;
    }
    EXPECT_EQ(parse_decimal(std::string(100'000, '-')).fault, DecimalFault::kNoNumber);
}

TEST(ValueUnit, ComesBackFromWhatIsStored) {
    for (const ValueUnit& unit :
         {ValueUnit{"us", 3}, ValueUnit{"cycles", 0}, ValueUnit{"a b", 1}, ValueUnit{"s", 19}}) {
        EXPECT_EQ(value_unit(stored_unit(unit)), unit) << stored_unit(unit);
    }
    EXPECT_EQ(stored_unit({"us", 3}), "0.001 us");
    EXPECT_EQ(value_unit("0.5 us"), (ValueUnit{"0.5 us", 0}));
}

TEST(ImportColumns, SeparatorsOfEverySort) {
    const Columns expected{{"a", "cycles", {1, 3}}, {"b", "cycles", {20, 40}}};
    for (const char* text :
         {"a b\n1 20\n3 40\n", "a,b\r\n1,20\r\n3,40\r\n", "a\tb\n1\t20\n3\t40", "a; b\n1; 20;\n3; 40;\n",
          ("\xef\xbb\xbf"
           "a,b\n1,20\n3,40\n"),
          "| a | b |\n|---|--:|\n| 1 | 20 |\n| 3 | 40 |\n", "# two columns\na, b\n\n1, 20 # first\n3, 40\n\n",
          "\"a\",\"b\"\n\"1\",\"20\"\n\"3\",\"40\"\n", "\n\n  a   b \n  1  20 \n  3  40 \n"}) {
        EXPECT_EQ(columns_of(text), expected) << text;
    }
}

TEST(ImportColumns, UnitsInNames) {
    EXPECT_EQ(columns_of("latency (us)\n12.5\n13\n"), (Columns{{"latency", "0.1 us", {125, 130}}}));
    EXPECT_EQ(columns_of("call [ns],reply [clock cycles]\n1,2\n"),
              (Columns{{"call", "ns", {1}}, {"reply", "cycles", {2}}}));
    EXPECT_EQ(columns_of("call (ns)  reply (µs)\n1 2\n"), (Columns{{"call", "ns", {1}}, {"reply", "us", {2}}}));
    EXPECT_EQ(columns_of("\"call\" (ns)  \"\" [us]\n1 2\n"), (Columns{{"call", "ns", {1}}, {"value-2", "us", {2}}}));
    EXPECT_EQ(columns_of("call_ns\n7\n"), (Columns{{"call_ns", "ns", {7}}}));
    EXPECT_EQ(columns_of("call;reply\nns;us\n1;2\n"), (Columns{{"call", "ns", {1}}, {"reply", "us", {2}}}));
    ImportHints hints;
    hints.unit = "ticks";
    const auto runs = read_columns("latency (core 3)\n1.5\n", hints);
    ASSERT_TRUE(runs.ok());
    EXPECT_EQ((*runs)[0].series[0].unit, "0.1 ticks");
}

TEST(ImportColumns, AUnitThatANameContradictsIsRefused) {
    ImportHints hints;
    hints.unit = "ns";
    for (const char* text : {"latency_us\n1.5\n", "latency (usec)\n1.5\n", "call_ns,latency_us\n1,1.5\n"}) {
        const auto runs = read_columns(text, hints);
        ASSERT_FALSE(runs.ok()) << text;
        EXPECT_EQ(runs.error().code, ErrorCode::kUsage);
        EXPECT_EQ(runs.error().message.find("--unit ns: the name of column \"latency"), 0U) << runs.error().message;
        EXPECT_NE(runs.error().message.find(" says us; leave --unit out, or"), std::string::npos);
    }
    EXPECT_FALSE(read_bernat("latency_us\n1.5\n", hints).ok());
    hints.initial_test_size = 1;
    EXPECT_FALSE(read_kbench("latency_us\n1.5\n", hints).ok());
    hints.unit = "usec";
    EXPECT_TRUE(read_columns("latency_us\n1.5\n", hints).ok());
}

TEST(ImportColumns, DigitsInGroups) {
    const Columns one{{"value", "cycles", {1'234, 987, 1'234'567}}};
    EXPECT_EQ(columns_of("1,234\n987\n1,234,567\n"), one);
    EXPECT_EQ(columns_of("1'234\n987\n1'234'567\n"), one);
    EXPECT_EQ(columns_of("1_234\n987\n1_234_567\n"), one);
    EXPECT_EQ(columns_of("1,234 2,345\n3,456 987\n"),
              (Columns{{"value-1", "cycles", {1'234, 3'456}}, {"value-2", "cycles", {2'345, 987}}}));
    EXPECT_EQ(columns_of("\"1,234\",\"5\"\n\"2,345\",\"6\"\n"),
              (Columns{{"value-1", "cycles", {1'234, 2'345}}, {"value-2", "cycles", {5, 6}}}));
    EXPECT_EQ(columns_of("1,234;5\n2,345;6\n"),
              (Columns{{"value-1", "cycles", {1'234, 2'345}}, {"value-2", "cycles", {5, 6}}}));
    // Columns where a line or a name shows it.
    EXPECT_EQ(columns_of("100,200\n1000,2000\n"),
              (Columns{{"value-1", "cycles", {100, 1'000}}, {"value-2", "cycles", {200, 2'000}}}));
    EXPECT_EQ(columns_of("a,b\n100,200\n"), (Columns{{"a", "cycles", {100}}, {"b", "cycles", {200}}}));
    EXPECT_EQ(columns_of("100, 200\n300, 400\n"),
              (Columns{{"value-1", "cycles", {100, 300}}, {"value-2", "cycles", {200, 400}}}));
    EXPECT_NE(column_refusal("\n1,234\n2,345\n").find("line 2: \"1,234\" may be one number or 2 columns"),
              std::string::npos);
    EXPECT_NE(column_refusal("12,5;13,7\n").find("line 1: \"12,5\" is no number"), std::string::npos);
    const auto grouped = read_columns("1,234\n987\n", {});
    ASSERT_TRUE(grouped.ok());
    EXPECT_TRUE(is_warned((*grouped)[0], "1,234 is 1234"));
}

TEST(ImportColumns, NumbersOfEverySort) {
    EXPECT_EQ(columns_of("1.5e3\n2E2\n+7\n"), (Columns{{"value", "cycles", {1'500, 200, 7}}}));
    EXPECT_EQ(columns_of("1e-3\n2.5e-2\n"), (Columns{{"value", "0.001 cycles", {1, 25}}}));
    EXPECT_EQ(columns_of("18446744073709551615\n0\n"), (Columns{{"value", "cycles", {~0ULL, 0}}}));
    EXPECT_EQ(columns_of("0.1234567890123456789\n"),
              (Columns{{"value", "0.0000000000000000001 cycles", {1'234'567'890'123'456'789}}}));
    EXPECT_NE(column_refusal("x\n1\n-4\n").find("line 3: \"-4\" is negative"), std::string::npos);
    EXPECT_NE(column_refusal("1\n18446744073709551616\n").find("line 2: \"18446744073709551616\" has more digits"),
              std::string::npos);
    EXPECT_NE(column_refusal("0.001\n18446744073709551615\n")
                  .find("line 2: \"18446744073709551615\" with the 3 decimals of line 1"),
              std::string::npos);
    EXPECT_NE(column_refusal("1\n2 cycles\n").find("line 2: \"cycles\" is no number"), std::string::npos);
    EXPECT_NE(column_refusal("1\nnan\n").find("line 2: \"nan\" is no number"), std::string::npos);
    EXPECT_NE(column_refusal("1 2\n3\n").find("line 2: 1 value where the lines before have 2"), std::string::npos);
    EXPECT_NE(column_refusal("only words\n").find("line 1: \"only\" is no number"), std::string::npos);
    // A value that is missing, and no name of a column.
    for (const char* missing : {"NA", "nan", "N/A", "null"}) {
        EXPECT_NE(column_refusal(std::string{missing} + "\n1\n2\n").find("is no number, and no name of a column"),
                  std::string::npos)
            << missing;
    }
    EXPECT_EQ(column_refusal("# nothing\n\n"), "no line of numbers");
}

TEST(ImportColumns, AMissingValueIsNoName) {
    for (const std::string word : {"NA", "nan", "-inf", "NULL", "n/a"}) {
        EXPECT_NE(column_refusal(word + "\n1\n2\n").find("line 1: \"" + word + "\" is no number, and no name"),
                  std::string::npos)
            << column_refusal(word + "\n1\n2\n");
    }
    EXPECT_NE(column_refusal("a,b\n1.5,NA\n2,3\n").find("line 2: \"NA\""), std::string::npos);
    EXPECT_EQ(columns_of("nanoseconds\n1\n2\n"), (Columns{{"value", "ns", {1, 2}}}));
}

TEST(ImportColumns, EmptyCellsHaveNoValueAndTitlesArePassedOver) {
    EXPECT_EQ(columns_of("a,b,c\n1,,3\n4,5,6\n"),
              (Columns{{"a", "cycles", {1, 4}}, {"b", "cycles", {5}}, {"c", "cycles", {3, 6}}}));
    const auto titled = read_columns("Results of Tuesday night\na,b\n1,2\n", {});
    ASSERT_TRUE(titled.ok());
    EXPECT_EQ((*titled)[0].series[1].event, "b");
    EXPECT_TRUE(is_warned((*titled)[0], "line 1 before the numbers passed over"));
    const auto numbered = read_columns("1,2,3\n700,800,900\n701,801,901\n", {});
    ASSERT_TRUE(numbered.ok());
    EXPECT_TRUE(is_warned((*numbered)[0], "line 1 was taken for values, but looks like numbers of columns"));
}

TEST(ImportColumns, FiguresOfDecimalsStandInTheirOwnUnit) {
    const auto store = stored(read_columns("latency (us)\n12.345\n12.355\n12.35\n13\n", {}));
    const Answer answer = ask(*store, {});
    EXPECT_EQ(printed(answer, "unit"), Texts{"us"});
    EXPECT_EQ(printed(answer, "min"), Texts{"12.35"});   // 12.345 half up
    EXPECT_EQ(printed(answer, "mean"), Texts{"12.51"});  // 12.5125
    EXPECT_EQ(printed(answer, "p95"), Texts{"13.00"});
    EXPECT_EQ(printed(answer, "sd"), Texts{"0.33"});  // 0.32504…
    EXPECT_EQ(std::get<double>(answer.rows[0][8]), 12.345);
    const Answer table = ask(*store, {{"table", "yes"}});
    EXPECT_EQ(std::get<double>(table.rows[0][1]), 12.345);
    EXPECT_EQ(table.columns[1].unit, "us");
}

TEST(ImportColumns, RowsOfSeveralUnitsDontBorrowEachOthers) {
    const Answer answer = ask(*stored(read_columns("a (us);b (cycles)\n1;2\n3;4\n", {})), {});
    EXPECT_EQ(printed(answer, "unit"), (Texts{"us", "cycles"}));
    for (const AnswerColumn& column : answer.columns) {
        EXPECT_TRUE(column.unit.empty() || column.unit == "percent" || column.unit == "ns") << column.name;
    }
}

// --- Kanata Bench ---

std::string serial_run(const std::string& rows, const std::string& newline = "\r\n") {
    std::string text;
    for (const char* line :
         {"Initial Test size: 30", "Delta: 2", "Number of Tests / Sample size of Accumulated latency: 2",
          "Number of Groups: 3", "Accumulated latencies (clock cycles): "}) {
        text += line + newline;
    }
    return text + rows;
}

Values latencies_of(const ImportedRun& run) {
    Values values;
    for (const auto& row : run.series[0].rows) {
        values.push_back(row[3]);
    }
    return values;
}

TEST(ImportKbench, ConsoleLogsOfEverySort) {
    const Values expected{1, 2, 3, 4, 5, 6};
    const std::string boot =
        "\x1b[1m\x1b[37mELF-loader started\x1b[0m\r\nBooting all finished, dropped to user space\r\n";
    for (const std::string& text :
         {serial_run("1 2 3 \r\n4 5 6 \r\n\r\nDone!\r\n"), serial_run("1 2 3\n4 5 6\nDone!\n", "\n"),
          serial_run("1\t2\t3\r\n4\t5\t6\r\nDone!"),
          boot + serial_run("1 2 3 \r\n4 5 6 \r\n\r\nDone!\r\n") + "halting\r\n",
          serial_run("  1  2  3\n\n\n4,5,6\nDone!\n")}) {
        const auto runs = read_kbench(text, {});
        ASSERT_TRUE(runs.ok()) << refusal(runs);
        ASSERT_EQ(runs->size(), 1U);
        EXPECT_EQ((*runs)[0].labels.at("status"), "ok") << text;
        EXPECT_EQ(latencies_of((*runs)[0]), expected);
    }
}

TEST(ImportKbench, SeveralRunsInOneFile) {
    const std::string one = serial_run("1 2 3\n4 5 6\n\nDone!\n");
    const std::string cut = serial_run("1 2 3\n");
    const auto runs = read_kbench(one + "reboot\n" + cut + one, {});
    ASSERT_TRUE(runs.ok()) << refusal(runs);
    ASSERT_EQ(runs->size(), 3U);
    EXPECT_EQ((*runs)[0].labels.at("status"), "ok");
    EXPECT_EQ((*runs)[1].labels.at("status"), "failed");
    EXPECT_EQ((*runs)[2].labels.at("status"), "ok");
}

TEST(ImportKbench, WhatIsMissingIsSaid) {
    const auto error_of = [](const std::string& rows) {
        const auto runs = read_kbench(serial_run(rows), {});
        EXPECT_TRUE(runs.ok());
        const auto& labels = (*runs)[0].labels;
        return labels.at("status") == "failed" ? labels.at("error") : "ok";
    };
    EXPECT_EQ(error_of("1 2 3\n4 5 6\n"), "the output ends without \"Done!\"");
    EXPECT_EQ(error_of("1 2 3\nDone!\n"), "1 row where 2 were announced");
    EXPECT_EQ(error_of("1 2 3\n4 5 6\n7 8 9\nDone!\n"), "3 rows where 2 were announced");
    EXPECT_EQ(error_of("1 2 3\n4 5\nDone!\n"), "line 7 has 2 values for 3 groups");
    EXPECT_EQ(error_of("1 2 3\n4 -5 6\nDone!\n"), "line 7 of the table is no row of whole numbers");
    // A line of the kernel's own harms nothing where every row is there.
    EXPECT_EQ(error_of("1 2 3\n<<seL4(CPU 0) [handleUnknownSyscall]>>\n4 5 6\nDone!\n"), "ok");
    EXPECT_NE(refusal(read_kbench("Delta: 2\nAccumulated latencies:\n1\nDone!\n", {}))
                  .find("line 2: the table comes before its parameters: no line \"Initial Test size:\""),
              std::string::npos);
    EXPECT_NE(refusal(read_kbench("Delta: many\n", {})).find("line 1: \"Delta:\" without a whole number"),
              std::string::npos);
    EXPECT_NE(refusal(read_kbench("1 2 3\n", {})).find("name --initial-test-size"), std::string::npos);
}

TEST(ImportKbench, ATestOfNoLatencyIsRefused) {
    ImportHints hints;
    hints.initial_test_size = 0;
    const std::string said = refusal(read_kbench("1 2 3\n", hints));
    EXPECT_NE(said.find("--initial-test-size 0: "), std::string::npos) << said;
    EXPECT_NE(said.find("above 0"), std::string::npos) << said;
}

TEST(ImportKbench, BareTablesWithAndWithoutHeads) {
    ImportHints hints;
    hints.initial_test_size = 1;
    const Values expected{7'152, 9'502, 14'610, 5'567, 9'369, 14'525, 4'837, 9'449, 15'093};
    for (const char* text :
         {"7152 9502 14610\n5567 9369 14525\n4837 9449 15093\n",
          ("# Accumulated latencies; column = group, header = Test size "
           "N\n1,2,3\n7152,9502,14610\n5567,9369,14525\n4837,9449,15093\n"),
          "N=1;N=2;N=3\n7,152;9,502;14,610\n5,567;9,369;14,525\n4,837;9,449;15,093\n",
          "Test #,Group 1,Group 2,Group 3\n1,7152,9502,14610\n2,5567,9369,14525\n3,4837,9449,15093\n",
          "0 7152 9502 14610\n1 5567 9369 14525\n2 4837 9449 15093\n"}) {
        const auto runs = read_kbench(text, hints);
        ASSERT_TRUE(runs.ok()) << refusal(runs) << "\n" << text;
        EXPECT_EQ(latencies_of((*runs)[0]), expected) << text;
        EXPECT_EQ((*runs)[0].labels.at("groups"), "3");
        EXPECT_EQ((*runs)[0].labels.at("sample_size"), "3");
    }
    EXPECT_NE(refusal(read_kbench("N=30,N=31\n100,200\n", hints)).find("the table's head says test sizes 30, 31"),
              std::string::npos);
    EXPECT_NE(refusal(read_kbench("1 2\n3\n", hints)).find("line 2: 1 value where"), std::string::npos);
    EXPECT_NE(refusal(read_kbench("5 -1\n", hints)).find("line 1: \"-1\" is negative"), std::string::npos);
}

// --- Bernat's module ---

TEST(ImportBernat, ARunALineAndARunATable) {
    const auto lines = read_bernat(
        "min=72 max=33364 count=100000 95th=154 90th=142 50th=112 mad=6\n"
        "min=70 max=29000 count=100000 95th=153 90th=141 50th=111 mad=6\n",
        {});
    ASSERT_TRUE(lines.ok()) << refusal(lines);
    ASSERT_EQ(lines->size(), 2U);
    EXPECT_EQ((*lines)[0].labels.at("reported_min"), "72");
    EXPECT_EQ((*lines)[1].labels.at("reported_50th"), "111");
    EXPECT_EQ((*lines)[1].labels.at("run"), "2");
    EXPECT_TRUE(is_warned((*lines)[0], "no values"));
    const auto tables = read_bernat(
        "10\n20\n30\n[ 12.5] kbench: min=10 max=30 count=3 50th=25\n11\n21\n31\nmin=11 max=31 count=4 50th=26\n", {});
    ASSERT_TRUE(tables.ok()) << refusal(tables);
    ASSERT_EQ(tables->size(), 2U);
    EXPECT_EQ((*tables)[0].series[0].values, (Values{10, 20, 30}));
    EXPECT_EQ((*tables)[0].labels.at("reported_50th"), "25");
    EXPECT_TRUE((*tables)[0].warnings.empty());
    EXPECT_EQ((*tables)[1].series[0].values, (Values{11, 21, 31}));
    EXPECT_TRUE(is_warned((*tables)[1], "count=4 was reported; of these 3 values it is 3"));
    EXPECT_FALSE(is_warned((*tables)[1], "50th"));
}

TEST(ImportBernat, EachReportedFigureIsComparedWithItsRule) {
    std::string text;
    for (int value = 10; value <= 200; value += 10) {
        text += std::to_string(value) + "\n";
    }
    const auto right = read_bernat(text + "min=10 max=200 count=20 50th=110 90th=190 95th=200 mad=50\n", {});
    ASSERT_TRUE(right.ok()) << refusal(right);
    EXPECT_TRUE((*right)[0].warnings.empty());
    const auto wrong = read_bernat(text + "min=1 max=1 count=1 50th=1 90th=1 95th=1 mad=1\n", {});
    ASSERT_TRUE(wrong.ok()) << refusal(wrong);
    EXPECT_EQ((*wrong)[0].warnings.size(), 7U);
    EXPECT_TRUE(is_warned((*wrong)[0], "95th=1 was reported; of these 20 values it is 200"));
}

TEST(ImportBernat, OnlyAnErrorIsAFailure) {
    const auto fine = read_bernat("err=0 msg=\"\"\n1\n2\n", {});
    ASSERT_TRUE(fine.ok());
    EXPECT_EQ((*fine)[0].labels.at("status"), "ok");
    for (const char* text : {"err=-22\n", "msg=\"no match\"\n", "msg=\"no memory\"\n"}) {
        const auto failed = read_bernat(text, {});
        ASSERT_TRUE(failed.ok()) << text;
        EXPECT_EQ((*failed)[0].labels.at("status"), "failed") << text;
    }
    EXPECT_NE(refusal(read_bernat("1\nhello\n", {})).find("line 2: \"hello\" is no number"), std::string::npos);
}

// --- sel4bench ---

// As sel4bench prints its results: ipc.c's columns, then the figures.
std::string ipc_result(int length, const std::string& raw) {
    return R"({"Function": "seL4_Call", "Direction": "Client->server", "Client Prio": 254, "Server Prio": 254,
        "Same vspace?": false, "IPC length": )" +
           std::to_string(length) + R"(, "Min": 1, "Max": 9, "Mean": 4.0, "Stddev": "nan", "Variance": 0.0, "Mode": 1.0,
        "Median": 1.0, "1st quantile": 1.0, "3rd quantile": 1.0, "Samples": 3, "Raw results": [)" +
           raw + "]}";
}

TEST(ImportSel4bench, TheConsolesWholeLog) {
    const std::string json =
        "[\n{\"Benchmark\": \"One way IPC microbenchmarks\", \"Results\": [" + ipc_result(0, "1, 2, 9") + ",\n" +
        ipc_result(10, "1,5,9") + "], \"Iteration\": 0},\n{\"Benchmark\": \"signal\"," +
        "\"Results\": [{\"Min\": 4, \"Raw results\": [4, 5]}, {\"Mean\": 7.0}], \"Iteration\": 1}]";
    const auto runs = read_sel4bench("\x1b[1mseL4 Benchmark\x1b[0m\r\n\r\nJSON OUTPUT\r\n" + json +
                                         "\r\nEND JSON OUTPUT\r\nAll is well in the universe.\r\n",
                                     {});
    ASSERT_TRUE(runs.ok()) << refusal(runs);
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_EQ((*runs)[0].labels.at("iteration"), "0");
    EXPECT_EQ((*runs)[0].labels.at("status"), "ok");
    ASSERT_EQ((*runs)[0].series.size(), 2U);
    EXPECT_EQ((*runs)[0].series[1].event,
              "One way IPC microbenchmarks / Client->server / seL4_Call / Client Prio 254 / IPC length 10 / Same "
              "vspace? false / Server Prio 254");
    EXPECT_EQ((*runs)[0].series[1].rows[1][5], 5U);
    EXPECT_EQ((*runs)[1].series.size(), 1U);
    EXPECT_TRUE(is_warned((*runs)[0], ": 1 result"));
    const Answer answer = ask(*stored(runs), {});
    EXPECT_EQ(answer.rows.size(), 3U);
}

TEST(ImportSel4bench, WhatIsWrongIsNamed) {
    const auto of = [](const std::string& result) {
        return read_sel4bench("[{\"Benchmark\": \"b\", \"Results\": [" + result + "]}]", {});
    };
    EXPECT_NE(refusal(read_sel4bench("[\n{\"a\": 1},\n{]", {})).find("line 3: invalid JSON"), std::string::npos);
    EXPECT_NE(refusal(read_sel4bench("log\nJSON OUTPUT\n[{\n]", {})).find("line 4: invalid JSON"), std::string::npos);
    const auto negative = of("{\"Raw results\": [1, -4]}");
    ASSERT_TRUE(negative.ok());
    EXPECT_EQ((*negative)[0].series[0].lost.at(CountName::kLostMalformed), 1U);
    EXPECT_NE(refusal(of("{\"Raw results\": [1.5]}")).find("no whole number"), std::string::npos);
    EXPECT_NE(refusal(of("{\"Raw results\": 3}")).find("is no array"), std::string::npos);
    EXPECT_NE(refusal(of("{\"Raw results\": [1e999]}")).find("a number in the JSON"), std::string::npos);
    EXPECT_NE(refusal(of("3")).find("no object"), std::string::npos);
    EXPECT_NE(refusal(of("{\"Mean\": 3.0}")).find("OutputRawResults"), std::string::npos);
    EXPECT_NE(refusal(read_sel4bench("[{\"Benchmark\": 7}]", {})).find("no sel4bench output"), std::string::npos);
    const auto cut = of("{\"Samples\": 4, \"Max\": 9, \"Raw results\": [1, 2, 3]}");
    ASSERT_TRUE(cut.ok());
    EXPECT_EQ((*cut)[0].labels.at("status"), "failed");
    EXPECT_EQ((*cut)[0].labels.at("error"), "\"b\": Samples 4 where the raw results have 3");
    const auto twice = of("{\"Raw results\": [1]}, {\"Raw results\": [2]}");
    ASSERT_TRUE(twice.ok());
    EXPECT_EQ((*twice)[0].series[1].event, "b #2");
}

}  // namespace
}  // namespace perfleet::import_variants_test
