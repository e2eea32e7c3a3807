#include "exporters/report/report.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "exporters/report/flame_text.h"
#include "schemas/text/layout.h"

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
              "self [samples]  self_percent  image   symbol\n"
              "         12345        66.67%  worker  hot(int, \"x\")\n"
              "             7         0.00%  -       grün\n"
              "\n"
              "rows: 12360 produced = 12352 stored + 8 lost (5 kernel_ring, 3 spool_full)\n");
}

TEST(Report, PeopleReadGroupedDigitsOfAmountsAndNotOfIds) {
    Answer answer = sample_answer();
    answer.columns[4] = {"tid", ""};
    answer.rows[0][4] = std::uint64_t{54'321};
    Screen screen;
    screen.groups_digits = true;
    const std::string text = format_report(answer, ReportFormat::kText, screen);
    EXPECT_NE(text.find(" 12,345 "), std::string::npos) << text;
    EXPECT_NE(text.find("54321"), std::string::npos) << text;
    EXPECT_NE(text.find("rows: 12,360 produced = 12,352 stored + 8 lost"), std::string::npos) << text;
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
                  .find("; of the stored up to 1234 lie outside the time range, in batches that it cuts\n"),
              std::string::npos);
}

TEST(Report, CsvQuotesAsRfc4180) {
    Answer answer = sample_answer();
    answer.rows.push_back({std::string{"two\nlines"}, std::string{}, std::int64_t{-1}, 1.5, {}});
    EXPECT_EQ(format_report(answer, ReportFormat::kCsv),
              "symbol,image,self,self_percent,lag\r\n"
              "\"hot(int, \"\"x\"\")\",worker,12345,66.6666,\r\n"
              "grün,,7,0.0,0\r\n"
              "two\\nlines,,-1,1.5,\r\n");
}

TEST(Report, CsvIsValidUtf8WithoutControlCharacters) {
    Answer answer;
    answer.columns = {{"name\x1b", ""}, {"n", ""}};
    answer.rows.push_back({std::string{"\xff\xfe"}, std::string{"\x1b[2J,\x9b\x7f"}});
    EXPECT_EQ(format_report(answer, ReportFormat::kCsv), "name\\x1b,n\r\n\\xff\\xfe,\"\\x1b[2J,\\x9b\\x7f\"\r\n");
}

TEST(Report, WhatStandsBesideCsvIsTheLedgerThatHasMoreToSay) {
    Answer answer = sample_answer();
    EXPECT_EQ(ledger_note(answer), "rows: 12360 produced = 12352 stored + 8 lost (5 kernel_ring, 3 spool_full)\n");
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
    EXPECT_EQ(format_report(answer, ReportFormat::kText), "self [samples]  symbol\n\nrows: 0 produced\n");
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
    EXPECT_EQ(format_sessions(answer_of_sessions(), {{80}, kLeftOut, {}}),
              "session 0a · target board · in cycles\n"
              "\n"
              "rows  time\n"
              "   2  1000\n"
              "   3     5\n"
              "\n"
              "session 0b · target board · in cycles\n"
              "\n"
              "rows  time\n"
              "   1     1\n"
              "\n"
              "rows: 0 produced\n");
}

TEST(Report, SessionsThatDoNotFitLoseTheirSparedColumnsFirst) {
    constexpr std::array<std::string_view, 2> kSpared{"id", "time"};
    const auto has = [&](std::size_t width, const std::string& what) {
        return format_sessions(answer_of_sessions(), {{width}, {}, kSpared}).find(what) != std::string::npos;
    };
    EXPECT_TRUE(has(80, "rows  time  id\n"));
    EXPECT_FALSE(has(80, "--wide"));
    EXPECT_TRUE(has(14, "rows  time  id\n"));
    EXPECT_TRUE(has(13, "rows  time\n"));
    EXPECT_TRUE(has(9, "rows\n   2\n"));
    EXPECT_TRUE(has(9, "columns:\nid, time;\n--wide\n"));
    // No column can be dropped any more: the table is transposed.
    EXPECT_TRUE(has(3, "time [cycles]  "));
    const Answer other = sample_answer();
    EXPECT_EQ(format_sessions(other, {}), format_report(other, ReportFormat::kText));
}

