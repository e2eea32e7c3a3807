// perfleet and perfleet-query as people run them, over a store on disk.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "exporters/sink/testing/page_json.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/open_store.h"
#include "tests/end_to_end/process.h"

namespace perfleet::query_program_test {
namespace {

using end_to_end::field_of;
using end_to_end::Finished;
using end_to_end::Process;
using end_to_end::program_path;

std::string text_of_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

class QueryProgram : public ::testing::Test {
protected:
    void SetUp() override {
        Result<std::unique_ptr<Store>> store = open_store(data_);
        ASSERT_TRUE(store.ok()) << store.error().message;
        deliver(scenario_, DeliveryOrder{}, **store);
    }

    Finished perfleet(std::vector<std::string> arguments, const Process::Options& options = {}) {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        return end_to_end::run(arguments, options);
    }

    end_to_end::TemporaryFolder folder_;
    std::string data_ = folder_ / "store";
    ProfileScenario scenario_ = make_scenario(9);
};

TEST_F(QueryProgram, LatencyWithoutValuesSaysWhatToDo) {
    const Finished shown = perfleet({"latency", "--data", data_});
    EXPECT_EQ(shown.ending.status, 0);
    for (const char* words : {"no measured values are in the selection", "perfleet import", "--pair START,STOP"}) {
        EXPECT_NE(shown.error_output.find(words), std::string::npos) << shown.error_output;
    }
}

TEST_F(QueryProgram, LatencyShowsTheTestsThemselves) {
    const std::string numbers = folder_ / "numbers";
    std::ofstream{numbers} << "30\n10\n20\n";
    const std::string store = folder_ / "numbers.store";
    ASSERT_EQ(perfleet({"import", numbers, "--format", "columns", "--data", store}).ending.status, 0);
    const Finished shown = perfleet({"latency", "--table", "--data", store});
    EXPECT_EQ(shown.ending.status, 0) << shown.error_output;
    EXPECT_NE(shown.output.find("   3              20\n"), std::string::npos) << shown.output;
}

TEST_F(QueryProgram, EveryTableCommandAnswersInEveryFormat) {
    for (const char* command : {"targets", "sessions", "losses", "top", "tree", "counters", "tracepoints"}) {
        const Finished text = perfleet({command, "--data", data_, "--all"});
        EXPECT_EQ(text.ending.status, 0) << command << text.error_output;
        EXPECT_NE(text.output.find("\nrows: "), std::string::npos);
        const Finished csv = perfleet({command, "--data", data_, "--all", "--format", "csv"});
        EXPECT_EQ(csv.ending.status, 0);
        EXPECT_NE(csv.output.find("\r\n"), std::string::npos);
        const Finished json = perfleet({command, "--data", data_, "--all", "--format", "json"});
        EXPECT_EQ(json.ending.status, 0);
        EXPECT_EQ(json.error_output, "");
        const auto answer = nlohmann::json::parse(json.output);
        EXPECT_FALSE(answer["rows"].empty()) << command;
        for (const auto& row : answer["rows"]) {
            EXPECT_EQ(row.size(), answer["columns"].size());
        }
        std::uint64_t accounted = answer["ledger"]["stored"].get<std::uint64_t>() +
                                  answer["ledger"]["expired"].get<std::uint64_t>() +
                                  answer["ledger"].value("pending", std::uint64_t{0});
        for (const auto& lost : answer["ledger"]["lost"]) {
            accounted += lost.get<std::uint64_t>();
        }
        EXPECT_EQ(answer["ledger"]["produced"], accounted) << command;
        EXPECT_EQ(csv.error_output.find("perfleet: rows: ") != std::string::npos,
                  answer["ledger"]["produced"] != answer["ledger"]["stored"])
            << command << csv.error_output;
    }
}

TEST_F(QueryProgram, GatewayAnswersTheSameBytesAsTheFolder) {
    Process server{{program_path("perfleet-query"), "--data", data_, "--listen", "tcp://127.0.0.1:*"}};
    const std::optional<std::string> ready = server.wait_for_output("ready ");
    ASSERT_TRUE(ready) << server.error_output();
    const std::string endpoint = field_of(*ready, "query");
    const std::vector<std::vector<std::string>> questions{
        {"targets"},
        {"sessions", "--format", "json"},
        {"losses", "--format", "csv"},
        {"counters"},
        {"tracepoints", "--format", "json"},
        {"top"},
        {"top", "--format", "json", "--by", "thread", "--threads", "2"},
        {"top", "--event", "sched:sched_switch", "--measure", "samples"},
        {"top", "--select", "{target=\"target-2\"}", "--from", "2023-11-14T22:13:20.000004Z"},
        {"tree", "--min-percent", "2"},
        {"diff", "--before", "{target=\"target-1\"}", "--after", "{target=\"target-2\"}"},
        {"diff", "--before", "last~1", "--after", "last", "--format", "json", "--fail-if", "self > 99%"},
        {"export", "--to", "folded", "-o", "-"},
        {"export", "--to", "html", "-o", "-"},
        {"flamegraph", "--text"},
    };
    for (const std::vector<std::string>& question : questions) {
        std::vector<std::string> local = question;
        local.insert(local.end(), {"--data", data_, "--all"});
        std::vector<std::string> remote = question;
        remote.insert(remote.end(), {"--gateway", endpoint});
        const Finished from_folder = perfleet(local);
        const Finished from_gateway = perfleet(remote);
        EXPECT_EQ(from_folder.ending.status, 0) << question[0] << from_folder.error_output;
        EXPECT_EQ(from_gateway.output, from_folder.output) << question[0];
        EXPECT_EQ(from_gateway.error_output, from_folder.error_output) << question[0];
        EXPECT_FALSE(from_folder.output.empty());
    }
    const Finished unknown = perfleet({"top", "--event", "cycles", "--gateway", endpoint});
    EXPECT_EQ(unknown.ending.status, 2);
    EXPECT_NE(unknown.error_output.find("cpu-clock"), std::string::npos);

    server.send_signal(SIGTERM);
    const auto ending = server.wait();
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->status, 0) << server.error_output();
}

TEST_F(QueryProgram, SeesWhatWasStoredSinceItStarted) {
    const std::string data = folder_ / "growing";
    Result<std::unique_ptr<Store>> writer = open_store(data);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    Process server{{program_path("perfleet-query"), "--data", data, "--listen", "tcp://127.0.0.1:*"}};
    const std::optional<std::string> ready = server.wait_for_output("ready ");
    ASSERT_TRUE(ready) << server.error_output();
    const std::vector<std::string> question{"top", "--format", "csv", "--gateway", field_of(*ready, "query")};
    const Finished empty = perfleet(question);
    EXPECT_EQ(empty.ending.status, 0) << empty.error_output;
    EXPECT_EQ(empty.output.find("\r\n") + 2, empty.output.size());
    deliver(scenario_, DeliveryOrder{}, **writer);
    EXPECT_EQ(perfleet(question).output, perfleet({"top", "--format", "csv", "--data", data_, "--all"}).output);
}

TEST_F(QueryProgram, PerfDataOverTheNetworkIsTheSameFile) {
    Process server{{program_path("perfleet-query"), "--data", data_, "--listen", "tcp://127.0.0.1:*"}};
    const std::optional<std::string> ready = server.wait_for_output("ready ");
    ASSERT_TRUE(ready) << server.error_output();
    const auto write = [&](const std::string& file, const std::vector<std::string>& source) {
        std::vector<std::string> arguments{
            "export", "--to", "perf.data", "-o", file, "--select", "{target=\"target-2\"}"};
        arguments.insert(arguments.end(), source.begin(), source.end());
        const Finished finished = perfleet(arguments);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        struct stat status {};
        EXPECT_EQ(::stat(file.c_str(), &status), 0);
        return std::pair{text_of_file(file), status.st_mtim.tv_sec};
    };
    const auto local = write(folder_ / "local.data", {"--data", data_});
    const auto remote = write(folder_ / "remote.data", {"--gateway", field_of(*ready, "query")});
    EXPECT_EQ(local.first.substr(0, 8), "PERFILE2");
    EXPECT_EQ(local, remote);
    const std::int64_t recorded_s = scenario_.sessions[2].record.start_point.utc_ns.value / kNsPerSecond;
    EXPECT_GE(local.second, recorded_s);
    EXPECT_LT(local.second, recorded_s + 3 * 3600);
}

TEST_F(QueryProgram, WatchAnswersAgainUntilItIsInterrupted) {
    Process watched{{program_path("perfleet"), "top", "--data", data_, "--all", "--format", "json", "--watch", "0.1"}};
    ASSERT_TRUE(watched.wait_for_output("{"));
    const std::string first = perfleet({"top", "--data", data_, "--all", "--format", "json"}).output;
    while (watched.output().size() < 2 * first.size()) {
        usleep(10'000);
    }
    watched.send_signal(SIGINT);
    const auto ending = watched.wait();
    ASSERT_TRUE(ending);
    EXPECT_EQ(ending->status, 0);
    EXPECT_TRUE(watched.output().starts_with(first + "\n" + first));
    EXPECT_EQ(perfleet({"top", "--data", data_, "--watch", "0"}).ending.status, 2);
    EXPECT_EQ(perfleet({"top", "--data", folder_ / "nowhere", "--watch", "0.1"}).ending.status, 1);
}

TEST_F(QueryProgram, FlameGraphIsTheSamePageFromAGateway) {
    Process server{{program_path("perfleet-query"), "--data", data_, "--listen", "tcp://127.0.0.1:*"}};
    const std::optional<std::string> ready = server.wait_for_output("ready ");
    ASSERT_TRUE(ready) << server.error_output();
    const auto page = [&](const std::string& file, const std::vector<std::string>& source) {
        std::vector<std::string> words{"flamegraph", "-o",        file,   "--title",  "both",  "--slices",
                                       "9",          "--session", "last", "--before", "last~1"};
        words.insert(words.end(), source.begin(), source.end());
        const Finished finished = perfleet(words);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return json_of_page(text_of_file(file));
    };
    const std::string local = page(folder_ / "local.html", {"--data", data_});
    EXPECT_NE(local.find("\"title\":\"both\""), std::string::npos);
    EXPECT_NE(local.find("\"verdicts\""), std::string::npos);
    EXPECT_EQ(page(folder_ / "remote.html", {"--gateway", field_of(*ready, "query")}), local);
}

TEST_F(QueryProgram, FlameGraphOfNothingIsAnEmptyPageAndAMessage) {
    const std::string file = folder_ / "none.html";
    const Finished none = perfleet({"flamegraph", "-o", file, "--data", data_, "--comm", "nobody"});
    EXPECT_EQ(none.ending.status, 0);
    EXPECT_NE(none.error_output.find("nothing to show"), std::string::npos) << none.error_output;
    EXPECT_NE(json_of_page(text_of_file(file)).find("nothing to show"), std::string::npos);
    EXPECT_EQ(perfleet({"flamegraph", "--data", data_}).ending.status, 2);
    EXPECT_EQ(perfleet({"flamegraph", "--text", "--before", "last~1", "--data", data_}).ending.status, 2);
}

TEST_F(QueryProgram, FoldedStacksHaveTheAmountOfEverySample) {
    const Finished folded = perfleet({"export", "--to", "folded", "-o", "-", "--data", data_, "--all"});
    ASSERT_EQ(folded.ending.status, 0) << folded.error_output;
    std::uint64_t sum = 0;
    std::string before;
    std::istringstream lines{folded.output};
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LT(before, line);
        before = line;
        sum += std::stoull(line.substr(line.rfind(' ') + 1));
    }
    std::uint64_t expected = 0;
    for (const ScenarioSession& session : scenario_.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                expected += sample.event == 0 ? sample.weight : 0;
            }
        }
    }
    EXPECT_EQ(sum, expected);
    const std::string file = folder_ / "out.folded";
    EXPECT_EQ(perfleet({"export", "--to", "folded", "-o", file, "--data", data_, "--all"}).ending.status, 0);
    EXPECT_EQ(text_of_file(file), folded.output);
}

