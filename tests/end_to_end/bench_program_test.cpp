// `perfleet bench`: from a benchmark's source to the table, and the fate of runs that fail.
#include <gtest/gtest.h>
#include <sched.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::bench_program_test {
namespace {

using Json = nlohmann::json;

class BenchProgram : public testing::Test {
protected:
    [[nodiscard]] static std::string examples() { return workload_path("../benchmark-bin/bench_examples"); }

    [[nodiscard]] std::vector<std::string> words_of(std::vector<std::string> words) const {
        words.insert(words.begin(), {program_path("perfleet"), "bench", "--data", data_, "--format", "json"});
        return words;
    }
    [[nodiscard]] Finished bench(std::vector<std::string> words) const { return run(words_of(std::move(words))); }

    // Of each row the cells by their columns' names.
    [[nodiscard]] static std::vector<std::map<std::string, Json>> rows_of(const std::string& table_text) {
        const Json table = Json::parse(table_text);
        std::vector<std::map<std::string, Json>> rows;
        for (const auto& row : table["rows"]) {
            auto& cells = rows.emplace_back();
            for (std::size_t i = 0; i < row.size(); ++i) {
                cells[table["columns"][i]["name"]] = row[i];
            }
        }
        return rows;
    }

    [[nodiscard]] std::string labels() const {
        return run({program_path("perfleet"), "sessions", "--data", data_, "--format", "json"}).output;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
};

TEST_F(BenchProgram, EveryExampleHasItsLatencies) {
    const std::vector<std::string> names{
        "empty",      "getpid",           "pipe_round_trip", "eventfd_round_trip", "futex_round_trip",
        "hash_table", "zeromq_round_trip"};
    std::vector<std::string> words{"--loops", "200", "--warmup", "10", examples()};
    words.insert(words.end(), names.begin(), names.end());
    const Finished finished = bench(words);
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    std::map<std::string, double> median_ns;
    for (auto& row : rows_of(finished.output)) {
        EXPECT_EQ(row["count"], 200) << row["event"];
        EXPECT_EQ(row["status"], "ok") << row["event"];
        EXPECT_EQ(row["unit"], "ns");
        median_ns[row["event"]] = row["median"].get<double>();
    }
    EXPECT_EQ(median_ns.size(), names.size());
    EXPECT_LT(median_ns["empty"], median_ns["getpid"]) << "a system call";
    EXPECT_LT(median_ns["getpid"], median_ns["pipe_round_trip"]) << "four of them, and two switches";
}

TEST_F(BenchProgram, MoreRowsThanARingHoldsAreAllThere) {
    const Finished finished = bench({"--loops", "200000", "--warmup", "0", "-n", "2", examples(), "empty"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_FALSE(rows_of(finished.output).empty()) << "how the runs differ";
    const Finished latency = run({program_path("perfleet"), "latency", "--all", "--data", data_, "--format", "json"});
    const auto rows = rows_of(latency.output);
    ASSERT_EQ(rows.size(), 2U) << latency.error_output;
    EXPECT_EQ(rows[0].at("count"), 200'000);
    EXPECT_EQ(rows[1].at("count"), 200'000);
}

TEST_F(BenchProgram, ARunThatFailsIsStoredAsFailed) {
    const Finished finished = bench({examples(), "fails"});
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find("one iteration of a thousand"), std::string::npos) << finished.error_output;
    const auto rows = rows_of(finished.output);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("status"), "failed");
    const Finished latency = run({program_path("perfleet"), "latency", "--data", data_});
    EXPECT_NE(latency.error_output.find("is a run that failed"), std::string::npos) << latency.error_output;
}

TEST_F(BenchProgram, AProgramThatEndsEarlyIsAFailedRun) {
    const Finished finished = bench({"/bin/true", "getpid"});
    EXPECT_EQ(finished.ending.status, 1);
    EXPECT_NE(finished.error_output.find("0 rows where 5000 were to come"), std::string::npos) << finished.error_output;
    const Finished unknown = bench({examples(), "no_such_benchmark"});
    EXPECT_EQ(unknown.ending.status, 1);
    EXPECT_NE(unknown.error_output.find("no benchmark of this name"), std::string::npos) << unknown.error_output;
}

TEST_F(BenchProgram, ParametersAreLabelsOfTheRun) {
    const Finished finished = bench(
        {"--loops", "70", "--warmup", "3", "--seed", "9", "--label", "build=mine", "--cpu", "0", examples(), "getpid"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    const Finished chosen = run({program_path("perfleet"), "latency", "--data", data_, "--format", "json", "--select",
                                 R"({loop_count="70",warmup="3 iterations",seed="9",build="mine",cpus="0"})"});
    EXPECT_EQ(rows_of(chosen.output).size(), 1U) << chosen.output << chosen.error_output;
}

TEST_F(BenchProgram, CircleGivesAccumulatedLatenciesToKanataBench) {
    const Finished finished = bench({"--circle", "I=10,D=5,G=4,S=30", examples(), "getpid"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    auto rows = rows_of(finished.output);
    ASSERT_EQ(rows.size(), 4U);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i]["test_size"], 10 + (5 * i));
        EXPECT_EQ(rows[i]["tests"], 30);
        // What is in the table: the sums of N calls.
        EXPECT_GT(rows[i]["mean"].get<double>(), 0);
    }
    const Finished table = run({program_path("perfleet"), "latency", "--table", "--data", data_, "--format", "json"});
    EXPECT_EQ(rows_of(table.output).size(), 30U) << table.output << table.error_output;
}

// The same as every collector's rows: to a gateway, while they are measured.
TEST_F(BenchProgram, RowsStreamToAGateway) {
    Process gateway{{program_path("perfleet-gateway"), "--data", data_, "--listen", "tcp://127.0.0.1:*", "--query",
                     "tcp://127.0.0.1:*"}};
    const auto ready = gateway.wait_for_output("ready ");
    ASSERT_TRUE(ready.has_value()) << gateway.error_output();
    const auto stream = [&](std::vector<std::string> words) {
        words.insert(words.begin(),
                     {program_path("perfleet"), "bench", "--gateway", field_of(*ready, "listen"), "--cpu", "0"});
        return run(words);
    };
    const auto ask = [&](std::vector<std::string> words) {
        words.insert(words.begin(), program_path("perfleet"));
        words.insert(words.end(), {"--gateway", field_of(*ready, "query"), "--format", "json"});
        return run(words);
    };
    const Finished circle = stream({"--circle", "I=10,D=5,G=4,S=30", examples(), "getpid"});
    ASSERT_EQ(circle.ending.status, 0) << circle.error_output;
    EXPECT_NE(circle.error_output.find("perfleet latency --kbench --gateway"), std::string::npos);
    const auto groups = rows_of(ask({"latency", "--kbench", "--session", "last"}).output);
    ASSERT_EQ(groups.size(), 4U);
    EXPECT_EQ(groups[3].at("test_size"), 25);
    EXPECT_EQ(groups[3].at("tests"), 30);
    const Finished each = stream({"--loops", "50000", "--warmup", "0", examples(), "getpid"});
    ASSERT_EQ(each.ending.status, 0) << each.error_output;
    const auto values = rows_of(ask({"latency", "--select", R"({loop_count="50000"})"}).output);
    ASSERT_EQ(values.size(), 1U);
    EXPECT_EQ(values[0].at("count"), 50'000);
    EXPECT_EQ(values[0].at("status"), "ok");
    EXPECT_EQ(values[0].at("event"), "getpid");
    // A failed run is a failed run there, too.
    const Finished fails = stream({examples(), "fails"});
    EXPECT_EQ(fails.ending.status, 1) << fails.error_output;
    const Finished failed = ask({"latency", "--session", "last"});
    EXPECT_EQ(rows_of(failed.output).at(0).at("status"), "failed") << failed.output;
    EXPECT_NE(failed.output.find("is a run that failed: the program ended with status"), std::string::npos)
        << failed.output;
    const Finished short_run = stream({"/bin/true", "getpid"});
    EXPECT_EQ(short_run.ending.status, 1) << short_run.error_output;
}

TEST_F(BenchProgram, ThreadsOfSeveralCpusBeginTogether) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    if (!CPU_ISSET(0, &allowed) || !CPU_ISSET(1, &allowed)) {
        GTEST_SKIP() << "two CPUs are needed";
    }
    const Finished finished = bench({"--loops", "1000", "--cpu", "0-1", examples(), "getpid"});
    ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    EXPECT_EQ(rows_of(finished.output)[0].at("count"), 2'000);
    EXPECT_NE(run({program_path("perfleet"), "latency", "--data", data_, "--select",
                   R"({parallel_start="iterations until all are ready"})"})
                  .output.find("getpid"),
              std::string::npos);
}

TEST_F(BenchProgram, WaitsForItsSignalAndSaysHowItGoes) {
    Process process{words_of({"--wait", "--loops", "100000", "--warmup", "0", examples(), "pipe_round_trip"})};
    const auto waits = process.wait_for_error("perfleet bench: pipe_round_trip: waits for its start");
    ASSERT_TRUE(waits.has_value()) << process.error_output();
    EXPECT_NE(waits->find("kill -USR1 " + std::to_string(process.pid())), std::string::npos) << *waits;
    process.send_signal(SIGUSR1);
    process.send_signal(SIGUSR1);
    for (int i = 0; i < 200 && process.error_output().find(" of 100000 rows") == std::string::npos; ++i) {
        ::usleep(10'000);
        process.send_signal(SIGUSR1);
    }
    EXPECT_NE(process.error_output().find(" of 100000 rows"), std::string::npos) << process.error_output();
    const auto ending = process.wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << process.error_output();
}

TEST_F(BenchProgram, BadUseIsExplained) {
    const auto error_of = [this](std::vector<std::string> words) {
        const Finished finished = bench(std::move(words));
        EXPECT_EQ(finished.ending.status, 2) << finished.error_output;
        return finished.error_output;
    };
    EXPECT_NE(error_of({"--circle", "1,2", examples()}).find("isn't I=30,D=1,G=5,S=30"), std::string::npos);
    EXPECT_NE(error_of({"--circle", "0,1,5", examples()}).find("are 1 at least"), std::string::npos);
    EXPECT_NE(error_of({"--circle", "2000000,1,5", examples()}).find("test sizes up to"), std::string::npos);
    EXPECT_NE(error_of({"--cpu", "4000", examples()}).find("may not run there"), std::string::npos);
    EXPECT_NE(error_of({"/bin/true"}).find("is it written with perfleet/bench.h?"), std::string::npos);
    // A machine for tests is neither isolated nor quiet.
    EXPECT_EQ(bench({"--strict", examples(), "empty"}).ending.status, 1);
}

}  // namespace
}  // namespace perfleet::end_to_end::bench_program_test