std::size_t widest_line(const std::string& text) {
    std::size_t widest = 0;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        widest = std::max(widest, text_width(line));
    }
    return widest;
}

// What `top` gives of C++ and of the kernel.
Answer profile_answer() {
    Answer answer;
    answer.columns = {{"symbol", ""},
                      {"image", ""},
                      {"command", ""},
                      {"self", "samples"},
                      {"self_percent", "percent"},
                      {"children", "samples"},
                      {"children_percent", "percent"}};
    const auto add = [&](std::string symbol, std::string image, std::uint64_t self, double percent) {
        answer.rows.push_back(
            {std::move(symbol), std::move(image), std::string{"cc1plus"}, self, percent, self + 1, percent + 0.01});
    };
    add("std::vector<std::string>::_M_realloc_insert<char const*>(char const*&&)", "libstdc++.so.6.0.30", 12'345, 60);
    add("pv_native_safe_halt", "[kernel.kallsyms]", 7, 0.6);
    add("日本語日本語日本語日本語日本語日本語日本語日本語日本語", "[kernel.kallsyms]", 1, 0.5);
    answer.ledger.produced = answer.ledger.stored = 12'353;
    return answer;
}

TEST(ReportOnScreen, NamesAreCutInTheMiddleAndColumnsGoInTheirOrder) {
    EXPECT_EQ(format_report(profile_answer(), ReportFormat::kText, {80}),
              "     self     self  children\n"
              "[samples]  percent   percent  command  image          symbol\n"
              "    12345   60.00%    60.01%  cc1plus  libstd…6.0.30  std::vector<s…ar const*&&)\n"
              "        7    0.60%     0.61%  cc1plus  [kernel]       pv_native_safe_halt\n"
              "        1    0.50%     0.51%  cc1plus  [kernel]       日本語日本語…日本語日本語\n"
              "\n"
              "(left out for 80 columns: children [samples]; --wide shows all)\n"
              "\n"
              "rows: 12353 produced, all stored\n");
    EXPECT_EQ(format_report(profile_answer(), ReportFormat::kText, {60}),
              "   self  children\n"
              "percent   percent  image          symbol\n"
              " 60.00%    60.01%  libstd…6.0.30  std::vector<s…ar const*&&)\n"
              "  0.60%     0.61%  [kernel]       pv_native_safe_halt\n"
              "  0.50%     0.51%  [kernel]       日本語日本語…日本語日本語\n"
              "\n"
              "(left out for 60 columns: children [samples], self\n"
              "[samples], command; --wide shows all)\n"
              "\n"
              "rows: 12353 produced, all stored\n");
}

// What `sessions` gives of two hosts.
Answer session_list(const std::string& second_target, const std::string& second_event) {
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""},        {"arch", ""},   {"start", ""},
                      {"end", ""},     {"state", ""},         {"events", ""}, {"rows", ""},
                      {"version", ""}, {"command", "", true}, {"labels", ""}};
    const auto add = [&](const std::string& id, const std::string& target, const std::string& event) {
        answer.rows.push_back({id + "00000000000000000000000000", target, std::string{"x86_64"},
                               std::string{"2026-11-30T20:00:34.123456789Z"},
                               std::string{"2026-11-30T20:00:35.123456789Z"}, std::string{"ended"}, event,
                               std::uint64_t{123'456}, std::string{"0.1.0"},
                               std::string{"make -C build/release --jobs"}, std::string{"build=main,stage=nightly"}});
    };
    add("aaaaaa", "vm", "cpu-clock");
    add("bbbbbb", second_target, second_event);
    return answer;
}

