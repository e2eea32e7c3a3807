// Probes of real programs, from the macro to the table.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "exporters/sink/testing/page_json.h"
#include "target-collector/probe/perfleet/probe.h"
#include "tests/end_to_end/collector_scrape.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end::probe_program_test {
namespace {

using Json = nlohmann::json;

class ProbeProgram : public testing::Test {
protected:
    // `perfleet record -e EVENTS -- WORDS`
    Finished record(const std::vector<std::string>& words, const std::string& events = "perfleet:*") const {
        std::vector<std::string> all{program_path("perfleet"), "record", "-e", events, "--data", data_, "--"};
        all.insert(all.end(), words.begin(), words.end());
        return run(all);
    }
    [[nodiscard]] Finished record_workload(std::vector<std::string> words, const std::string& events = "perfleet:*",
                                           const std::string& workload = "probe_workload") const {
        words.insert(words.begin(), workload_path(workload));
        return record(words, events);
    }

    [[nodiscard]] Json query(std::vector<std::string> words) const {
        words.insert(words.begin(), program_path("perfleet"));
        words.insert(words.end(), {"--data", data_, "--format", "json"});
        const Finished finished = run(words);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return Json::parse(finished.output);
    }

    // A column of a table by event, without "perfleet:".
    [[nodiscard]] static std::map<std::string, double> by_event(const Json& table, const std::string& name) {
        std::size_t event_column = 0;
        std::size_t column = 0;
        for (std::size_t i = 0; i < table["columns"].size(); ++i) {
            event_column = table["columns"][i]["name"] == "event" ? i : event_column;
            column = table["columns"][i]["name"] == name ? i : column;
        }
        std::map<std::string, double> values;
        for (const auto& row : table["rows"]) {
            values[row[event_column].get<std::string>().substr(9)] = row[column].get<double>();
        }
        return values;
    }

    [[nodiscard]] std::map<std::string, double> counts() const { return by_event(query({"latency"}), "count"); }

    void expect_exact() const {
        for (const auto& ledger : ledgers_of(data_)) {
            ledger.expect_exact();
        }
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
};

TEST_F(ProbeProgram, FollowsTheRulesOfSel4) {
    const Finished recorded = record_workload({"rules"});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Json table = query({"latency"});
    const std::map<std::string, double> expected{{"restarted", 1}, {"outer", 1}, {"inner", 1},
                                                 {"left", 1},      {"right", 1}, {"other", 1}};
    EXPECT_EQ(by_event(table, "count"), expected);
    auto ns = by_event(table, "median");
    // It spins at least so long; the machine decides how much longer.
    EXPECT_GE(ns["restarted"], 100'000);
    EXPECT_LT(ns["restarted"], 1'000'000'000) << "of the second start";
    EXPECT_GE(ns["inner"], 2'000'000);
    EXPECT_GE(ns["outer"], ns["inner"] + 1'000'000);
    EXPECT_GE(ns["left"], 2'000'000);
    EXPECT_GE(ns["right"], 5'000'000);
    EXPECT_NE(recorded.error_output.find("-e perfleet:63 gives it an event of its own"), std::string::npos)
        << recorded.error_output;
    EXPECT_NE(recorded.error_output.find("Next: perfleet latency"), std::string::npos) << recorded.error_output;
    expect_exact();
}

TEST_F(ProbeProgram, NamesOfProgramsThatAShellStartsAreKnown) {
    const std::string program = workload_path("probe_workload");
    ASSERT_EQ(record({"sh", "-c", "'" + program + "' threads 2 10; env X=1 " + program + " values"}).ending.status, 0);
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"work", 20}, {"queue", 10}}));
    expect_exact();
}

TEST_F(ProbeProgram, AnIdWithoutNameAndChosenNamesHaveTheirOwnEvents) {
    ASSERT_EQ(record_workload({"rules"}, "perfleet:63,perfleet:inner").ending.status, 0);
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"63", 1}, {"inner", 1}}));
}

