// SIGTERM: the gateway commits, acknowledges and closes, whatever its peers, its queries and its disk do; and when it
// can't, it ends within its stated bound.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "query-engine/wire/query_message.h"
#include "query-engine/wire/testing/raw_client.h"
#include "tests/chaos/test_world.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::chaos {
namespace {

using end_to_end::Ending;
using end_to_end::field_of;
using end_to_end::Process;
using end_to_end::SamplePeer;
using end_to_end::TemporaryFolder;

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};

class GatewayStop : public testing::Test {
protected:
    void start(const std::string& query = "none", const std::vector<std::string>& options = {}) {
        std::vector<std::string> command{end_to_end::program_path("perfleet-gateway"),
                                         "--data",
                                         data_,
                                         "--listen",
                                         "tcp://127.0.0.1:*",
                                         "--query",
                                         query};
        command.insert(command.end(), options.begin(), options.end());
        gateway_ = std::make_unique<Process>(command, world_.options());
        const auto line = gateway_->wait_for_output("ready ");
        ASSERT_TRUE(line.has_value()) << gateway_->error_output();
        listen_ = field_of(*line, "listen");
        query_ = field_of(*line, "query");
    }

    Ending stop() {
        gateway_->send_signal(SIGTERM);
        const auto ending = gateway_->wait();
        EXPECT_TRUE(ending.has_value()) << "still running";
        return ending.value_or(Ending{});
    }

    // Everything up to `last`, each once.
    void expect_stored(std::uint64_t last) const {
        const auto ledgers = end_to_end::ledgers_of(data_);
        ASSERT_EQ(ledgers.size(), 1U);
        EXPECT_EQ(ledgers.front().seqs.size(), last);
        for (const auto& [seq, count] : ledgers.front().seqs) {
            EXPECT_EQ(count, 1) << seq;
        }
    }

    static sample::Frame batch(std::uint64_t seq) {
        return sample::batch(end_to_end::sample_batch(kTarget, kSession, Seq{seq}, kBucket));
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    World world_{folder_ / "page"};
    std::unique_ptr<Process> gateway_;
    std::string listen_;
    std::string query_;
};

TEST_F(GatewayStop, StoresWhatItHasTaken) {
    start();
    SamplePeer peer{listen_};
    peer.greet(sample_session(kTarget, kSession));
    for (std::uint64_t seq = 1; seq <= 20; ++seq) {
        peer.send(batch(seq));
    }
    peer.send(sample::probe());
    peer.wait_for(sample::ReplyType::kHelloAgain);  // all were taken before it
    EXPECT_EQ(stop().status, 0) << gateway_->error_output();
    EXPECT_EQ(gateway_->error_output(), "");
    expect_stored(20);
}

TEST_F(GatewayStop, DoesNotWaitForPeersThatDoNotRead) {
    start();
    SamplePeer good{listen_};
    good.greet(sample_session(kTarget, kSession));
    std::vector<std::unique_ptr<SamplePeer>> deaf;
    for (std::uint64_t i = 0; i < 2; ++i) {
        const SessionId session{9, i};
        deaf.push_back(std::make_unique<SamplePeer>(listen_));
        deaf.back()->greet(sample_session(kTarget, session));
        for (int offer = 0; offer < 5'000; ++offer) {
            deaf.back()->send(sample::image_offers(session, {}));  // each has an answer
        }
    }
    good.send(batch(1));
    good.wait_for_prefix(1);
    EXPECT_EQ(stop().status, 0) << gateway_->error_output();
    expect_stored(1);
}

TEST_F(GatewayStop, EndsRunningQueries) {
    start("tcp://127.0.0.1:*");
    SamplePeer peer{listen_};
    peer.greet(sample_session(kTarget, kSession));
    peer.send(batch(1));
    peer.wait_for_prefix(1);
    RawClient client{query_};
    // It may send nothing before it is asked for more, which never happens.
    ASSERT_TRUE(client.send(encode_query_message({1, query_message::Ask{"sessions", {}, 0}})));
    EXPECT_TRUE(client.next().has_value()) << "not at work";
    EXPECT_EQ(stop().status, 0) << gateway_->error_output();
    expect_stored(1);
}

TEST_F(GatewayStop, EndsByItsBoundWhenTheDiskDoesNotAnswer) {
    start("none", {"--stop-within", "0.5"});
    {
        SamplePeer peer{listen_};
        peer.greet(sample_session(kTarget, kSession));
        peer.send(batch(1));
        peer.wait_for_prefix(1);
        world_.set_syncs_hang(true);
        peer.send(batch(2));
        world_.wait_until_it_hangs();
        const Ending ending = stop();
        EXPECT_EQ(ending.status, 1);
        EXPECT_NE(gateway_->error_output().find("didn't stop in time"), std::string::npos) << gateway_->error_output();
    }
    // Nothing that was promised is gone, and the rest can be sent again.
    world_.set_syncs_hang(false);
    start();
    SamplePeer peer{listen_};
    EXPECT_GE(peer.greet(sample_session(kTarget, kSession)).prefix, 1U);
    peer.send(batch(2));
    peer.wait_for_prefix(2);
    EXPECT_EQ(stop().status, 0) << gateway_->error_output();
    expect_stored(2);
}

TEST_F(GatewayStop, WaitsForADiskThatAnswersInTime) {
    start("none", {"--stop-within", "3600"});
    SamplePeer peer{listen_};
    peer.greet(sample_session(kTarget, kSession));
    peer.send(batch(1));
    peer.wait_for_prefix(1);
    world_.set_syncs_hang(true);
    peer.send(batch(2));
    world_.wait_until_it_hangs();
    gateway_->send_signal(SIGTERM);
    world_.set_syncs_hang(false);
    const auto ending = gateway_->wait();
    ASSERT_TRUE(ending.has_value());
    EXPECT_EQ(ending->status, 0) << gateway_->error_output();
    expect_stored(2);
}

TEST_F(GatewayStop, RefusesABoundThatIsNone) {
    const end_to_end::Finished finished = end_to_end::run(
        {end_to_end::program_path("perfleet-gateway"), "--data", data_, "--query", "none", "--stop-within", "0"});
    EXPECT_EQ(finished.ending.status, 2);
    EXPECT_NE(finished.error_output.find("--stop-within"), std::string::npos) << finished.error_output;
}

}  // namespace
}  // namespace perfleet::chaos