TEST(ReportOnScreen, SessionsKeepTheirLabelsBesideAShorterCommand) {
    const auto shown = [](const Answer& answer) { return format_report(answer, ReportFormat::kText, {80}); };
    const auto begins = [&](const Answer& answer, const std::string& lines) {
        const std::string text = shown(answer);
        return text.starts_with(lines) ? testing::AssertionSuccess() : testing::AssertionFailure() << text;
    };
    // Columns with equal values in all rows are dropped first.
    EXPECT_TRUE(begins(session_list("vm", "cpu-clock"),
                       "session   start                 state    rows  command          labels\n"
                       "aaaaaa00  2026-11-30T20:00:34Z  ended  123456  make -C… --jobs  build=m…nightly\n"));
    EXPECT_TRUE(begins(session_list("vm", "cycles"),
                       "session   start                 events       rows  command        labels\n"
                       "aaaaaa00  2026-11-30T20:00:34Z  cpu-clock  123456  make -…--jobs  build=…ightly\n"));
    EXPECT_TRUE(begins(session_list("database-host-17", "cycles"),
                       "session   target        start                   rows  command       labels\n"
                       "aaaaaa00  vm            2026-11-30T20:00:34Z  123456  make -…-jobs  build=…ghtly\n"));
    Answer without = session_list("vm", "cycles");
    for (auto& row : without.rows) {
        row.back() = std::string{};
    }
    EXPECT_NE(shown(without).find("events"), std::string::npos) << shown(without);
}

TEST(ReportOnScreen, NoLineIsWiderThanTheScreen) {
    Answer lossy = profile_answer();
    lossy.ledger.lost = {{"kernel_ring", 5}, {"spool_full", 3}, {"quota_of_target", 17}, {"gateway_restart", 1}};
    for (std::size_t width = 40; width < 160; ++width) {
        EXPECT_LE(widest_line(format_report(lossy, ReportFormat::kText, {width})), width);
        EXPECT_LE(widest_line(format_report(sample_answer(), ReportFormat::kText, {width})), width);
    }
}

TEST(ReportOnScreen, WithoutALimitNothingIsCut) {
    const Answer answer = profile_answer();
    const std::string report = format_report(answer, ReportFormat::kText);
    EXPECT_NE(report.find(std::get<std::string>(answer.rows[0][0])), std::string::npos);
    EXPECT_NE(report.find("children [samples]"), std::string::npos);
    EXPECT_EQ(report.find('\x1b'), std::string::npos);
}

TEST(ReportOnScreen, ColoursAreThoseOfPerf) {
    const std::string report = format_report(profile_answer(), ReportFormat::kText, {Screen::kUnlimited, true});
    EXPECT_TRUE(report.starts_with("\x1b[1mself [samples]"));
    EXPECT_NE(report.find("\x1b[31m60.00%\x1b[m"), std::string::npos);
    EXPECT_NE(report.find("\x1b[32m0.60%\x1b[m"), std::string::npos);
    EXPECT_NE(report.find(" 0.50%"), std::string::npos);
}

