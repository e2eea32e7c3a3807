// perfleet sessions name, rm and gc as users run them, on recordings of real programs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::sessions_program_test {
namespace {

using nlohmann::json;

class SessionsProgram : public testing::Test {
protected:
    [[nodiscard]] Finished perfleet(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        return run(arguments);
    }

    // Records so many calls.
    void record(int calls) const {
        const Finished finished =
            perfleet({"record", "-q", "--data", data_, "--exit-wait", "60", "-e", "syscalls:sys_enter_getppid", "--",
                      workload_path("getppid_workload"), std::to_string(calls)});
        ASSERT_EQ(finished.ending.status, 0) << finished.error_output;
    }

    [[nodiscard]] json answer(std::vector<std::string> arguments) const {
        arguments.insert(arguments.end(), {"--data", data_, "--format", "json"});
        const Finished finished = perfleet(arguments);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished.ending.status == 0 ? json::parse(finished.output) : json{};
    }

    // A column of an answer's rows.
    static std::vector<json> column(const json& answer, const std::string& name) {
        std::vector<json> values;
        for (std::size_t i = 0; i < answer["columns"].size(); ++i) {
            for (const json& row : answer["rows"]) {
                if (answer["columns"][i]["name"] == name) {
                    values.push_back(row[i]);
                }
            }
        }
        return values;
    }

    [[nodiscard]] std::vector<json> ids() const { return column(answer({"sessions"}), "session"); }

    static void expect_explained(const json& answer) {
        const json& ledger = answer["ledger"];
        std::uint64_t explained = ledger["stored"].get<std::uint64_t>() + ledger["expired"].get<std::uint64_t>();
        for (const auto& [reason, rows] : ledger["lost"].items()) {
            explained += rows.get<std::uint64_t>();
        }
        EXPECT_EQ(ledger["produced"], explained) << ledger;
    }

    [[nodiscard]] std::uint64_t size_of_data() const {
        std::uint64_t sum = 0;
        for (const auto& file : std::filesystem::recursive_directory_iterator{data_}) {
            sum += file.is_regular_file() ? file.file_size() : 0;
        }
        return sum;
    }

