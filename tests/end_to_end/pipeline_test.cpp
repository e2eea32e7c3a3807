// The main jobs on real input: from a running program to `perfleet top` and `perf report`.
#include "tests/end_to_end/pipeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {
namespace {

using nlohmann::json;

constexpr std::uint64_t kCalls = 1'000'000;
constexpr std::uint64_t kRingCalls = 10'000;  // a ring of the kernel's holds some more of them

class PipelineTest : public testing::Test {
protected:
    std::vector<std::string> collector(const std::string& gateway, std::vector<std::string> options) {
        options.insert(options.begin(),
                       {program_path("perfleet-collector"), "--gateway", gateway, "--exit-wait", "60"});
        return options;
    }

    // Exports the store and checks perf's counts against top's. If perf shows a name it must be ours.
    void expect_perf_report_agrees(const json& top) {
        const std::string file = folder_ / "perf.data";
        (void)perfleet({"export", "--to", "perf.data", "-o", file, "--data", store()});
        const auto theirs = perf_report_counts(file, folder_.path().string(), !top.at("ledger").at("lost").empty());
        const auto ours = top_counts(top);
        const auto sum = [](const auto& counts) {
            return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                                   [](std::uint64_t total, const auto& entry) { return total + entry.second; });
        };
        EXPECT_EQ(sum(theirs), sum(ours));
        EXPECT_EQ(sum(ours), top.at("ledger").at("stored").get<std::uint64_t>());
        for (const auto& [key, count] : theirs) {
            if (key.second.rfind("0x", 0) == 0) {
                continue;  // perf has no name for it; ours is [image]
            }
            const auto found = ours.find(key);
            ASSERT_NE(found, ours.end()) << key.first << " " << key.second << " " << count;
            EXPECT_EQ(found->second, count) << key.first << " " << key.second;
        }
    }

    // Every call is a row, stored or lost with a reason; the kernel's own counter is the witness.
    void expect_every_call_accounted_for() {
        const json losses = perfleet_json({"losses", "--data", store()});
        expect_ledger_adds_up(losses);
        std::uint64_t produced = 0;
        std::uint64_t accounted = 0;
        for (const json& row : rows_of(losses)) {
            if (row.at("kind") == "tracepoint") {
                produced += row.at("produced").get<std::uint64_t>();
                for (const char* part : {"stored", "expired", "pending", "lost"}) {
                    accounted += row.at(part).get<std::uint64_t>();
                }
            }
        }
        EXPECT_EQ(produced, kCalls) << losses.dump();
        EXPECT_EQ(accounted, kCalls) << losses.dump();

        const json counters = perfleet_json({"counters", "--data", store()});
        std::uint64_t counted = 0;
        for (const json& row : rows_of(counters)) {
            if (row.at("event") == "syscalls:sys_enter_getppid") {
                counted += row.at("value").get<std::uint64_t>();
            }
        }
        EXPECT_EQ(counted, kCalls) << counters.dump();
    }

    [[nodiscard]] std::uint64_t stored_calls() {
        const json top = perfleet_json({"top", "--event", "syscalls:sys_enter_getppid", "--data", store()});
        return top.at("ledger").at("stored").get<std::uint64_t>();
    }

    [[nodiscard]] std::string store() const { return folder_ / "store"; }

    TemporaryFolder folder_;
};

