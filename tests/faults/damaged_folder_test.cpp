// Messages about a damaged folder.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/metrics/testing/scrape.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::damaged_folder_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBatches = 200;  // many table blocks
constexpr Seq kDamaged{150};
constexpr std::uint64_t kRowsPerBatch = 1'000;

// The bytes of a batch's block in the one table file, flipped in the middle; the file's name.
std::string damage_block(const std::string& data, Seq seq) {
    const std::string block = test_writer::batch(seq).series[0].block;
    for (const auto& entry : fs::directory_iterator{data}) {
        if (entry.path().extension() != ".sst") {
            continue;
        }
        std::ifstream in{entry.path(), std::ios::binary};
        std::string bytes{std::istreambuf_iterator<char>{in}, {}};
        const std::size_t at = bytes.find(block);
        if (at != bytes.npos) {
            bytes[at + block.size() / 2] = static_cast<char>(bytes[at + block.size() / 2] ^ 1);
            std::ofstream{entry.path(), std::ios::binary} << bytes;
            return entry.path().filename();
        }
    }
    ADD_FAILURE() << "the block is in no table file";
    return "";
}

TEST(DamagedFolder, IsInspectedAndStillAnswers) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    {
        auto store = open_store(data);
        ASSERT_TRUE(store.ok());
        ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
        for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
            const std::vector batches{test_writer::batch(Seq{seq})};
            ASSERT_TRUE((*store)->put(test_writer::partition(), batches).ok());
        }
    }
    ASSERT_TRUE(open_store(data).ok());  // its log becomes a table file
    const std::string perfleet = program_path("perfleet");

    Finished inspected = run({perfleet, "inspect", "--data", data, "--format", "csv"});
    EXPECT_EQ(inspected.ending.status, 0) << inspected.error_output;
    EXPECT_NE(inspected.output.find("partition,480000/0/1,1,200,200,200000,"), std::string::npos) << inspected.output;
    inspected = run({perfleet, "inspect", "--data", data, "--verify"});
    EXPECT_EQ(inspected.ending.status, 0) << inspected.output << inspected.error_output;
    EXPECT_TRUE(inspected.error_output.starts_with("perfleet: " + data + " is sound: ")) << inspected.error_output;
    EXPECT_NE(inspected.error_output.find(" is sound: 200 blocks, in "), std::string::npos) << inspected.error_output;

    const std::string file = damage_block(data, kDamaged);
    inspected = run({perfleet, "inspect", "--data", data, "--verify", "--format", "json"});
    EXPECT_EQ(inspected.ending.status, 1) << inspected.error_output;
    const auto report = nlohmann::json::parse(inspected.output);
    EXPECT_EQ(report["rows"][0][0], file);
    EXPECT_NE(inspected.output.find("first seq 150,"), std::string::npos) << inspected.output;
    const std::uint64_t lost = report["ledger"]["lost"]["damaged"];
    EXPECT_GE(lost, kRowsPerBatch);
    EXPECT_LT(lost, kBatches * kRowsPerBatch / 2) << "more than those of one table block";

    const Finished top = run({perfleet, "top", "--data", data, "--format", "json"});
    EXPECT_EQ(top.ending.status, 0) << top.error_output;
    const auto answer = nlohmann::json::parse(top.output);
    EXPECT_EQ(answer["ledger"]["stored"], kBatches * kRowsPerBatch - lost);
    EXPECT_EQ(answer["ledger"]["lost"]["damaged"], lost);
    EXPECT_NE(answer["warnings"].dump().find(file), std::string::npos) << answer["warnings"];

    EXPECT_EQ(run({perfleet, "inspect", "--data", folder / "nothing"}).ending.status, 1);

    // A lost log may have held more of any session, also of one that has ended.
    ASSERT_TRUE(open_store(data).value()->end_session(test_writer::kTarget, test_writer::kSession, {}).ok());
    const auto at_least = [&] {
        const Finished losses = run({perfleet, "losses", "--data", data, "--format", "json"});
        EXPECT_EQ(losses.ending.status, 0) << losses.error_output;
        return nlohmann::json::parse(losses.output)["ledger"].contains("at_least");
    };
    EXPECT_FALSE(at_least());
    std::ofstream{data + "/LOST-LOGS"} << "acknowledged rows are lost: write-ahead log 000004.log is missing\n";
    EXPECT_TRUE(at_least());
}

TEST(DamagedFolder, IsToldByTheGatewayThatOpensIt) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    {
        auto store = open_store(data);
        ASSERT_TRUE(store.ok());
        ASSERT_TRUE((*store)->define(test_writer::partition(), test_writer::session()).ok());
        const std::vector batches{test_writer::batch(Seq{1})};
        ASSERT_TRUE((*store)->put(test_writer::partition(), batches).ok());
        // Of another one: the rest goes into table files of its type.
        Partition other = test_writer::partition();
        other.bucket.value -= 1'000;
        ASSERT_TRUE((*store)->drop(other).ok());
    }
    const auto start = [&] {
        return std::make_unique<GatewayProgram>(data, "tcp://127.0.0.1:*", "none", program_path("perfleet-gateway"),
                                                Process::Options{},
                                                std::vector<std::string>{"--metrics", "127.0.0.1:*"});
    };
    {
        const auto sound = start();
        EXPECT_EQ(scrape(sound->metrics()).value("perfleet_gateway_store_damage"), 0);
        EXPECT_EQ(sound->end(SIGTERM).status, 0);
        EXPECT_EQ(sound->process().error_output(), "");
    }
    const std::string file = damage_block(data, Seq{1});
    fs::resize_file(fs::path{data} / file, fs::file_size(fs::path{data} / file) / 2);
    const auto damaged = start();
    EXPECT_GE(scrape(damaged->metrics()).value("perfleet_gateway_store_damage"), 1) << "and what was met since";
    EXPECT_EQ(damaged->end(SIGTERM).status, 0);
    const std::string told = damaged->process().error_output();
    EXPECT_NE(told.find(file), std::string::npos) << told;
    EXPECT_NE(told.find("perfleet inspect --verify --data " + data), std::string::npos) << told;
}

}  // namespace
}  // namespace perfleet::end_to_end::damaged_folder_test