TEST_F(QueryProgram, BadUsageExitsWith2AndNamesTheOption) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
        {{}, "which command"},
        {{"nosuch"}, "nosuch"},
        {{"top", "--nosuch"}, "--nosuch"},
        {{"top", "--data", data_, "--format", "xml"}, "--format"},
        {{"top", "--data", data_, "--from", "noon"}, "--from"},
        {{"top", "--data", data_, "--select", "{x}"}, "--select"},
        {{"top", "--data", data_, "--session", "zz"}, "--session"},
        {{"top", "--data", data_, "--session", "0"}, "--session"},
        {{"top", "--data", data_, "--event", "cycles"}, "--event"},
        {{"losses", "--data", data_, "--event", "cycles"}, "recorded were: cpu-clock"},
        {{"counters", "--data", data_, "--event", "cycles"}, "recorded were: cpu-clock"},
        {{"tracepoints", "--data", data_, "--event", "cycles"}, "recorded were: cpu-clock"},
        {{"latency", "--data", data_, "--event", "cycles"}, "recorded were: cpu-clock"},
        {{"kernel-entries", "--data", data_, "--event", "cycles"}, "recorded were: cpu-clock"},
        {{"diff", "--data", data_, "--before", "last~1", "--after", "last", "--event", "cycles"}, "recorded were: "},
        {{"export", "--data", data_, "--event", "cycles", "--to", "folded", "-o", "-"}, "recorded were: cpu-clock"},
        {{"export", "--data", data_, "--event", "cycles", "--to", "perf.data", "-o", folder_ / "x"},
         "recorded were: cpu-clock"},
        {{"targets", "--data", data_, "--event", "cpu-clock"}, "--event"},
        {{"sessions", "--data", data_, "--event", "cpu-clock"}, "--event"},
        {{"controls", "--data", data_, "--event", "cpu-clock"}, "--event"},
        {{"top", "--data", data_, "--select", ""}, "--select: is empty"},
        {{"top", "--data", data_, "--session", ""}, "--session: is empty"},
        {{"top", "--data", data_, "--event", ""}, "--event: is empty"},
        {{"top", "--data", data_, "--from", ""}, "--from: is empty"},
        {{"top", "--data", data_, "--to", ""}, "--until: is empty"},
        {{"top", "--data", ""}, "--data: is empty"},
        {{"top", "--gateway", "tcp://127.0.0.1:1", "--symfs", "/"}, "--symfs"},
        {{"top", "--gateway", "tcp://127.0.0.1:1x"}, "--gateway tcp://127.0.0.1:1x: nothing to connect to"},
        {{"latency", "--data", data_, "--bucket", "5"}, "--bucket"},
        {{"kernel-entries", "--data", data_, "--limit", "5"}, "--limit goes with"},
        {{"kernel-entries", "--data", data_, "--table", "durations", "--limit", "5"}, "--limit goes with"},
        {{"kernel-entries", "--data", data_, "--table", "syscalls", "--path", "interrupt"}, "--path goes with"},
        {{"kernel-entries", "--data", data_, "--table", "matches", "--since-event", "x", "--by", "cap"},
         "--by goes with"},
        {{"latency", "--data", data_, "--event", "sched:sched_switch", "--pair", "a,b"}, "--event: --pair"},
        {{"diff", "--data", data_, "--before", "last~1", "--after", "last", "--of", "latency", "--limit", "1"},
         "--limit: --of latency"},
        {{"diff", "--data", data_, "--before", "last~1", "--after", "last", "--of", "profile", "--percentiles", "50"},
         "--percentiles: --of profile"},
        {{"diff", "--data", data_, "--before", "last~1", "--after", "last", "--by", "target"},
         "--by: is for latencies; profiles are compared whole"},
        {{"top", "--data", data_, "--by", "colour"}, "--by"},
        {{"top", "--data", data_, "--threads", "1000"}, "--threads"},
        {{"top", "--data", data_, "--gateway", "tcp://127.0.0.1:1"}, "--gateway"},
        {{"top", "--gateway", "nowhere"}, "--gateway"},
        {{"top", "--gateway", ""}, "--gateway: is empty"},
        {{"top", "--gateway", "tcp://127.0.0.1:1", "--key", "", "--gateway-key", ""}, "key: is empty"},
        {{"top", "--data", data_, "--symfs", ""}, "--symfs: is empty"},
        {{"top", "--data", data_, "--symfs", "/no/such/folder"}, "--symfs: /no/such/folder: No such file or directory"},
        {{"export", "--data", data_, "--to", "folded", "-o", ""}, "--output: is empty"},
        {{"backup", "--data", data_, "--to", ""}, "--to: is empty"},
        {{"restore", "--from", data_, "--data", ""}, "--data: is empty"},
        {{"import", "", "--format", "columns"}, "FILE: is empty"},
        {{"import", "x", "--format", "columns", "--clock-hz", "-1"}, "--clock-hz -1: no whole number of Hz above 0"},
        {{"import", "x", "--format", "columns", "--clock-hz", "0"}, "--clock-hz 0: no whole"},
        {{"import", "x", "--format", "columns", "--clock-hz", "1.5"}, "--clock-hz 1.5: no whole"},
        {{"import", "x", "--format", "columns", "--clock-hz", "3GHz"}, "write it as 62500000 or 2.4e9"},
        {{"import", "x", "--format", "columns", "--label", "clock_hz=fast"}, "--label clock_hz=fast: no whole"},
        {{"import", "x", "--format", "columns", "--label", "clock_hz=5", "--clock-hz", "7"},
         "--clock-hz 7 and --label clock_hz=5 say different things"},
        {{"import", "x", "--format", "frames", "--clock-hz", "7"}, "--format frames: target, architecture, clock"},
        {{"import", "x", "--format", "kbench", "--initial-test-size", "-1"}, "'-1' is below 0"},
        {{"import", "x", "--format", "kbench", "--initial-test-size", "1", "--delta", "-1"},
         "--delta: '-1' is below 0"},
        {{"control", "--data", data_, "--frequency", "0"}, "--frequency: '0' is no number from 1 to"},
        {{"control", "start", "--data", data_, "--wait", "nan"}, "--wait: 'nan' is no number"},
        {{"export", "--data", data_, "-o", "x"}, "--to"},
        {{"export", "--data", data_, "--to", "pdf", "-o", "x"}, "--to"},
        {{"export", "--data", data_, "--to", "folded", "-o", folder_.path().string()}, "-o"},
    };
    for (const auto& [arguments, named] : bad) {
        const Finished finished = perfleet(arguments);
        EXPECT_EQ(finished.ending.status, 2) << named << ": " << finished.error_output;
        EXPECT_NE(finished.error_output.find(named), std::string::npos) << finished.error_output;
        EXPECT_EQ(finished.output, "");
    }
    const std::vector<std::vector<std::string>> bad_for_server{
        {"--key", "", "--query-clients", ""}, {"--listen", ""}, {"--listen", "inproc://here"}};
    for (const auto& arguments : bad_for_server) {
        std::vector<std::string> command{program_path("perfleet-query"), "--data", data_};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const Finished finished = end_to_end::run(command);
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        EXPECT_NE(finished.error_output.find(arguments.front()), std::string::npos) << finished.error_output;
    }
}