    const TemporaryFolder folder_;
    const std::string data_ = folder_ / "data";
};

TEST_F(SessionsProgram, RemovesARecordingAndFreesItsSpace) {
    record(1'000);
    record(500'000);
    record(2'000);
    const std::vector<json> before = ids();
    ASSERT_EQ(before.size(), 3U);
    const std::uint64_t produced = answer({"losses"})["ledger"]["produced"];
    const std::uint64_t size_before = size_of_data();

    const json shown = answer({"sessions", "rm", "--dry-run", before[1].get<std::string>().substr(0, 10)});
    EXPECT_NE(column(shown, "command").front().get<std::string>().find("getppid"), std::string::npos) << shown;
    EXPECT_EQ(column(shown, "age").size(), 1U);
    EXPECT_EQ(shown["ledger"]["expired"], 0) << "nothing is removed";
    EXPECT_EQ(column(answer({"sessions", "--limit", "2"}), "session"),
              (std::vector<json>{before.end() - 2, before.end()}));
    const json removed = answer({"sessions", "rm", before[1].get<std::string>().substr(0, 10)});
    EXPECT_EQ(column(removed, "session"), std::vector{before[1]});
    const std::uint64_t rows = column(removed, "rows")[0];
    const std::uint64_t size_bytes = column(removed, "size")[0];
    EXPECT_GT(rows, 100'000U) << "a busy machine loses many";
    EXPECT_GT(size_bytes, rows / 2);
    EXPECT_LT(size_of_data(), size_before - size_bytes * 3 / 4) << size_bytes << " of " << size_before;

    const json sessions = answer({"sessions"});
    EXPECT_EQ(column(sessions, "session"), (std::vector{before[0], before[2]}));
    EXPECT_EQ(sessions["ledger"]["expired"], rows);
    const json losses = answer({"losses"});
    EXPECT_EQ(losses["ledger"]["produced"], produced);
    EXPECT_EQ(losses["ledger"]["expired"], rows);
    expect_explained(losses);
    const Finished gone = perfleet({"tracepoints", "--data", data_, "--session", before[1].get<std::string>()});
    EXPECT_EQ(gone.ending.status, 1);
    EXPECT_NE(gone.error_output.find("was removed"), std::string::npos) << gone.error_output;
    EXPECT_EQ(perfleet({"inspect", "--verify", "--data", data_}).ending.status, 0);

    record(1'000);
    EXPECT_EQ(ids().size(), 3U) << "and recording goes on";
    EXPECT_EQ(perfleet({"sessions", "rm", "--data", data_, "last", "zzz"}).ending.status, 2);
    EXPECT_EQ(ids().size(), 3U) << "one that isn't there: none is removed";
    EXPECT_EQ(column(answer({"sessions", "rm", "last", "last~1", "last~2"}), "session").size(), 3U);
    EXPECT_TRUE(ids().empty());
    expect_explained(answer({"losses"}));
}

// An option before the subcommand applies to it, or is refused: never is another store taken in its place.
TEST_F(SessionsProgram, ChangesNoOtherStoreThanTheOneThatIsNamed) {
    record(1'000);
    const Process::Options at_home{
        .environment = {"XDG_DATA_HOME=" + folder_.path().string()}, .folder = {}, .user = {}};
    std::filesystem::create_directory_symlink(data_, folder_ / "perfleet");  // the default store
    const auto status = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        return run(arguments, at_home).ending.status;
    };
    for (const std::vector<std::string>& change : {std::vector<std::string>{"sessions", "-i", "any.data", "rm", "last"},
                                                   {"symbols", "-i", "any.data", "prune"}}) {
        EXPECT_EQ(status(change), 2) << change[0];
    }
    EXPECT_EQ(ids().size(), 1U);
    EXPECT_EQ(status({"symbols", "--data", folder_ / "nowhere", "prune"}), 1);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "nowhere"));
    EXPECT_EQ(status({"symbols", "--data", folder_ / "nowhere", "list"}), 1);
    EXPECT_EQ(status({"symbols", "prune"}), 0);
}

TEST_F(SessionsProgram, FindsARecordingByItsName) {
    record(1'000);
    record(2'000);
    const std::vector<json> all = ids();
    ASSERT_EQ(all.size(), 2U);
    const Finished named = perfleet({"sessions", "--data", data_, "name", "last~1", "before the patch"});
    EXPECT_EQ(named.ending.status, 0) << named.error_output;
    EXPECT_NE(named.error_output.find("is named before the patch"), std::string::npos) << named.error_output;
    EXPECT_EQ(column(answer({"sessions"}), "name"), (std::vector<json>{"before the patch", nullptr}));
    const json counted = answer({"losses", "--session", "before the patch"});
    for (const json& session : column(counted, "session")) {
        EXPECT_EQ(session, all[0]);
    }
    EXPECT_EQ(perfleet({"record", "-q", "--data", data_, "--name", "after it", "-e", "cpu-clock", "--", "true"})
                  .ending.status,
              0);
    EXPECT_EQ(column(answer({"sessions"}), "name"), (std::vector<json>{"before the patch", nullptr, "after it"}));
    EXPECT_EQ(perfleet({"record", "--data", data_, "--name", "last", "--", "true"}).ending.status, 2);
    EXPECT_EQ(perfleet({"sessions", "name", "--data", data_, "last", "last"}).ending.status, 2);
    EXPECT_EQ(perfleet({"sessions", "name", "--data", data_, "before the patch", ""}).ending.status, 0);
    EXPECT_EQ(perfleet({"losses", "--data", data_, "--session", "before the patch"}).ending.status, 2);
    EXPECT_EQ(perfleet({"sessions", "rm", "--data", folder_ / "nothing", "last"}).ending.status, 1);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "nothing"));
}

TEST_F(SessionsProgram, KeepsTheNewestRecordingsBelowASize) {
    for (int i = 0; i < 4; ++i) {
        record(200'000);
    }
    const std::vector<json> all = ids();
    ASSERT_EQ(all.size(), 4U);
    const std::uint64_t size = size_of_data();
    const json listed = answer({"sessions", "gc", "--keep-last", "3", "--dry-run"});
    EXPECT_EQ(column(listed, "session"), std::vector{all[0]});
    EXPECT_EQ(ids().size(), 4U);
    const std::uint64_t one = column(listed, "size")[0];

    // The first has to go, and the second by a half.
    const std::string keep = std::to_string((size - one - one / 2) / 1024) + "k";
    EXPECT_EQ(column(answer({"sessions", "gc", "--keep", keep}), "session"), (std::vector{all[0], all[1]}));
    EXPECT_EQ(ids(), (std::vector{all[2], all[3]}));
    EXPECT_LE(size_of_data(), size - one - one / 2);
    EXPECT_TRUE(column(answer({"sessions", "gc", "--keep", keep, "--keep", "30d"}), "session").empty());
    EXPECT_EQ(column(answer({"sessions", "gc", "--keep", "0h"}), "session"), std::vector{all[2]}) << "the last stays";
    for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
             {}, {"--keep", "10"}, {"--keep", "g"}, {"--keep", "-1d"}, {"--keep", "99999999999999999999g"}}) {
        std::vector<std::string> command{"sessions", "gc", "--data", data_};
        command.insert(command.end(), wrong.begin(), wrong.end());
        EXPECT_EQ(perfleet(command).ending.status, 2);
    }
    expect_explained(answer({"losses"}));
}

TEST_F(SessionsProgram, ChangesSessionsThroughTheGatewayThatWrites) {
    record(1'000);
    record(2'000);
    const std::vector<json> all = ids();
    GatewayProgram gateway{data_};
    EXPECT_EQ(perfleet({"sessions", "name", "--data", data_, "last~1", "a"}).ending.status, 0);
    EXPECT_EQ(column(answer({"sessions"}), "name"), (std::vector<json>{"a", nullptr}));
    EXPECT_EQ(column(answer({"sessions", "rm", "a"}), "session"), std::vector{all[0]});
    EXPECT_EQ(ids(), std::vector{all[1]});
    expect_explained(answer({"losses"}));

    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(ids(), std::vector{all[1]});
    EXPECT_EQ(perfleet({"inspect", "--verify", "--data", data_}).ending.status, 0);
}

// A recorder that writes accepts requests, too; its own recording stays.
TEST_F(SessionsProgram, ChangesSessionsWhileARecorderWrites) {
    record(1'000);
    const std::vector<json> all = ids();
    Process recording({program_path("perfleet"), "record", "--data", data_, "-e", "cpu-clock", "--", "sh", "-c",
                       "echo started; while :; do :; done"});
    ASSERT_TRUE(recording.wait_for_output("started").has_value());
    while (ids().size() < 2) {
        usleep(20'000);
    }
    EXPECT_EQ(column(answer({"sessions", "rm", all[0]}), "session"), all);
    const Finished refused = perfleet({"sessions", "rm", "--data", data_, "last"});
    EXPECT_EQ(refused.ending.status, 1);
    EXPECT_NE(refused.error_output.find("--force"), std::string::npos) << refused.error_output;
    EXPECT_EQ(perfleet({"sessions", "rm", "--data", data_, "last", "--force"}).ending.status, 0);
    recording.send_signal(SIGINT);
    ASSERT_TRUE(recording.wait().has_value());
    EXPECT_TRUE(ids().empty());
    const json losses = answer({"losses"});
    EXPECT_EQ(losses["ledger"]["stored"], 0);
    expect_explained(losses);
}

// The profile doesn't disappear because something else was measured since.
TEST_F(SessionsProgram, TheLastIsThatOfWhatIsAsked) {
    const auto said = [&](const std::vector<std::string>& arguments) {
        std::vector<std::string> all{arguments};
        all.insert(all.end(), {"--data", data_});
        const Finished finished = perfleet(all);
        EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
        return finished.error_output.substr(0, finished.error_output.find('\n')) + "\n" + finished.output;
    };
    record(50);
    const std::string recorded = ids().back();
    const Finished nothing = perfleet({"latency", "--session", "last", "--data", data_});
    EXPECT_EQ(nothing.ending.status, 1);
    EXPECT_NE(nothing.error_output.find("of 1 session none measures times"), std::string::npos) << nothing.error_output;
    ASSERT_EQ(perfleet({"compare", "--data", data_, "-n", "2", "--", "true", ":::", "true"}).ending.status, 0);
    const Finished listed = perfleet({"sessions", "--data", data_, "--format", "csv"});
    EXPECT_EQ(listed.output.find("import"), std::string::npos) << listed.output;
    EXPECT_NE(listed.output.find(",true,"), std::string::npos) << "the command that was compared:\n" << listed.output;
    const std::string top = said({"top"});
    EXPECT_EQ(top.find("perfleet: session " + recorded.substr(0, 8) + ", "), 0U) << top;
    EXPECT_NE(top.find(" ago: " + workload_path("getppid_workload").substr(0, 5)), std::string::npos) << top;
    EXPECT_NE(top.find("; passes over 4 newer of other kinds (of 5 sessions; --all: every one)\n"), std::string::npos)
        << top;
    EXPECT_NE(top.find("getppid"), std::string::npos) << top;
    EXPECT_EQ(said({"tracepoints"}).find("perfleet: session " + recorded.substr(0, 8)), 0U);
    ASSERT_EQ(perfleet({"record", "-q", "--data", data_, "-F", "1", "--", "true"}).ending.status, 0);
    const Finished empty = perfleet({"top", "--data", data_});
    EXPECT_NE(empty.error_output.find("what ran was too short for a sample"), std::string::npos) << empty.error_output;
    EXPECT_EQ(said({"top", "--session", "last~1"}).find("perfleet: session " + recorded.substr(0, 8)), 0U);
}

}  // namespace
}  // namespace perfleet::end_to_end::sessions_program_test