TEST_F(PipelineTest, KnownSharesOfThreeFunctionsAppearInTopAndInPerfReport) {
    GatewayProgram gateway{store(), "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    const Finished collected =
        run(collector(gateway.listen(), {"-g", "-F", "999", "--", workload_path("shares_workload"), "3"}));
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;

    // Queried over the network, and from the folder beside the live gateway: the same.
    const json top = perfleet_json({"top", "--gateway", gateway.query()});
    EXPECT_EQ(top, perfleet_json({"top", "--data", store()}));
    expect_ledger_adds_up(top);
    std::map<std::string, double> samples;
    double loop = 0;
    double loop_percent = 0;
    for (const json& row : rows_of(top)) {
        const std::string symbol = row.at("symbol").get<std::string>();
        if (symbol.rfind("work_", 0) == 0) {
            samples[symbol] = row.at("self_samples").get<double>();
            loop += samples[symbol];
            loop_percent += row.at("self_percent").get<double>();
        }
    }
    EXPECT_GT(loop_percent, 60.0) << top.dump();  // the rest is the kernel's, which a busy machine has more of
    // More than 5.5 standard deviations off by chance, in one of the three: once in ten million runs.
    const auto expect_share = [&](const std::string& symbol, double share) {
        EXPECT_NEAR(samples[symbol] / loop, share, 5.5 * std::sqrt(share * (1 - share) / loop)) << top.dump();
    };
    expect_share("work_a", 0.7);
    expect_share("work_b", 0.2);
    expect_share("work_c", 0.1);
    expect_perf_report_agrees(top);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
}

// Functions that a program makes in memory while it is watched, and memory that is used again for another.
TEST_F(PipelineTest, CodeMadeAtRunTimeHasItsNames) {
    GatewayProgram gateway{store()};
    const Finished collected =
        run(collector(gateway.listen(), {"-g", "-F", "999", "--", workload_path("code_maker_workload"), "6"}));
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    const json top = perfleet_json({"top", "--data", store()});
    expect_ledger_adds_up(top);
    std::map<std::string, double> samples;
    double made = 0;
    double made_percent = 0;
    for (const json& row : rows_of(top)) {
        if (row.at("image") == "[JIT]") {
            samples[row.at("symbol").get<std::string>()] = row.at("self_samples").get<double>();
            made += row.at("self_samples").get<double>();
            made_percent += row.at("self_percent").get<double>();
        }
    }
    EXPECT_GT(made_percent, 60.0) << top.dump();
    EXPECT_NEAR(samples["made_a"] / made, 0.7, 5.5 * std::sqrt(0.7 * 0.3 / made)) << top.dump();
    // 15 % each; but the collector finds the start of the second half only when it looks.
    EXPECT_GT(samples["made b (early.js:1)"] / made, 0.05) << top.dump();
    EXPECT_GT(samples["made c"] / made, 0.05) << top.dump();
    EXPECT_EQ(samples.size(), 3U) << top.dump();

    const std::string file = folder_ / "folded";
    (void)perfleet({"export", "--to", "folded", "-o", file, "--data", store()});
    std::ifstream folded{file};
    const std::string text{std::istreambuf_iterator<char>{folded}, {}};
    EXPECT_NE(text.find(";made b (early.js:1) "), std::string::npos) << text;
}

TEST_F(PipelineTest, LibrarySymbolsOfDebiansXzAppear) {
    const std::string file = folder_ / "text";
    {
        std::mt19937_64 random{1};
        std::ofstream text{file};
        for (int line = 0; line < 100'000; ++line) {
            text << "line " << random() % 100'000 << " of a text that compresses somewhat\n";
        }
    }
    GatewayProgram gateway{store()};
    const Finished collected =
        run(collector(gateway.listen(), {"-g", "-F", "999", "--", "/usr/bin/xz", "-6", "-T1", "-k", file}));
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    EXPECT_TRUE(std::filesystem::exists(file + ".xz"));

    const json top = perfleet_json({"top", "--data", store()});
    expect_ledger_adds_up(top);
    std::uint64_t in_library = 0;
    std::uint64_t all = 0;
    for (const json& row : rows_of(top)) {
        all += row.at("self_samples").get<std::uint64_t>();
        if (row.at("image").get<std::string>().rfind("liblzma.so", 0) == 0) {
            in_library += row.at("self_samples").get<std::uint64_t>();
        }
    }
    EXPECT_GT(in_library * 2, all) << top.dump();
    expect_perf_report_agrees(top);
}

TEST_F(PipelineTest, EveryOneOfAMillionCallsIsStoredOrLostWithAReason) {
    GatewayProgram gateway{store()};
    const Finished collected =
        run(collector(gateway.listen(), {"-e", "syscalls:sys_enter_getppid", "-c", "1", "--",
                                         workload_path("getppid_workload"), std::to_string(kCalls)}));
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    expect_every_call_accounted_for();
    // However late the collector reads them, the first ones are in the ring.
    EXPECT_GE(stored_calls(), kRingCalls);
}

TEST_F(PipelineTest, OfATinyKernelRingEveryCallIsStoredOrLostWithAReason) {
    GatewayProgram gateway{store()};
    const Finished collected =
        run(collector(gateway.listen(), {"-e", "syscalls:sys_enter_getppid", "-c", "1", "--ring-pages", "1", "--",
                                         workload_path("getppid_workload"), std::to_string(kCalls)}));
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    expect_every_call_accounted_for();
}

// From braces on the command line to a ratio of one time, and to perf.
TEST_F(PipelineTest, AGroupIsCountedAllOrNoneAndPerfFindsIt) {
    GatewayProgram gateway{store(), "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    const Finished collected =
        run(collector(gateway.listen(), {"-e", "{task-clock,page-faults,context-switches}:uk,cpu-clock", "--",
                                         workload_path("shares_workload"), "1"}));
    ASSERT_EQ(collected.ending.status, 0) << collected.error_output;
    const json counters = perfleet_json({"counters", "--gateway", gateway.query()});
    EXPECT_EQ(counters, perfleet_json({"counters", "--data", store()}));
    std::map<std::string, json> by_event;
    for (const json& row : rows_of(counters)) {
        by_event[row.at("event").get<std::string>()] = row;
    }
    ASSERT_EQ(by_event.size(), 4U) << counters.dump();
    const json& leader = by_event.at("task-clock:uk");
    for (const char* event : {"page-faults:uk", "context-switches:uk"}) {
        const json& row = by_event.at(event);
        EXPECT_EQ(row.at("group"), 1);
        EXPECT_EQ(row.at("time_running_ns"), leader.at("time_running_ns"));
        EXPECT_DOUBLE_EQ(row.at("per_leader").get<double>(),
                         row.at("value").get<double>() / leader.at("value").get<double>());
    }
    EXPECT_TRUE(leader.at("per_leader").is_null());
    EXPECT_TRUE(by_event.at("cpu-clock").at("group").is_null());

    const json ratio = rows_of(perfleet_json({"counters", "--gateway", gateway.query(), "--ratio",
                                              "page-faults:uk/context-switches:uk"}))
                           .at(0);
    EXPECT_EQ(ratio.at("value"), by_event.at("page-faults:uk").at("value"));
    EXPECT_EQ(ratio.at("per_value"), by_event.at("context-switches:uk").at("value"));
    const Finished refused =
        run({program_path("perfleet"), "counters", "--data", store(), "--ratio", "task-clock:uk/cpu-clock"});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find("-e '{task-clock:uk,cpu-clock}'"), std::string::npos) << refused.error_output;

    const std::string events = rows_of(perfleet_json({"sessions", "--data", store()})).at(0).at("events");
    EXPECT_EQ(events, "{task-clock:uk,page-faults:uk,context-switches:uk},cpu-clock");
    const std::string file = folder_ / "perf.data";
    (void)perfleet({"export", "--to", "perf.data", "-o", file, "--data", store()});
    const Finished listed = run({"perf", "evlist", "-g", "-i", file});
    EXPECT_EQ(listed.output, events.substr(0, events.find("},") + 1) + "\ncpu-clock\n") << listed.error_output;
}

// A newcomer's first command: no server, no folder named.
TEST_F(PipelineTest, RecordShowsWhereTheTimeWentAndWhatToTryNext) {
    Process::Options options;
    options.environment = {"XDG_DATA_HOME=" + folder_.path().string()};
    const Finished recorded =
        run({program_path("perfleet"), "record", "-g", "--", workload_path("shares_workload"), "1"}, options);
    EXPECT_EQ(recorded.ending.status, 0) << recorded.error_output;
    EXPECT_NE(recorded.error_output.find("work_a"), std::string::npos) << recorded.error_output;
    EXPECT_NE(recorded.error_output.find("\nNext: perfleet export"), std::string::npos) << recorded.error_output;
    EXPECT_NE(recorded.error_output.find("all acknowledged"), std::string::npos) << recorded.error_output;

    // A second recording joins the first; `--session last` is the second alone.
    EXPECT_EQ(run({program_path("perfleet"), "record", "--", "/bin/true"}, options).ending.status, 0);
    const std::string data = folder_ / "perfleet";
    const json sessions = perfleet_json({"sessions", "--data", data});
    EXPECT_EQ(sessions.at("rows").size(), 2U) << sessions.dump();
    EXPECT_EQ(perfleet_json({"sessions", "--data", data, "--session", "last"}).at("rows").size(), 1U);
}

// Without -F and -c: each call is a row, however many there are a second.
TEST_F(PipelineTest, RecordTakesEveryOneOfATracepoint) {
    constexpr std::uint64_t kFewCalls = 20'000;
    const Finished recorded =
        run({program_path("perfleet"), "record", "--data", store(), "-e", "syscalls:sys_enter_getppid", "--",
             workload_path("getppid_workload"), std::to_string(kFewCalls)});
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    std::uint64_t produced = 0;
    for (const json& row : rows_of(perfleet_json({"losses", "--data", store()}))) {
        if (row.at("event") == "syscalls:sys_enter_getppid" && row.at("kind") == "tracepoint") {
            produced += row.at("produced").get<std::uint64_t>();
        }
    }
    EXPECT_EQ(produced, kFewCalls);
}

TEST_F(PipelineTest, RecordSaysWhatIsWrong) {
    const auto record = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {program_path("perfleet"), "record", "--data", store()});
        return run(arguments);
    };
    const Finished without_command = record({});
    EXPECT_EQ(without_command.ending.status, 2);
    EXPECT_NE(without_command.error_output.find("say what to profile"), std::string::npos)
        << without_command.error_output;
    const Finished unknown_event = record({"-e", "no-such-event", "--", "/bin/true"});
    EXPECT_EQ(unknown_event.ending.status, 2);
    EXPECT_NE(unknown_event.error_output.find("no-such-event"), std::string::npos) << unknown_event.error_output;
    EXPECT_EQ(record({"--", "/no/such/program"}).ending.status, 127);
    std::ofstream{folder_ / "file"} << "not a folder";
    const Finished on_a_file = run({program_path("perfleet"), "record", "--data", folder_ / "file", "--", "/bin/true"});
    EXPECT_EQ(on_a_file.ending.status, 1);
    EXPECT_NE(on_a_file.error_output.find("file"), std::string::npos) << on_a_file.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end