TEST_F(ProbeProgram, CountsEveryPairOfManyThreadsAndTheirThreads) {
    const Finished recorded = record_workload({"threads", "300", "100"});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"work", 30'000}}));
    expect_exact();
    const Finished script = run({program_path("perfleet"), "script", "--data", data_, "--format", "json"});
    std::istringstream lines{script.output};
    std::set<std::uint64_t> tids;
    for (std::string line; std::getline(lines, line);) {
        tids.insert(Json::parse(line)["tid"].get<std::uint64_t>());
    }
    EXPECT_EQ(tids.size(), 300U);
}

TEST_F(ProbeProgram, TheFunctionThatMakesOperationsSlowIsFound) {
    const Finished recorded =
        run({program_path("perfleet"), "record", "-e", "cpu-clock", "-e", "perfleet:*", "-F", "997", "-g", "--data",
             data_, "--", "sh", "-c",
             // In real time, if that is allowed: else a busy machine makes other operations slow.
             "exec $(chrt -f 1 true 2>&- && echo chrt -f 1) \"$0\" slow 1000", workload_path("probe_workload")});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Json table = query({"top", "--slowest", "5%", "--of", "perfleet:work"});
    std::map<std::string, std::string> verdicts;  // with their callees
    for (const auto& row : table["rows"]) {
        if (row[2] == "children") {
            verdicts[row[0].get<std::string>()] = row[9].get<std::string>();
        }
    }
    EXPECT_TRUE(verdicts["rare_step"].starts_with("more by ")) << table.dump(1);
    EXPECT_TRUE(verdicts["usual_step"].starts_with("less by ")) << table.dump(1);
    EXPECT_TRUE(verdicts["main"].starts_with("no difference shown")) << table.dump(1);
    // A busy machine's timer is late now and then, which the ledger shows.
    std::uint64_t lost = 0;
    for (const auto& [reason, rows] : table["ledger"]["lost"].items()) {
        EXPECT_TRUE(reason == "timer_late" || reason == "not_delivered") << reason;
        lost += rows.get<std::uint64_t>();
    }
    EXPECT_EQ(table["ledger"]["produced"].get<std::uint64_t>(), table["ledger"]["stored"].get<std::uint64_t>() + lost);
    // The same as a page, whose verdicts are these.
    const std::string page = folder_ / "page.html";
    const Finished drawn = run({program_path("perfleet"), "flamegraph", "--slowest", "5%", "--of", "perfleet:work",
                                "-o", page, "--data", data_});
    ASSERT_EQ(drawn.ending.status, 0) << drawn.error_output;
    std::ifstream file{page};
    const std::string text = json_of_page({std::istreambuf_iterator<char>{file}, {}});
    EXPECT_NE(text.find("\"name\":\"in other operations\""), std::string::npos);
    EXPECT_NE(text.find("Slowest 5 % of perfleet:work"), std::string::npos);
    EXPECT_NE(text.find(verdicts["rare_step"]), std::string::npos);
}

TEST_F(ProbeProgram, CppHasThemToo) {
    ASSERT_EQ(record_workload({}, "perfleet:*", "probe_workload_cpp").ending.status, 0);
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"each", 400}, {"even", 200}}));
}

TEST_F(ProbeProgram, ChildrenOfForkHaveTheirOwnRings) {
    ASSERT_EQ(record_workload({"fork", "300"}).ending.status, 0);
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"work", 301}}));
    expect_exact();
}

TEST_F(ProbeProgram, ANewProgramInTheSameProcessGoesOn) {
    const std::string program = workload_path("probe_workload");
    ASSERT_EQ(record_workload({"exec", program, "exec", program, "threads", "1", "5"}).ending.status, 0);
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"work", 7}}));
}

