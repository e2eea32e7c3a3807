// Programs on a store in a pool of Ceph: copied in and out, a gateway that is killed, one that is frozen and fenced
// off. On a cluster of storage/engine/testing/with_ceph_cluster; skipped without one.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gateway/ingest/testing/sample_messages.h"
#include "storage/store/testing/stores.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::rados_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 3};
constexpr BucketNumber kBucket{400'000};

class RadosProgram : public testing::Test {
protected:
    void SetUp() override {
        if (test_rados_pool() == nullptr) {
            GTEST_SKIP() << "no cluster: run it by storage/engine/testing/with_ceph_cluster";
        }
        place_ = new_rados_place().text();
    }

    static void put(SamplePeer& peer, std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket)));
        }
        peer.wait_for_prefix(last);
    }

    [[nodiscard]] static Finished copy(const std::string& from, const std::string& to) {
        return run({program_path("perfleet"), "copy", "--data", from, "--to", to});
    }

    // Of commands that read all of it, each one's output.
    [[nodiscard]] static std::vector<std::string> answers(const std::string& source, const std::string& where) {
        std::vector<std::string> answers;
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"top"}, {"sessions"}, {"losses"}, {"tree"}, {"script"}, {"targets"}}) {
            std::vector<std::string> words{program_path("perfleet")};
            words.insert(words.end(), command.begin(), command.end());
            words.insert(words.end(), {source, where});
            const Finished finished = run(words);
            EXPECT_EQ(finished.ending.status, 0) << finished.error_output;
            answers.push_back(finished.output);
        }
        return answers;
    }

    static void expect_each_row_once(const std::string& where, std::uint64_t rows) {
        const Finished losses = run({program_path("perfleet"), "losses", "--data", where, "--format", "json"});
        EXPECT_EQ(losses.ending.status, 0) << losses.error_output;
        const auto ledger = nlohmann::json::parse(losses.output)["ledger"];
        EXPECT_EQ(ledger["produced"], rows);
        EXPECT_EQ(ledger["stored"], rows);
        EXPECT_EQ(ledger["lost"], nlohmann::json::object());
    }

    std::string place_;
};

TEST_F(RadosProgram, CopiesAStoreInAndOutAndAnswersTheSame) {
    const TemporaryFolder folder;
    {
        GatewayProgram gateway{folder / "data"};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        put(peer, 1, 50);
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }
    const Finished in = copy(folder / "data", place_);
    EXPECT_EQ(in.ending.status, 0) << in.error_output;
    EXPECT_NE(in.error_output.find("on both sides"), std::string::npos) << in.error_output;
    const Finished out = copy(place_, folder / "back");
    EXPECT_EQ(out.ending.status, 0) << out.error_output;
    EXPECT_NE(out.error_output.find("on both sides"), std::string::npos) << out.error_output;
    const std::vector<std::string> expected = answers("--data", folder / "data");
    EXPECT_EQ(answers("--data", place_), expected);
    EXPECT_EQ(answers("--data", folder / "back"), expected);
    const Finished verified = run({program_path("perfleet"), "inspect", "--verify", "--data", place_});
    EXPECT_EQ(verified.ending.status, 0) << verified.error_output;
    const std::string perfleet = program_path("perfleet");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{perfleet, "record", "--data", place_, "--", "true"},
          {perfleet, "backup", "--data", place_, "--to", folder / "backup"}}) {
        const Finished refused = run(words);
        EXPECT_NE(refused.ending.status, 0);
        EXPECT_NE(refused.error_output.find("is a store on RADOS"), std::string::npos) << refused.error_output;
    }
}

TEST_F(RadosProgram, GatewayGoesOnAfterItWasKilled) {
    {
        GatewayProgram gateway{place_};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        put(peer, 1, 40);
        EXPECT_EQ(gateway.end(SIGKILL).signal, SIGKILL);
    }
    GatewayProgram gateway{place_, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"};
    SamplePeer peer{gateway.listen()};
    peer.greet(sample_session(kTarget, kSession));
    put(peer, 20, 60);
    EXPECT_EQ(answers("--gateway", gateway.query()), answers("--data", place_));
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    expect_each_row_once(place_, 120);
}

TEST_F(RadosProgram, FrozenGatewayWritesNothingOnceAnotherHasTakenOver) {
    GatewayProgram frozen{place_};
    SamplePeer old_peer{frozen.listen()};
    old_peer.greet(sample_session(kTarget, kSession));
    put(old_peer, 1, 10);
    const Finished second = run({program_path("perfleet-gateway"), "--data", place_, "--listen", "tcp://127.0.0.1:*"});
    EXPECT_EQ(second.ending.status, 1);
    EXPECT_NE(second.error_output.find("another gateway writes there"), std::string::npos) << second.error_output;

    frozen.process().send_signal(SIGSTOP);
    GatewayProgram taking{place_};
    SamplePeer peer{taking.listen()};
    peer.greet(sample_session(kTarget, kSession));
    put(peer, 11, 20);
    frozen.process().send_signal(SIGCONT);
    // A seq of which the other one knows nothing: were it written, it would count.
    old_peer.send(sample::batch(sample_batch(kTarget, kSession, Seq{30}, kBucket)));
    const auto ending = frozen.process().wait();
    ASSERT_TRUE(ending.has_value()) << "still running";
    EXPECT_EQ(ending->status, 1);
    EXPECT_NE(frozen.process().error_output().find("another gateway has taken the store over"), std::string::npos)
        << frozen.process().error_output();
    put(peer, 21, 25);
    EXPECT_EQ(taking.end(SIGTERM).status, 0);
    expect_each_row_once(place_, 50);
}

}  // namespace
}  // namespace perfleet::end_to_end::rados_program_test
