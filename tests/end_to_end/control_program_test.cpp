// Operators' requests through `perfleet control` and the gateway's socket to real collectors, and what the store has of
// them afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/session/session_changes.h"
#include "storage/store/open_store.h"
#include "target-collector/wire/testing/held_address.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"

namespace perfleet::end_to_end::control_program_test {
namespace {

constexpr std::uint64_t kPeriodNs = 2'000'000;

class ControlProgram : public testing::Test {
protected:
    // The fate of a request to the target: outcome and reason, and whether the program reported success.
    struct Outcome {
        std::string outcome;
        std::string reason;
        int status = -1;
    };
    Outcome control(const std::vector<std::string>& words, const std::string& target = "board") {
        std::vector<std::string> command{program_path("perfleet"), "control", "--data", data(), "--target", target};
        if (std::find(words.begin(), words.end(), "--wait") == words.end()) {
            command.insert(command.end(), {"--wait", "30"});
        }
        command.insert(command.end(), words.begin(), words.end());
        command.insert(command.end(), {"--format", "json"});
        const Finished finished = run(command);
        if (finished.output.empty()) {
            return {"", finished.error_output, finished.ending.status};
        }
        const auto rows = rows_of(nlohmann::json::parse(finished.output));
        EXPECT_EQ(rows.size(), 1U) << finished.output;
        return {rows.at(0).at("outcome"), rows.at(0).at("reason"), finished.ending.status};
    }
    void expect_applied(const std::vector<std::string>& words) {
        const Outcome outcome = control(words);
        EXPECT_EQ(outcome.outcome, "applied") << outcome.reason;
        EXPECT_EQ(outcome.status, 0);
    }

    std::vector<std::string> collector(const std::vector<std::string>& more) const {
        std::vector<std::string> command{program_path("perfleet-collector"),
                                         "--gateway",
                                         address_.endpoint(),
                                         "--target",
                                         "board",
                                         "-e",
                                         "cpu-clock",
                                         "--jitter",
                                         "0"};
        command.insert(command.end(), more.begin(), more.end());
        return command;
    }

    static void wait_until(const std::function<bool()>& is_so, const char* what) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!is_so()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it never came to be: " << what;
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
        }
    }
    [[nodiscard]] std::string state() const {
        const auto rows = rows_of(perfleet_json({"sessions", "--data", data()}));
        return rows.empty() ? "" : rows.front().at("state").get<std::string>();
    }
    void wait_for_state(const std::string& wanted) {
        wait_until([&] { return state() == wanted; }, wanted.c_str());
    }
    [[nodiscard]] std::uint64_t samples() const {
        std::uint64_t stored = 0;
        for (const auto& row : rows_of(perfleet_json({"losses", "--data", data()}))) {
            stored += row.at("kind") == "sample" ? row.at("stored").get<std::uint64_t>() : 0;
        }
        return stored;
    }
    void wait_for_samples(std::uint64_t count) {
        wait_until([&] { return samples() >= count; }, "enough samples");
    }

    [[nodiscard]] std::string data() const { return folder_ / "data"; }

    TemporaryFolder folder_;
    HeldAddress address_;
};

// Samples of a stored session: when each was taken, and for how much it stands.
std::vector<std::pair<std::uint64_t, std::uint64_t>> stored_samples(const Scan& scan) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> samples;
    RowCursor rows{scan, 0, {Kind::kSample, EventNumber{0}}, {}};
    while (const RowBlock* const block = rows.next()) {
        const auto times = block->rows.integers(ColumnId::kTime);
        const auto weights = block->rows.integers(ColumnId::kWeight);
        for (std::size_t i = 0; i < times.size(); ++i) {
            samples.emplace_back(times[i], weights[i]);
        }
    }
    EXPECT_TRUE(rows.status().ok());
    return samples;
}

TEST_F(ControlProgram, ACollectorStopsStartsAndSamplesOtherwiseAndTheStoreTellsWhen) {
    GatewayProgram gateway{data(), address_.endpoint()};
    Process collecting{collector({"-a", "-F", "999"})};
    wait_for_samples(10);
    EXPECT_EQ(state(), "open");
    expect_applied({"stop"});
    wait_for_state("stopped");
    const Outcome too_fast = control({"--frequency", "1000000000"});
    EXPECT_EQ(too_fast.outcome, "refused");
    EXPECT_NE(too_fast.reason.find("Hz"), std::string::npos) << too_fast.reason;
    EXPECT_EQ(too_fast.status, 1);
    const Outcome unknown = control({"stop", "--event", "cycles"});
    EXPECT_EQ(unknown.outcome, "refused");
    EXPECT_EQ(unknown.reason, "its events are cpu-clock");
    // It stays stopped with another rate, even after the gateway is killed.
    expect_applied({"--period", std::to_string(kPeriodNs), "--event", "cpu-clock"});
    gateway.end(SIGKILL);
    GatewayProgram restarted{data(), address_.endpoint()};
    EXPECT_EQ(state(), "stopped");
    const std::uint64_t before = samples();
    Outcome started;
    wait_until([&] { return (started = control({"start"})).outcome != "not connected"; }, "connected again");
    EXPECT_EQ(started.outcome, "applied") << started.reason;
    wait_for_state("open");
    wait_for_samples(before + 10);
    collecting.send_signal(SIGINT);
    EXPECT_EQ(collecting.wait()->status, 0);
    EXPECT_EQ(control({"stop"}).status, 1) << "nobody is there any more";
    EXPECT_EQ(restarted.end(SIGTERM).status, 0);

    const auto store = open_store_reader(data());
    ASSERT_TRUE(store.ok());
    const auto scan = Scan::open(**store, {});
    ASSERT_TRUE(scan.ok());
    const auto changes = read_changes(*scan, 0);
    ASSERT_TRUE(changes.ok());
    ASSERT_EQ(changes->size(), 3U) << "stop, period, start: each once";
    std::set<std::uint64_t> weights_before;
    std::set<std::uint64_t> weights_after;
    for (const auto& [time, weight] : stored_samples(*scan)) {
        const bool is_before = time <= changes->at(0).time.value;
        EXPECT_TRUE(is_before || time >= changes->at(2).time.value) << "while it was stopped";
        (is_before ? weights_before : weights_after).insert(weight);
    }
    EXPECT_FALSE(weights_before.contains(kPeriodNs));
    EXPECT_FALSE(weights_before.empty());
    EXPECT_EQ(weights_after, std::set<std::uint64_t>{kPeriodNs});
    const auto rows = rows_of(perfleet_json({"controls", "--data", data()}));
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[1].at("command"), "period");
    EXPECT_EQ(rows[1].at("event"), "cpu-clock");
    EXPECT_EQ(rows[1].at("value"), kPeriodNs);
    EXPECT_EQ(rows[2].at("event"), "all");
}