TEST(ReportOnScreen, RowsOfSessionsStandBelowTheirSession) {
    Answer answer;
    answer.columns = {{"session", ""}, {"target", ""}, {"event", ""}, {"produced", "rows"}, {"stored", "rows"}};
    const std::string first = "5a60606d18ee8343c399c2d309b6a4f8";
    const std::string second = "5a60606d18ff8343c399c2d309b6a4f8";
    answer.rows = {{first, std::string{"vm"}, std::string{"cpu-clock"}, std::uint64_t{5}, std::uint64_t{4}},
                   {first, std::string{"vm"}, std::string{"page-faults"}, std::uint64_t{6}, std::uint64_t{6}},
                   {second, std::string{"vm"}, std::string{"cpu-clock"}, std::uint64_t{7}, std::uint64_t{7}}};
    answer.ledger.produced = answer.ledger.stored = 17;
    EXPECT_EQ(format_report(answer, ReportFormat::kText, {40}),
              "session 5a60606d18ee8343c399c2d309b6a4f8\n"
              "· target vm · in rows\n"
              "\n"
              "event        produced  stored\n"
              "cpu-clock           5       4\n"
              "page-faults         6       6\n"
              "\n"
              "session 5a60606d18ff8343c399c2d309b6a4f8\n"
              "· target vm · in rows\n"
              "\n"
              "event      produced  stored\n"
              "cpu-clock         7       7\n"
              "\n"
              "rows: 17 produced, all stored\n");
    answer.rows.erase(answer.rows.begin() + 1);
    // As long as needed to distinguish them.
    EXPECT_EQ(format_report(answer, ReportFormat::kText, {50}),
              "                                produced  stored\n"
              "session      target  event        [rows]  [rows]\n"
              "5a60606d18e  vm      cpu-clock         5       4\n"
              "5a60606d18f  vm      cpu-clock         7       7\n"
              "\n"
              "rows: 17 produced, all stored\n");
}

// Of a recording with losses, whose table is too wide.
TEST(ReportOnScreen, LossesAreCountsThatAreNot0BesideProducedAndStored) {
    Answer answer;
    answer.columns = {{"session", ""},
                      {"target", ""},
                      {"kind", ""},
                      {"produced", "rows"},
                      {"stored", "rows"},
                      {"lost", "rows", true},
                      {"kernel_ring", "rows", true},
                      {"quota", "rows", true},
                      {"late", "", true},
                      {"uncovered_percent", "percent", true}};
    const auto add = [&](const char* kind, std::uint64_t produced, std::uint64_t lost, AnswerValue uncovered) {
        answer.rows.push_back({std::string{"5a60606d"}, std::string{"vm"}, std::string{kind}, produced, produced - lost,
                               lost, lost, std::uint64_t{0}, std::uint64_t{0}, std::move(uncovered)});
    };
    add("sample", 500, 3, 0.0);
    add("task", 0, 0, {});
    EXPECT_EQ(format_report(answer, ReportFormat::kText, {24}),
              "session 5a60606d\n"
              "target vm · kind sample\n"
              "\n"
              "produced [rows]       500\n"
              "stored [rows]         497\n"
              "lost [rows]             3\n"
              "kernel_ring [rows]      3\n"
              "\n"
              "session 5a60606d\n"
              "target vm · kind task\n"
              "\n"
              "produced [rows]     0\n"
              "stored [rows]       0\n"
              "\n"
              "rows: 0 produced\n");
    EXPECT_NE(format_report(answer, ReportFormat::kCsv).find("5a60606d,vm,sample,500,497,3,3,0,0,0.0\r\n"),
              std::string::npos);
}

TEST(ReportOnScreen, TimesAreCutToSeconds) {
    Answer answer;
    answer.columns = {{"start", ""}};
    answer.rows = {{std::string{"2026-01-31T12:00:00.123456789Z"}}, {std::string{"2026-01-31T12:00:00Z"}}};
    EXPECT_EQ(format_report(answer, ReportFormat::kText, {20}),
              "start\n2026-01-31T12:00:00Z\n2026-01-31T12:00:00Z\n\nrows: 0 produced\n");
}

TEST(Report, ColumnsThatRepeatOthersAreLeftOutOfTables) {
    Answer answer;
    answer.columns = {{"event", ""}, {"value", ""}, {"scaled", ""}};
    answer.rows = {{std::string{"cycles"}, std::uint64_t{7}, std::uint64_t{7}}};
    EXPECT_EQ(format_report(answer, ReportFormat::kText), "event   value\ncycles      7\n\nrows: 0 produced\n");
    EXPECT_NE(format_report(answer, ReportFormat::kCsv).find("scaled"), std::string::npos);
    answer.rows.push_back({std::string{"cycles"}, std::uint64_t{7}, std::uint64_t{8}});
    EXPECT_NE(format_report(answer, ReportFormat::kText).find("scaled"), std::string::npos);
}