TEST_F(QueryProgram, WhatIsNotThereExitsWith1AndSaysTheWayOut) {
    const Finished no_store = perfleet({"top", "--data", folder_ / "nowhere"});
    EXPECT_EQ(no_store.ending.status, 1);
    EXPECT_NE(no_store.error_output.find("no perfleet store at " + (folder_ / "nowhere")), std::string::npos);
    Process::Options options;
    options.environment = {"XDG_DATA_HOME=" + folder_.path().string()};
    const Finished no_default = perfleet({"top"}, options);
    EXPECT_EQ(no_default.ending.status, 1);
    EXPECT_NE(no_default.error_output.find("perfleet record"), std::string::npos) << no_default.error_output;
    const Finished no_session = perfleet({"top", "--data", data_, "--session", "dead"});
    EXPECT_EQ(no_session.ending.status, 1);
    EXPECT_NE(no_session.error_output.find("--session dead"), std::string::npos);
    const Finished no_folder = perfleet({"export", "--to", "folded", "--data", data_, "-o", folder_ / "a/b"});
    EXPECT_EQ(no_folder.ending.status, 1);
    EXPECT_NE(no_folder.error_output.find("a/b"), std::string::npos);
    const Finished no_server_store = end_to_end::run({program_path("perfleet-query"), "--data", folder_ / "nowhere"});
    EXPECT_EQ(no_server_store.ending.status, 1);
    EXPECT_NE(no_server_store.error_output.find("no perfleet store at"), std::string::npos);
    const Finished remote_server =
        end_to_end::run({program_path("perfleet-query"), "--data", data_, "--listen", "tcp://0.0.0.0:*"});
    EXPECT_EQ(remote_server.ending.status, 2);
    EXPECT_NE(remote_server.error_output.find("this machine only"), std::string::npos);
}