// What waits in the rings when the rate changes keeps its own weight.
TEST_F(ControlProgram, SamplesWeighWhatTheyStandForWhileTheRateChanges) {
    GatewayProgram gateway{data(), address_.endpoint()};
    Process collecting{collector({"-a", "-c", "1000000"})};
    wait_for_samples(10);
    for (int i = 0; i < 5; ++i) {
        expect_applied({"--frequency", "500"});
        expect_applied({"--period", "3000000"});
    }
    wait_for_samples(samples() + 10);
    collecting.send_signal(SIGINT);
    EXPECT_EQ(collecting.wait()->status, 0);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto store = open_store_reader(data());
    const auto scan = Scan::open(**store, {});
    const auto changes = read_changes(*scan, 0);
    ASSERT_EQ(changes->size(), 10U);
    for (const auto& [time, weight] : stored_samples(*scan)) {
        if (time <= changes->front().time.value) {
            EXPECT_EQ(weight, 1'000'000U);
        } else if (time > changes->back().time.value + 1'000'000'000) {
            EXPECT_EQ(weight, 3'000'000U);
        } else {
            EXPECT_TRUE((std::set<std::uint64_t>{1'000'000, 2'000'000, 3'000'000}.contains(weight))) << weight;
        }
    }
    for (const auto& row : rows_of(perfleet_json({"losses", "--data", data()}))) {
        EXPECT_EQ(row.at("malformed"), 0U) << row << ": of a descriptor that was closed too early";
    }
}

TEST_F(ControlProgram, WhoDoesNotAnswerOrIsNotThereIsTold) {
    GatewayProgram gateway{data(), address_.endpoint()};
    Process collecting{collector({"-a", "-F", "99"})};
    wait_for_samples(1);
    collecting.send_signal(SIGSTOP);
    const Outcome hanging = control({"stop", "--wait", "1"});
    EXPECT_EQ(hanging.outcome, "no answer");
    EXPECT_EQ(hanging.reason, "none within 1 s; it may have been applied");
    EXPECT_EQ(hanging.status, 1);
    collecting.send_signal(SIGCONT);
    expect_applied({"stop"});
    wait_for_state("stopped");
    collecting.send_signal(SIGKILL);
    ASSERT_TRUE(collecting.wait().has_value());
    wait_until([&] { return control({"stop", "--wait", "1"}).outcome == "not connected"; }, "noticed");
    EXPECT_EQ(control({"stop"}, "nobody").status, 1);
    gateway.end(SIGTERM);
    const Outcome alone = control({"stop"});
    EXPECT_EQ(alone.status, 1);
    EXPECT_NE(alone.reason.find("no gateway serves"), std::string::npos) << alone.reason;
}

// Events of processes are inherited by their children, and there the kernel changes no rate.
TEST_F(ControlProgram, ARecordingOfAProgramStopsAndStartsButKeepsItsRate) {
    Process recording{{program_path("perfleet"), "record", "--data", data(), "--target", "board", "-e", "cpu-clock",
                       "-F", "999", "--", workload_path("getppid_workload"), "1000000000"}};
    wait_until([&] { return std::filesystem::exists(data() + "/control.sock"); }, "the store and its socket");
    wait_for_samples(10);
    const Outcome rate = control({"--period", "5000000"});
    EXPECT_EQ(rate.outcome, "refused");
    EXPECT_NE(rate.reason.find("forked"), std::string::npos) << rate.reason;
    expect_applied({"stop"});
    wait_for_state("stopped");
    const std::uint64_t before = samples();
    expect_applied({"start"});
    wait_for_samples(before + 10);
    recording.send_signal(SIGINT);
    EXPECT_TRUE(recording.wait().has_value());
    EXPECT_EQ(state(), "ended");
}

}  // namespace
}  // namespace perfleet::end_to_end::control_program_test
