#include "exporters/report/report.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "exporters/report/report_parts.h"

namespace perfleet {
namespace {

Answer sample_answer() {
    Answer answer;
    answer.columns = {
        {"symbol", ""}, {"image", ""}, {"self", "samples"}, {"self_percent", "percent"}, {"lag", "ns", true}};
    answer.rows = {{std::string{"hot(int, \"x\")"}, std::string{"worker"}, std::uint64_t{12'345}, 66.6666, {}},
                   {std::string{"grün"}, AnswerValue{}, std::uint64_t{7}, 0.0, std::uint64_t{0}}};
    answer.ledger.produced = 12'360;
    answer.ledger.stored = 12'352;
    answer.ledger.lost = {{"kernel_ring", 5}, {"spool_full", 3}};
    answer.warnings = {"odd \xff name"};
    return answer;
}

TEST(Report, TextIsAlignedAndEndsWithTheLedger) {
    EXPECT_EQ(format_report(sample_answer(), ReportFormat::kText),
              "symbol         image   self [samples]  self_percent\n"
              "hot(int, \"x\")  worker          12,345        66.67%\n"
              "grün           -                    7         0.00%\n"
              "\n"
              "rows: 12,360 produced = 12,352 stored + 8 lost (5 kernel_ring, 3 spool_full)\n");
}

// The nearest doubles of these decimals lie below them, most of them: 1.005 is 1.00499999999999989….
TEST(Report, DecimalsAreRoundedHalfUpAsTheyArePrinted) {
    const std::vector<std::pair<double, const char*>> cases{
        {1.005, "1.01"},          {4.805, "4.81"},           {2.675, "2.68"},
        {1.115, "1.12"},          {0.285, "0.29"},           {1.255, "1.26"},
        {9.995, "10.00"},         {99.995, "100.00"},        {8.345, "8.35"},
        {-1.005, "-1.01"},        {0.125, "0.13"},           {1.0049999, "1.00"},
        {69.195122, "69.20"},     {-0.001, "-0.00100"},      {0.0, "0.00"},
        {0.005, "0.01"},          {0.000123456, "0.000123"}, {0.0009999, "0.001000"},
        {4.2e-9, "0.00000000420"}};
    for (const auto& [value, text] : cases) {
        Answer answer;
        answer.columns = {{"x", "s"}};
        answer.rows = {{value}};
        const std::string report = format_report(answer, ReportFormat::kText);
        const std::string line =
            report.substr(report.find('\n') + 1, report.find('\n', report.find('\n') + 1) - report.find('\n') - 1);
        EXPECT_EQ(line.substr(line.find_first_not_of(' ')), text);
    }
    Answer percent;
    percent.columns = {{"x", "percent"}};
    percent.rows = {{0.0012}};
    EXPECT_NE(format_report(percent, ReportFormat::kText).find("0.00%"), std::string::npos);
}

TEST(Report, JsonIsOneObjectOfTheContract) {
    EXPECT_EQ(format_report(sample_answer(), ReportFormat::kJson),
              "{\"columns\":[{\"name\":\"symbol\",\"unit\":\"\"},{\"name\":\"image\",\"unit\":\"\"},"
              "{\"name\":\"self\",\"unit\":\"samples\"},{\"name\":\"self_percent\",\"unit\":\"percent\"},"
              "{\"name\":\"lag\",\"unit\":\"ns\"}],"
              "\"rows\":[[\"hot(int, \\\"x\\\")\",\"worker\",12345,66.6666,null],[\"grün\",null,7,0.0,0]],"
              "\"ledger\":{\"produced\":12360,\"stored\":12352,\"expired\":0,\"lost\":{\"kernel_ring\":5,"
              "\"spool_full\":3}},\"warnings\":[\"odd \xef\xbf\xbd name\"]}\n");
}

TEST(Report, SaysWhatItWasCountedFromWhereRollupsWereUsed) {
    Answer answer = sample_answer();
    answer.sources = AnswerSources{23, 1'234'567, 1};
    EXPECT_NE(format_report(answer, ReportFormat::kText)
                  .find("\ncounted from 23 rollups of 1,234,567 rows, and from 1 block (--exact: from blocks alone)\n"),
              std::string::npos);
    const auto json = nlohmann::json::parse(format_report(answer, ReportFormat::kJson));
    EXPECT_EQ(json["sources"]["rollups"], 23);
    EXPECT_EQ(json["sources"]["rollup_rows"], 1'234'567);
    EXPECT_EQ(json["sources"]["blocks"], 1);
}

TEST(Report, PendingStandsInTheLedgerOnlyWhenThereIsSome) {
    Answer answer = sample_answer();
    answer.ledger.pending = 9;
    const auto json = nlohmann::json::parse(format_report(answer, ReportFormat::kJson));
    EXPECT_EQ(json["ledger"]["pending"], 9);
    EXPECT_NE(format_report(answer, ReportFormat::kText).find("+ 9 on the way\n"), std::string::npos);
}

TEST(Report, LedgerOfCutBatchesSaysHowManyRowsMayLieOutside) {
    Answer answer = sample_answer();
    EXPECT_FALSE(
        nlohmann::json::parse(format_report(answer, ReportFormat::kJson))["ledger"].contains("of_cut_batches"));
    EXPECT_EQ(format_report(answer, ReportFormat::kText).find("outside"), std::string::npos);
    answer.ledger.of_cut_batches = 1'234;
    EXPECT_EQ(nlohmann::json::parse(format_report(answer, ReportFormat::kJson))["ledger"]["of_cut_batches"], 1'234);
    EXPECT_NE(format_report(answer, ReportFormat::kText)
                  .find("; of the stored up to 1,234 lie outside the time range, in batches that it cuts\n"),
              std::string::npos);
}

TEST(Report, CsvQuotesAsRfc4180) {
    Answer answer = sample_answer();
    answer.rows.push_back({std::string{"two\nlines"}, std::string{}, std::int64_t{-1}, 1.5, {}});
    EXPECT_EQ(format_report(answer, ReportFormat::kCsv),
              "symbol,image,self,self_percent,lag\r\n"
              "\"hot(int, \"\"x\"\")\",worker,12345,66.6666,\r\n"
              "grün,,7,0.0,0\r\n"
              "two?lines,,-1,1.5,\r\n");
}

TEST(Report, CsvIsValidUtf8WithoutControlCharacters) {
    Answer answer;
    answer.columns = {{"name\x1b", ""}, {"n", ""}};
    answer.rows.push_back({std::string{"\xff\xfe"}, std::string{"\x1b[2J,\x9b\x7f"}});
    EXPECT_EQ(format_report(answer, ReportFormat::kCsv),
              "name?,n\r\n\xef\xbf\xbd\xef\xbf\xbd,\"?[2J,\xef\xbf\xbd?\"\r\n");
}

TEST(Report, WhatStandsBesideCsvIsTheLedgerThatHasMoreToSay) {
    Answer answer = sample_answer();
    EXPECT_EQ(ledger_note(answer), "rows: 12,360 produced = 12,352 stored + 8 lost (5 kernel_ring, 3 spool_full)\n");
    answer.ledger = {10, 10, 0, {}, 0};
    EXPECT_EQ(ledger_note(answer), "");
    answer.ledger.of_cut_batches = 3;
    EXPECT_NE(ledger_note(answer), "");
    answer.parts = {{"before", {7, 7, 0, {}, 0}}, {"after", {3, 2, 0, {{"quota", 1}}, 0}}};
    EXPECT_EQ(ledger_note(answer), "rows after: 3 produced = 2 stored + 1 lost (1 quota)\n");
}

TEST(Report, EmptyAnswerPrintsItsColumns) {
    Answer answer;
    answer.columns = {{"symbol", ""}, {"self", "samples"}};
    EXPECT_EQ(format_report(answer, ReportFormat::kText),
              "symbol  self [samples]\n\nrows: 0 produced = 0 stored + 0 lost\n");
    EXPECT_EQ(format_report(answer, ReportFormat::kCsv), "symbol,self\r\n");
    EXPECT_EQ(nlohmann::json::parse(format_report(answer, ReportFormat::kJson))["rows"].size(), 0U);
}

Answer answer_of_sessions() {
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""}, {"rows", "rows"}, {"time", "cycles"}, {"id", ""}};
    answer.rows = {{std::string{"0a"}, std::string{"board"}, std::uint64_t{2}, std::uint64_t{1'000}, std::uint64_t{7}},
                   {std::string{"0a"}, std::string{"board"}, std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{8}},
                   {std::string{"0b"}, std::string{"board"}, std::uint64_t{1}, std::uint64_t{1}, std::uint64_t{9}}};
    return answer;
}

TEST(Report, SessionsHaveATableEachWithWhatTheyShareAbove) {
    constexpr std::array<std::string_view, 1> kLeftOut{"id"};
    EXPECT_EQ(format_sessions(answer_of_sessions(), {80, kLeftOut, {}}),
              "session 0a · target board · in cycles\n"
              "\n"
              "rows   time\n"
              "   2  1,000\n"
              "   3      5\n"
              "\n"
              "session 0b · target board · in cycles\n"
              "\n"
              "rows  time\n"
              "   1     1\n"
              "\n"
              "rows: 0 produced = 0 stored + 0 lost\n");
}

TEST(Report, SessionsThatDoNotFitLoseTheirSparedColumnsFirst) {
    constexpr std::array<std::string_view, 2> kSpared{"id", "time"};
    const auto has = [&](std::size_t width, const std::string& what) {
        return format_sessions(answer_of_sessions(), {width, {}, kSpared}).find(what) != std::string::npos;
    };
    EXPECT_TRUE(has(80, "rows   time  id\n"));
    EXPECT_TRUE(has(11, "rows   time\n"));
    EXPECT_TRUE(has(15, "rows  time  id\n"));
    EXPECT_TRUE(has(4, "rows\n   2\n"));
    // Nothing is left to go: rows stand on their side.
    EXPECT_TRUE(has(3, "time [cycles]  "));
    const Answer other = sample_answer();
    EXPECT_EQ(format_sessions(other, {}), format_report(other, ReportFormat::kText));
}

TEST(Report, LongTextIsCutInTheMiddleInTablesOnly) {
    Answer answer;
    answer.columns = {{"symbol", ""}};
    const std::string a40 = std::string(20, 'a') + "é" + std::string(19, 'a');
    answer.rows = {{a40 + std::string(50, 'x') + std::string(40, 'b')}, {std::string(81, 'c')}};
    EXPECT_EQ(format_report(answer, ReportFormat::kText), "symbol\n" + a40 + "…" + std::string(40, 'b') + "\n" +
                                                              std::string(81, 'c') +
                                                              "\n\nrows: 0 produced = 0 stored + 0 lost\n");
    EXPECT_NE(format_report(answer, ReportFormat::kCsv).find(std::string(50, 'x')), std::string::npos);
}

TEST(Report, BytesThatAreNotUtf8AreReplaced) {
    EXPECT_EQ(valid_utf8("a\xffz"), "a\xef\xbf\xbdz");
    EXPECT_EQ(valid_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
    EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
    EXPECT_EQ(valid_utf8("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut off
    EXPECT_EQ(valid_utf8("€ 😀 é"), "€ 😀 é");
    EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Report, ControlCharactersDoNotReachTheTerminal) {
    EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f\xc2\x9b"
                        "d"),
              "a?[2Jb?c??d");
}

}  // namespace
}  // namespace perfleet