TEST_F(ProbeProgram, WhatAKilledProgramLoggedIsThere) {
    const Finished recorded =
        record({"sh", "-c", "'" + workload_path("probe_workload") + "' killed 1000; true"}, "perfleet:work");
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    EXPECT_EQ(counts(), (std::map<std::string, double>{{"work", 1'000}}));
    expect_exact();
}

TEST_F(ProbeProgram, AFullRingCountsWhatItLoses) {
    constexpr double kPairs = 3'000'000;
    const Finished recorded = record_workload({"flood", "3000000"});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Json table = query({"latency"});
    const auto& ledger = table["ledger"];
    EXPECT_EQ(ledger["produced"].get<double>(), kPairs);
    double lost = 0;
    for (const auto& [reason, count] : ledger["lost"].items()) {
        lost += count.get<double>();
    }
    EXPECT_EQ(ledger["stored"].get<double>() + lost, kPairs);
    EXPECT_EQ(by_event(table, "count")["work"] + lost, kPairs);
}

// It and the child that it forked, a pair a millisecond each.
TEST_F(ProbeProgram, AProgramThatRunsAlreadyIsRecorded) {
    for (const std::vector<std::string>& which : {std::vector<std::string>{"-p", ""}, {"-a"}}) {
        Process steady{{workload_path("probe_workload"), "steady", "60000"}};
        ASSERT_TRUE(steady.wait_for_output("ready"));
        std::vector<std::string> words{program_path("perfleet"), "record", "-e", "perfleet:*", "--duration", "2"};
        for (const std::string& word : which) {
            words.push_back(word.empty() ? std::to_string(steady.pid()) : word);
        }
        words.insert(words.end(), {"--data", data_});
        const Finished recorded = run(words);
        ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
        const Json table = query({"latency"});
        EXPECT_GT(by_event(table, "count")["work"], 20) << recorded.error_output;
        EXPECT_EQ(table["ledger"]["produced"], table["ledger"]["stored"]);
        const Finished script = run({program_path("perfleet"), "script", "--data", data_, "--format", "json"});
        EXPECT_EQ(script.ending.status, 0) << script.error_output;
        std::istringstream lines{script.output};
        std::set<std::uint64_t> pids;
        for (std::string line; std::getline(lines, line);) {
            pids.insert(Json::parse(line)["pid"].get<std::uint64_t>());
        }
        EXPECT_EQ(pids.size(), 2U) << script.error_output;
        expect_exact();
        steady.send_signal(SIGKILL);
        (void)steady.wait();
    }
}

// One that is killed disables nothing: the next one can record the program all the same. Two at once are refused.
TEST_F(ProbeProgram, ARunningProgramHasOneCollectorAfterTheOther) {
    Process steady{{workload_path("probe_workload"), "steady", "60000"}};
    ASSERT_TRUE(steady.wait_for_output("ready"));
    const std::string pid = std::to_string(steady.pid());
    {
        Process first{{program_path("perfleet-collector"), "-e", "perfleet:work", "-p", pid, "--output",
                       folder_ / "first.plog", "--metrics", "127.0.0.1:*"}};
        const ScrapedPage page = scrape_until(metrics_of(first), [](const ScrapedPage& seen) {
            return seen.sum("perfleet_collector_rows_produced_total") > 0;
        });
        ASSERT_GT(page.sum("perfleet_collector_rows_produced_total"), 0) << first.error_output();
        const Finished second = run(
            {program_path("perfleet"), "record", "-e", "perfleet:work", "-p", pid, "--duration", "1", "--data", data_});
        EXPECT_NE(second.error_output.find("process " + std::to_string(first.pid()) + " records them already"),
                  std::string::npos)
            << second.error_output;
        first.send_signal(SIGKILL);
        (void)first.wait();
    }
    const Finished recorded =
        run({program_path("perfleet"), "record", "-e", "perfleet:work", "-p", pid, "--duration", "2", "--data", data_});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const Json table = query({"latency"});
    EXPECT_GT(by_event(table, "count")["work"], 20) << recorded.error_output;
    EXPECT_EQ(table["ledger"]["produced"], table["ledger"]["stored"]);
}

// A collector of the whole machine that was there first. Without its environment the program is like those that others
// start.
TEST_F(ProbeProgram, AProgramThatStartsLaterIsRecordedByARunningCollector) {
    const Finished recorded = run({program_path("perfleet"), "record", "-e", "perfleet:work", "-a", "--data", data_,
                                   "--", "env", "-i", workload_path("probe_workload"), "steady", "3000"});
    EXPECT_EQ(recorded.ending.status, 0) << recorded.error_output;
    EXPECT_GT(counts()["work"], 20) << recorded.error_output;
    expect_exact();
}

TEST_F(ProbeProgram, ValuesKeepTheirUnit) {
    ASSERT_EQ(record_workload({"values"}).ending.status, 0);
    const Json table = query({"latency"});
    EXPECT_EQ(by_event(table, "count"), (std::map<std::string, double>{{"queue", 10}}));
    EXPECT_EQ(by_event(table, "max")["queue"], 9);
    EXPECT_NE(table.dump().find("\"items\""), std::string::npos);
}

TEST_F(ProbeProgram, SaysWhatAPairCosts) {
    ASSERT_EQ(record_workload({"overhead", "740"}).ending.status, 0);
    const Json table = query({"tracepoints", "--overhead", "perfleet:inner,perfleet:outer"});
    ASSERT_EQ(table["rows"].size(), 2U) << table;
    for (const auto& row : table["rows"]) {
        EXPECT_NE(row.dump().find("740"), std::string::npos);
    }
    EXPECT_NE(query({"latency"})["warnings"].dump().find("effective overhead"), std::string::npos);
}

TEST_F(ProbeProgram, AProgramThatScribblesHarmsNobody) {
    for (const char* seed : {"1", "2", "3"}) {
        const Finished recorded = record({"sh", "-c",
                                          "'" + workload_path("probe_workload") + "' hostile " + seed + " & '" +
                                              workload_path("probe_workload") + "' threads 5 1000; wait"},
                                         "perfleet:work,cpu-clock");
        EXPECT_EQ(recorded.ending.status, 0) << recorded.error_output;
    }
    EXPECT_EQ(query({"sessions"})["rows"].size(), 3U);
    expect_exact();
}

TEST_F(ProbeProgram, BadUseIsExplained) {
    const auto error_of = [this](const std::vector<std::string>& words) {
        std::vector<std::string> all{program_path("perfleet"), "record", "--data", data_};
        all.insert(all.end(), words.begin(), words.end());
        const Finished finished = run(all);
        EXPECT_EQ(finished.ending.status, 2);
        return finished.error_output;
    };
    const Finished without = run({program_path("perfleet"), "record", "--data", data_, "-e", "perfleet:*", "-p",
                                  std::to_string(::getpid()), "--duration", "0.2"});
    EXPECT_NE(without.error_output.find("none of the programs that were recorded has probes"), std::string::npos)
        << without.error_output;
    EXPECT_NE(error_of({"-e", "perfleet:a b", "--", "true"}).find("a probe's name has"), std::string::npos);
    EXPECT_NE(error_of({"-e", "{perfleet:a,cpu-clock}", "--", "true"}).find("can't be in a group"), std::string::npos);
    EXPECT_NE(error_of({"-e", "perfleet:a", "--filter", "x == 1", "--", "true"}).find("is no tracepoint"),
              std::string::npos);
}

TEST_F(ProbeProgram, IsNotCounted) {
    const Finished counted = run({program_path("perfleet"), "stat", "-e", "perfleet:work", "--", "true"});
    EXPECT_EQ(counted.ending.status, 2);
    EXPECT_NE(counted.error_output.find("perfleet record stores each row"), std::string::npos) << counted.error_output;
}

// If <sys/sdt.h> is installed; the markers are those that perf and bpftrace look for.
TEST_F(ProbeProgram, HasUsdtMarkers) {
#if __has_include(<sys/sdt.h>)
    const Finished notes = run({"readelf", "-n", workload_path("probe_workload")});
    for (const char* name : {"start", "stop", "value"}) {
        EXPECT_NE(notes.output.find("Provider: perfleet\n    Name: " + std::string{name}), std::string::npos)
            << notes.output;
    }
#else
    GTEST_SKIP() << "sys/sdt.h isn't installed (tools/setup)";
#endif
}

}  // namespace
}  // namespace perfleet::end_to_end::probe_program_test
