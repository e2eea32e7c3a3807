// perfleet copy as a user runs it: beside a live gateway, killed and started again, into places where it can't.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gateway/admission/testing/sample_messages.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/store_writer.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::copy_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 3};
constexpr BucketNumber kBucket{400'000};
constexpr std::uint64_t kBatches = 50;

Finished copy(const std::string& from, const std::string& to) {
    return run({program_path("perfleet"), "copy", "--data", from, "--to", to, "--format", "json"});
}

std::string samples_of(const std::string& data) {
    const Finished top = run({program_path("perfleet"), "top", "--data", data, "--format", "json"});
    EXPECT_EQ(top.ending.status, 0) << top.error_output;
    return top.output;
}

TEST(CopyProgram, CopiesBeneathALiveGatewayWhatItHasAcknowledged) {
    const TemporaryFolder folder;
    GatewayProgram gateway{folder / "data"};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kSession));
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket)));
    }
    peer.wait_for_prefix(kBatches);
    const Finished copied = copy(folder / "data", folder / "copy");
    EXPECT_EQ(copied.ending.status, 0) << copied.error_output;
    const auto report = nlohmann::json::parse(copied.output);
    EXPECT_EQ(report["rows"][3], nlohmann::json::parse(R"(["rows", 100, 100])"));
    EXPECT_NE(copied.error_output.find("on both sides"), std::string::npos) << copied.error_output;
    EXPECT_EQ(samples_of(folder / "copy"), samples_of(folder / "data"));

    const Finished back = copy(folder / "copy", folder / "data");
    EXPECT_EQ(back.ending.status, 1);
    EXPECT_NE(back.error_output.find("another process is writing"), std::string::npos) << back.error_output;
    EXPECT_EQ(copy(folder / "data", folder / "data").ending.status, 2);
    EXPECT_EQ(copy(folder / "nothing", folder / "copy").ending.status, 1);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
}

TEST(CopyProgram, BacksUpBeneathALiveGatewayAndRestores) {
    const TemporaryFolder folder;
    GatewayProgram gateway{folder / "data"};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kSession));
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket)));
    }
    peer.wait_for_prefix(kBatches);
    const std::string before = samples_of(folder / "data");
    const std::string perfleet = program_path("perfleet");
    const Finished backup = run({perfleet, "backup", "--data", folder / "data", "--to", folder / "backup"});
    EXPECT_EQ(backup.ending.status, 0) << backup.error_output;
    EXPECT_TRUE(backup.output.ends_with(" copied\n")) << backup.output;
    peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{kBatches + 1}, kBucket)));
    peer.wait_for_prefix(kBatches + 1);
    EXPECT_EQ(run({perfleet, "backup", "--data", folder / "data", "--to", folder / "backup"}).ending.status, 2);
    EXPECT_EQ(run({perfleet, "restore", "--from", folder / "backup", "--data", folder / "data"}).ending.status, 2);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    EXPECT_EQ(run({perfleet, "restore", "--from", folder / "backup", "--data", folder / "restored"}).ending.status, 0);
    EXPECT_EQ(samples_of(folder / "restored"), before);
    EXPECT_EQ(run({perfleet, "inspect", "--verify", "--data", folder / "restored"}).ending.status, 0);
    const Finished sizes = run({perfleet, "inspect", "--sizes", "--data", folder / "restored", "--format", "json"});
    EXPECT_EQ(sizes.ending.status, 0) << sizes.error_output;
    EXPECT_EQ(nlohmann::json::parse(sizes.output)["rows"][0][0], "sample cpu-clock") << sizes.output;
    EXPECT_EQ(nlohmann::json::parse(sizes.output)["ledger"]["stored"], 2 * kBatches);
    EXPECT_EQ(run({perfleet, "inspect", "--sizes", "--verify", "--data", folder / "restored"}).ending.status, 2);
    GatewayProgram anew{folder / "restored"};
    EXPECT_EQ(anew.end(SIGTERM).status, 0);
}

TEST(CopyProgram, GoesOnAfterItWasKilled) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    {
        auto store = open_store(data);
        ASSERT_TRUE(store.ok());
        for (std::uint64_t seq = 1; seq <= 2'000; ++seq) {
            const BucketNumber bucket{static_cast<std::uint32_t>(kBucket.value + seq / 100)};
            const Partition partition = partition_of(test_writer::kTarget, bucket);
            ASSERT_TRUE((*store)->define(partition, test_writer::session()).ok());
            const std::vector batches{test_writer::batch(Seq{seq}, test_writer::kSession, bucket)};
            ASSERT_TRUE((*store)->put(partition, batches).ok());
        }
        ASSERT_TRUE((*store)->sync().ok());
    }
    for (int kill = 0; kill < 5; ++kill) {
        Process process{{program_path("perfleet"), "copy", "--data", data, "--to", folder / "copy"}};
        std::this_thread::sleep_for(std::chrono::milliseconds{10 + 15 * kill});  // somewhere, or after its end
        process.send_signal(SIGKILL);
        EXPECT_TRUE(process.wait().has_value());
    }
    const Finished copied = copy(data, folder / "copy");
    EXPECT_EQ(copied.ending.status, 0) << copied.error_output;
    EXPECT_EQ(nlohmann::json::parse(copied.output)["ledger"]["stored"], 2'000'000);
    EXPECT_EQ(run({program_path("perfleet"), "inspect", "--verify", "--data", folder / "copy"}).ending.status, 0);
    EXPECT_EQ(samples_of(folder / "copy"), samples_of(data));
}

}  // namespace
}  // namespace perfleet::end_to_end::copy_program_test
