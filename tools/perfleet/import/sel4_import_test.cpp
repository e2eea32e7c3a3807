// Logs and output of seL4 kernels, on their way into the store: bytes made here, and dumps as on a console.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "query-engine/statistic/testing/text_query.h"
#include "schemas/sel4/log_description.h"
#include "schemas/vocabulary/utilisation_thread.h"
#include "storage/store/memory_store.h"
#include "tests/golden/golden_file.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/run_store.h"

namespace perfleet::sel4_import_test {
namespace {

constexpr UtcNs kTime{1'700'000'000'000'000'000};

std::string golden(const std::string& name) { return golden_file("sel4/" + name); }

std::string little_endian(std::uint64_t value, unsigned size_bytes) {
    std::string bytes;
    for (unsigned i = 0; i < size_bytes; ++i) {
        bytes += static_cast<char>(value >> (8 * i) & 0xff);
    }
    return bytes;
}

std::string entry(std::uint64_t start, std::uint64_t duration, std::uint64_t path, std::uint64_t detail) {
    return little_endian(start, 8) + little_endian(duration, 4) + little_endian(path, 1) + little_endian(detail, 4) +
           std::string(7, '\0');
}

std::string tracepoint(std::uint64_t id, std::uint64_t duration) {
    return little_endian(id, 8) + little_endian(duration, 8);
}

ImportHints hints_of(std::uint64_t index) {
    ImportHints hints;
    hints.architecture = "aarch64";
    hints.log_index = index;
    hints.tracepoint_count = 4;
    return hints;
}

using Runs = Result<std::vector<ImportedRun>>;

Ledger ledger_of(const Runs& runs) {
    EXPECT_TRUE(runs.ok()) << (runs.ok() ? "" : runs.error().message);
    const auto store = make_memory_store();
    StoreDestination destination{*store};
    for (const ImportedRun& run : *runs) {
        const auto done = store_run(run, {"board", "aarch64", kTime, "file"}, destination);
        EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    }
    const auto answer = run_text_query("losses", {}, *store, {}, kTime);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer->ledger : Ledger{};
}

bool warns_of(const ImportedRun& run, const std::string& what) {
    for (const std::string& warning : run.warnings) {
        if (warning.find(what) != std::string::npos) {
            return true;
        }
    }
    return false;
}

using Row = std::vector<std::uint64_t>;

TEST(KernelLogImport, EntriesKeepTheirTimesAndTheirBits) {
    ImportHints hints = hints_of(2);
    hints.kernel_version = "13.0.0";
    hints.clock_hz = 62'500'000;
    hints.points = {{"fault", "90\n# by hand\n170\n"}};
    // An interrupt's number of version 13 on core 2, and a syscall.
    const auto runs =
        read_sel4_entries(entry(100, 7, 0, 0x27a) + entry(180, 9, 5, 0xa43) + std::string(960, '\1'), hints);
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    const ImportedRun& run = runs->front();
    EXPECT_EQ(run.clock->ticks_per_second, 62'500'000U);
    ASSERT_EQ(run.series.size(), 2U);
    EXPECT_EQ(run.series[0].event, "kernel_entries");
    EXPECT_EQ(run.series[0].rows, (std::vector<Row>{{100, 2, 7, 0, 0x27a}, {180, 0, 9, 5, 0xa43}}));
    const auto description = sel4::parse_description(run.series[0].format);
    ASSERT_TRUE(description);
    EXPECT_EQ(description->numbering(), sel4::PathNumbering::kBefore14);
    EXPECT_FALSE(description->is_saturated);
    EXPECT_EQ(run.series[1].event, "fault");
    EXPECT_EQ(run.series[1].rows[1][0], 170U);
    const Ledger ledger = ledger_of(runs);
    EXPECT_EQ(ledger.produced, 4U);
    EXPECT_EQ(ledger.stored, 4U);
}

TEST(KernelLogImport, AFullLogOfEntriesSaysThatNobodyKnowsWhatWasLost) {
    std::string bytes;
    for (std::uint64_t i = 0; i < 43'690; ++i) {
        bytes += entry(1'000 + i, 1, 1, 0);
    }
    const auto runs = read_sel4_entries(bytes, hints_of(43'690));
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    EXPECT_EQ(runs->front().labels.at("saturated"), "true");
    EXPECT_FALSE(sel4::parse_description(runs->front().series[0].format)->is_loss_known);
    EXPECT_TRUE(warns_of(runs->front(), "number is unknown"));
    EXPECT_TRUE(warns_of(runs->front(), "--clock-hz"));
    EXPECT_EQ(ledger_of(runs).stored, 43'690U);
}

TEST(KernelLogImport, WhatIsMissingIsAskedForByName) {
    const auto expect_refusal = [](const Runs& runs, const std::string& what) {
        ASSERT_FALSE(runs.ok()) << what;
        EXPECT_NE(runs.error().message.find(what), std::string::npos) << runs.error().message;
    };
    ImportHints hints = hints_of(1);
    expect_refusal(read_sel4_entries(std::string(23, '\0'), hints), "was cut");
    hints.log_index = 43'691;
    expect_refusal(read_sel4_entries(std::string(2U << 20, '\0'), hints), "43690");
    hints.log_index.reset();
    expect_refusal(read_sel4_entries("", hints), "--log-index");
    hints = hints_of(1);
    hints.tracepoint_count.reset();
    expect_refusal(read_sel4_tracepoints(tracepoint(0, 1), hints), "--max-tracepoints");
    hints.architecture = "";
    expect_refusal(read_sel4_tracepoints(tracepoint(0, 1), hints), "--arch");
    hints = hints_of(0);
    hints.kernel_version = "main";
    expect_refusal(read_sel4_entries("", hints), "--kernel-version");
    hints = hints_of(0);
    hints.points = {{"fault", "12\nx\n"}};
    expect_refusal(read_sel4_entries("", hints), "line 2");
}

TEST(KernelLogImport, TracepointsThatWereLostAreCounted) {
    std::string bytes;
    for (std::uint64_t i = 0; i < 65'536; ++i) {
        bytes += tracepoint(i % 3, 200 + i % 5);
    }
    const Ledger ledger = ledger_of(read_sel4_tracepoints(bytes, hints_of(70'000)));
    EXPECT_EQ(ledger.produced, 70'000U);
    EXPECT_EQ(ledger.stored, 65'536U);
    EXPECT_EQ(ledger.lost, (std::map<std::string, std::uint64_t>{{"saturated", 4'464}}));
}

TEST(KernelLogImport, TracepointsWithImpossibleIdsAreNotStoredUnderAnyKey) {
    const auto runs = read_sel4_tracepoints(
        tracepoint(3, 208) + tracepoint(4, 1) + tracepoint(0, 5) + tracepoint(1ULL << 40, 2), hints_of(4));
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    const ImportedRun& run = runs->front();
    EXPECT_TRUE(warns_of(run, "2 tracepoints have ids from 4 on"));
    ASSERT_EQ(run.series.size(), 3U);
    EXPECT_EQ(run.series[1].event, "tracepoint-0");
    EXPECT_EQ(run.series[2].event, "tracepoint-3");
    // Their place in the log, and their value.
    EXPECT_EQ(run.series[1].rows, (std::vector<Row>{{2, 0, 0, 0, 0, 1, 5, 0}}));
    EXPECT_EQ(run.series[2].rows, (std::vector<Row>{{0, 0, 0, 0, 0, 1, 208, 0}}));
    const Ledger ledger = ledger_of(runs);
    EXPECT_EQ(ledger.produced, 4U);
    EXPECT_EQ(ledger.stored, 2U);
    EXPECT_EQ(ledger.lost, (std::map<std::string, std::uint64_t>{{"malformed", 2}}));
}

TEST(KernelLogImport, UtilisationIsReadFromTheIpcBuffer) {
    std::string thread;
    for (const std::uint64_t word : {300U, 3U, 30U, 13U, 600U, 600U, 6U, 60U, 16U, 1'000U, 10U, 100U, 110U}) {
        thread += little_endian(word, 8);
    }
    ImportHints hints;
    hints.thread_names = {"root"};
    const auto runs = read_sel4_utilisation(thread, hints);
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    const ImportedSeries& series = runs->front().series[0];
    EXPECT_EQ(series.event, "utilisation");
    EXPECT_EQ(series.rows,
              (std::vector<Row>{
                  {0, 0, kWholeSystem, 1'000, 10, 100, 110}, {0, 0, 0, 600, 6, 60, 16}, {0, 0, 1, 300, 3, 30, 13}}));
    EXPECT_EQ(sel4::parse_description(series.format)->thread_names.at(1), "root");
    EXPECT_FALSE(read_sel4_utilisation(thread + "x", {}).ok());
    EXPECT_FALSE(read_sel4_utilisation("", {}).ok());
    std::string other = thread;
    other[9 * 8] = '\1';
    EXPECT_FALSE(read_sel4_utilisation(thread + other, {}).ok()) << "two windows";
}

TEST(KernelLogImport, UtilisationIsReadAsTheKernelPrintsIt) {
    const auto runs = read_utilisation(golden("utilisation_console.txt"), {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 2U);
    const ImportedSeries& first = runs->front().series[0];
    EXPECT_EQ(first.rows, (std::vector<Row>{{0, 0, kWholeSystem, 1'000'000, 407, 41'200, 812},
                                            {0, 0, 1, 250'000, 203, 17'000, 400},
                                            {0, 0, 2, 150'000, 3, 2'200, 12},
                                            {0, 0, 0, 600'000, 201, 22'000, 400}}));
    const auto names = sel4::parse_description(first.format)->thread_names;
    EXPECT_EQ(names.at(1), "busy \"1\"");
    EXPECT_EQ(names.at(0), "idle_thread");
    EXPECT_EQ((*runs)[1].labels.at("window"), "2");
    EXPECT_EQ((*runs)[1].series[0].rows[1][3], 0 - std::uint64_t{1'234});
}

TEST(KernelLogImport, UtilisationMayBeAnyJsonToo) {
    const auto runs = read_utilisation(
        R"({"BENCHMARK_TOTAL_UTILISATION":10,"BENCHMARK_TOTAL_KERNEL_UTILISATION":1,
            "BENCHMARK_TOTAL_NUMBER_KERNEL_ENTRIES":2,"BENCHMARK_TOTAL_NUMBER_SCHEDULES":3,
            "BENCHMARK_TCB_":[{"NAME":"a","UTILISATION":-4,"NUMBER_SCHEDULES":1,"KERNEL_UTILISATION":0,
                               "NUMBER_KERNEL_ENTRIES":0}]})",
        {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    EXPECT_EQ(runs->front().series[0].rows[1], (Row{0, 0, 1, 0 - std::uint64_t{4}, 1, 0, 0}));
    EXPECT_FALSE(read_utilisation("{}", {}).ok());
    EXPECT_FALSE(read_utilisation("no dump\n", {}).ok());
}

TEST(KernelLogImport, UtilisationAsJsonMayStandAmongOtherLinesOfTheConsole) {
    const auto dump = [](const std::string& name) {
        return R"({"BENCHMARK_TOTAL_UTILISATION":10,
            "BENCHMARK_TOTAL_KERNEL_UTILISATION":1, "BENCHMARK_TOTAL_NUMBER_KERNEL_ENTRIES":2,
            "BENCHMARK_TOTAL_NUMBER_SCHEDULES":3,
            "BENCHMARK_TCB_":[ {"NAME":")" +
               name + R"(","UTILISATION":4,"NUMBER_SCHEDULES":1,"KERNEL_UTILISATION":0,"NUMBER_KERNEL_ENTRIES":0} ]})";
    };
    const auto runs = read_utilisation(
        "Booting {all} finished\n" + dump("a {b} \\\" c") + "\nAll is well\n" + dump("d") + "\n$ ", {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_EQ((*runs)[0].series[0].rows[1], (Row{0, 0, 1, 4, 1, 0, 0}));
    EXPECT_EQ(sel4::parse_description((*runs)[0].series[0].format)->thread_names.at(1), "a {b} \" c");
    EXPECT_EQ((*runs)[1].labels.at("window"), "2");
    EXPECT_EQ((*runs)[1].labels.at("status"), "ok");
}

TEST(KernelLogImport, ADumpWithoutThreadsIsAFailedRun) {
    const auto runs = read_utilisation(
        "\"BENCHMARK_TOTAL_UTILISATION\":10,\n\"BENCHMARK_TOTAL_KERNEL_UTILISATION\":1,\n"
        "\"BENCHMARK_TOTAL_NUMBER_KERNEL_ENTRIES\":2,\n\"BENCHMARK_TOTAL_NUMBER_SCHEDULES\":3\n",
        {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    EXPECT_EQ(runs->front().labels.at("status"), "failed");
}

TEST(KernelLogImport, ADumpThatWasCutIsStoredAsFailedWithWhatItHas) {
    const std::string whole = golden("utilisation_console.txt");
    const auto runs = read_utilisation(whole.substr(0, whole.find("\"KERNEL_UTILISATION\":2200")), {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    EXPECT_EQ(runs->front().labels.at("status"), "failed");
    EXPECT_EQ(runs->front().series[0].rows.size(), 2U);
}

TEST(KernelLogImport, Sel4benchIsReadAsItPrints) {
    const auto runs = read_sel4bench(golden("sel4bench_console.txt"), {});
    ASSERT_TRUE(runs.ok()) << runs.error().message;
    const ImportedRun& run = runs->front();
    ASSERT_EQ(run.series.size(), 4U);
    // Parameters distinguish results of one name.
    EXPECT_EQ(
        run.series[0].event,
        "One way IPC microbenchmarks / client->server / seL4_Call / Client Prio 254 / IPC length 0 / Same vspace? "
        "false / Server Prio 254");
    EXPECT_NE(run.series[0].event, run.series[1].event);
    EXPECT_EQ(run.series[3].event, "fault round trip");
    EXPECT_EQ(run.series[3].rows.size(), 3U);
    EXPECT_EQ(run.series[2].rows.size(), 3U);
    EXPECT_TRUE(warns_of(run, "1 result is negative"));
    EXPECT_TRUE(warns_of(run, ": 1 result"));
    const Ledger ledger = ledger_of(runs);
    EXPECT_EQ(ledger.produced, 15U);
    EXPECT_EQ(ledger.stored, 14U);
}

}  // namespace
}  // namespace perfleet::sel4_import_test