TEST_F(QueryProgram, FailedExportLeavesNothingBehind) {
    const std::string file = folder_ / "out.data";
    const Finished finished = perfleet({"export", "--to", "perf.data", "-o", file, "--data", data_, "--all"});
    EXPECT_EQ(finished.ending.status, 2) << finished.error_output;  // of several targets
    for (const auto& entry : std::filesystem::directory_iterator{folder_.path()}) {
        EXPECT_EQ(entry.path().filename(), "store");
    }
}

TEST_F(QueryProgram, HelpAndVersionAreThere) {
    for (const char* program : {"perfleet", "perfleet-query"}) {
        const Finished version = end_to_end::run({program_path(program), "--version"});
        EXPECT_EQ(version.ending.status, 0);
        EXPECT_EQ(version.output.find(std::string{program} + " "), 0U);
        const Finished help = end_to_end::run({program_path(program), "--help"});
        EXPECT_EQ(help.ending.status, 0);
        EXPECT_NE(help.output.find("--help"), std::string::npos);
    }
    const Finished help = perfleet({"top", "--help"});
    EXPECT_EQ(help.ending.status, 0);
    EXPECT_NE(help.output.find("--by"), std::string::npos);
}

TEST(QueryProgramAlone, EmptyStoreGivesEmptyTables) {
    end_to_end::TemporaryFolder folder;
    const std::string data = folder / "store";
    ASSERT_TRUE(open_store(data).ok());
    for (const char* command :
         {"targets", "sessions", "losses", "top", "tree", "counters", "tracepoints", "kernel-entries", "utilisation"}) {
        const Finished finished = end_to_end::run({program_path("perfleet"), command, "--data", data});
        EXPECT_EQ(finished.ending.status, 0) << command << finished.error_output;
        EXPECT_NE(finished.output.find("rows: 0 produced"), std::string::npos);
    }
}

}  // namespace
}  // namespace perfleet::query_program_test
