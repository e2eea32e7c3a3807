// A gateway on a store without one of its newest table files: what it reports, stores and answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::lost_table_file_test {
namespace {

namespace fs = std::filesystem;

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};
constexpr std::uint64_t kRuns = 3;
constexpr std::uint64_t kBatchesPerRun = 4;
constexpr std::uint64_t kRowsPerBatch = 2;

class LostTableFile : public testing::Test {
protected:
    // Each run of the gateway leaves a table file.
    void SetUp() override {
        for (std::uint64_t run = 0; run < kRuns; ++run) {
            GatewayProgram gateway = start(data_);
            deliver(gateway, run * kBatchesPerRun + 1, (run + 1) * kBatchesPerRun);
            ASSERT_EQ(gateway.end(SIGTERM).status, 0);
        }
        ASSERT_EQ(start(data_).end(SIGTERM).status, 0);
        for (const auto& entry : fs::directory_iterator{data_}) {
            if (entry.path().extension() == ".sst") {
                files_.push_back(entry.path().filename());
            }
        }
        std::sort(files_.begin(), files_.end());
        ASSERT_EQ(files_.size(), kRuns);
    }

    // Compacted blocks go into table files of their own.
    static GatewayProgram start(const std::string& data) {
        return GatewayProgram{data,
                              "tcp://127.0.0.1:*",
                              "tcp://127.0.0.1:*",
                              program_path("perfleet-gateway"),
                              Process::Options{},
                              {"--no-compaction"}};
    }

    // As a collector that has nothing left of the acknowledged batches.
    static void deliver(GatewayProgram& gateway, std::uint64_t first, std::uint64_t last) {
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            AdmittedBatch batch = sample_batch(kTarget, kSession, Seq{seq}, kBucket);
            batch.record.oldest_retained_seq = first;
            peer.send(sample::resealed_batch(batch));
        }
        peer.wait_for_prefix(last);
    }

    static nlohmann::json asked(const std::vector<std::string>& where, const std::string& command) {
        std::vector<std::string> words{program_path("perfleet"), command, "--format", "json"};
        words.insert(words.end(), where.begin(), where.end());
        const Finished answer = run(words);
        EXPECT_EQ(answer.ending.status, 0) << answer.error_output;
        return nlohmann::json::parse(answer.output);
    }

    // The columns between `lost` and the first that counts something else.
    static void expect_reasons_add_up(const nlohmann::json& losses) {
        for (const auto& row : losses["rows"]) {
            std::uint64_t lost = 0;
            std::uint64_t sum = 0;
            bool is_reason = false;
            for (std::size_t i = 0; i < row.size() && losses["columns"][i]["name"] != "frames_unmapped"; ++i) {
                sum += is_reason ? row[i].get<std::uint64_t>() : 0;
                if (losses["columns"][i]["name"] == "lost") {
                    lost = row[i].get<std::uint64_t>();
                    is_reason = true;
                }
            }
            EXPECT_TRUE(is_reason);
            EXPECT_EQ(sum, lost) << row;
        }
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    std::vector<std::string> files_;  // in the order of the runs
};

TEST_F(LostTableFile, CostsItsRowsAloneAndTheGatewayGoesOn) {
    for (const std::string& file : files_) {
        SCOPED_TRACE(file);
        const std::string data = folder_ / "of-" + file;
        fs::copy(data_, data);
        fs::remove(fs::path{data} / file);
        const std::string perfleet = program_path("perfleet");
        const std::uint64_t rest = (kRuns - 1) * kBatchesPerRun * kRowsPerBatch;

        auto sessions = asked({"--data", data}, "sessions");
        EXPECT_EQ(sessions["ledger"]["stored"], rest) << sessions;
        EXPECT_NE(sessions["warnings"].dump().find(file + " is missing"), std::string::npos) << sessions["warnings"];
        EXPECT_NE(sessions["warnings"].dump().find("perfleet copy"), std::string::npos) << "the way out";
        const Finished inspected = run({perfleet, "inspect", "--verify", "--data", data, "--format", "csv"});
        EXPECT_EQ(inspected.ending.status, 1);
        EXPECT_NE(inspected.output.find(file + ",can't be opened,"), std::string::npos) << inspected.output;

        const auto losses = asked({"--data", data}, "losses");
        expect_reasons_add_up(losses);
        EXPECT_EQ(losses["ledger"]["stored"], rest) << losses;
        EXPECT_EQ(losses["ledger"]["at_least"], true) << "the session has no end";
        const Finished as_json = run({perfleet, "inspect", "--verify", "--data", data, "--format", "json"});
        EXPECT_EQ(nlohmann::json::parse(as_json.output)["ledger"], losses["ledger"]) << as_json.output;

        GatewayProgram gateway = start(data);
        const auto told = gateway.process().wait_for_error("perfleet-gateway: " + data + "/" + file + " is missing");
        ASSERT_TRUE(told.has_value()) << gateway.process().error_output();
        constexpr std::uint64_t kMore = kRuns * kBatchesPerRun + 1;
        deliver(gateway, kMore, kMore);
        sessions = asked({"--gateway", gateway.query()}, "sessions");
        EXPECT_EQ(sessions["ledger"]["produced"], kMore * kRowsPerBatch) << sessions;
        EXPECT_EQ(sessions["ledger"]["stored"], rest + kRowsPerBatch) << sessions;
        EXPECT_EQ(sessions["ledger"]["lost"]["damaged"], kBatchesPerRun * kRowsPerBatch) << sessions;
        EXPECT_EQ(asked({"--gateway", gateway.query()}, "top")["ledger"], sessions["ledger"]);
        const auto with_more = asked({"--gateway", gateway.query()}, "losses");
        expect_reasons_add_up(with_more);
        EXPECT_EQ(with_more["ledger"], sessions["ledger"]);
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);

        const std::string copied = data + "-copied";
        const Finished copying = run({perfleet, "copy", "--data", data, "--to", copied});
        EXPECT_NE(copying.error_output.find(file), std::string::npos) << copying.error_output;
        EXPECT_EQ(asked({"--data", copied}, "sessions")["ledger"]["stored"], rest + kRowsPerBatch);
        EXPECT_EQ(run({perfleet, "inspect", "--verify", "--data", copied}).ending.status, 0);

        fs::copy(fs::path{data_} / file, fs::path{data} / file);
        sessions = asked({"--data", data}, "sessions");
        EXPECT_EQ(sessions["ledger"]["stored"], kMore * kRowsPerBatch) << sessions;
        EXPECT_EQ(run({perfleet, "inspect", "--verify", "--data", data}).ending.status, 0);
        EXPECT_EQ(start(data).end(SIGTERM).status, 0);
    }
}

}  // namespace
}  // namespace perfleet::end_to_end::lost_table_file_test