TEST(Report, LedgerSaysEachCountOnce) {
    EXPECT_EQ(ledger_line({10, 10, 0, {}, 0}), "10 produced, all stored");
    EXPECT_EQ(ledger_line({10, 7, 3, {}, 0}), "10 produced = 7 stored + 3 expired");
    EXPECT_EQ(ledger_line({10, 7, 0, {{"missing", 2}}, 1}),
              "10 produced = 7 stored + 2 lost (2 missing) + 1 on the way");
    EXPECT_EQ(ledger_line({}), "0 produced");
}

TEST(Report, TextThatASpreadsheetWouldCalculateIsText) {
    Answer answer;
    answer.columns = {{"x", ""}};
    for (const char* text : {"=1+1", "+1-2", "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "=\"a\",b", "a=1",
                             "-5", "+1.5e3", "-", ""}) {
        answer.rows.push_back({std::string{text}});
    }
    answer.rows.push_back({std::int64_t{-3}});
    answer.rows.push_back({-0.5});
    EXPECT_EQ(format_report(answer, ReportFormat::kCsv),
              "x\r\n'=1+1\r\n'+1-2\r\n'-2+3+cmd|' /C calc'!A0\r\n'@SUM(A1)\r\n\\x09=1\r\n\\x0d=1\r\n"
              "\"'=\"\"a\"\",b\"\r\na=1\r\n-5\r\n+1.5e3\r\n'-\r\n\r\n-3\r\n-0.5\r\n");
}

TEST(Report, CharactersThatATerminalObeysAreEscapedInEveryFormat) {
    const std::string evil = "a\u202eb\u0085c\x7f\x1b";
    Answer answer;
    answer.columns = {{"x", evil}};
    answer.rows = {{evil}};
    answer.warnings = {evil};
    for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kCsv}) {
        const std::string report = format_report(answer, format);
        for (const char* control : {"\u202e", "\u0085", "\x7f", "\x1b"}) {
            EXPECT_EQ(report.find(control), std::string::npos) << report;
        }
    }
    const auto json = nlohmann::json::parse(format_report(answer, ReportFormat::kJson));
    EXPECT_EQ(json["rows"][0][0], evil);
    EXPECT_EQ(json["columns"][0]["unit"], evil);
    EXPECT_EQ(json["warnings"][0], evil);
}

TEST(FlameText, FramesStandBelowTheirCallersAsWideAsTheirShares) {
    Answer tree;
    tree.columns = {{"depth", ""},         {"symbol", ""},      {"image", ""},       {"total", "samples"},
                    {"total_percent", ""}, {"self", "samples"}, {"self_percent", ""}};
    const auto add = [&](std::uint64_t depth, const char* symbol, const char* image, std::uint64_t total) {
        tree.rows.push_back({depth, std::string{symbol},
                             *image == '\0' ? AnswerValue{} : AnswerValue{std::string{image}}, total,
                             static_cast<double>(total) / 2, std::uint64_t{0}, 0.0});
    };
    add(0, "sh", "", 150);
    add(1, "main", "sh", 100);
    add(2, "inner\x1b[2J", "sh", 100);
    add(1, "[k]", "[kernel.kallsyms]", 50);
    add(0, "xz", "", 50);
    add(1, "lzma_code", "liblzma", 50);
    tree.measure = AnswerMeasure{"cycles", "samples", "samples", 200, 200, {}};
    EXPECT_EQ(flame_text(tree, {40, false}),
              "all: 200 samples\n"
              "|sh                           |xz\n"
              "|main               |[k]      |lzma_code\n"
              "|inner\\x1b[2J\n");
    EXPECT_TRUE(flame_text(tree, {40, true}).starts_with("all: 200 samples\n\x1b[30;48;5;250m sh "));
    EXPECT_EQ(flame_text(Answer{}, {40, false}), "");
}

}  // namespace
}  // namespace perfleet
