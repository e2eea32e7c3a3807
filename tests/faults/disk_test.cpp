// Real programs over a disk that is full, doesn't sync, or loses its power.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/store/open_store.h"
#include "target-collector/wire/testing/held_address.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"
#include "tests/end_to_end/stored_ledger.h"

namespace perfleet::end_to_end {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};

sample::Frame batch_frame(std::uint64_t seq) {
    return sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket));
}

class FaultyDiskUnder : public testing::Test {
protected:
    void SetUp() override { set_plan(""); }

    // By rename, because the gateway may read it at any moment.
    void set_plan(const std::string& text) {
        std::ofstream{plan_ + ".new"} << "seed=5 " << text;
        std::filesystem::rename(plan_ + ".new", plan_);
    }

    // At the same address every time.
    void start(const std::string& query = "none", const std::vector<std::string>& more = {}) {
        gateway_ = std::make_unique<GatewayProgram>(
            data_, address_.endpoint(), query, workload_path("perfleet-gateway-faulty"),
            Process::Options{{"PERFLEET_FAULTS_FILE=" + plan_}, "", std::nullopt}, more);
    }

    // The power goes.
    void crash() { EXPECT_EQ(gateway_->end(SIGKILL).signal, SIGKILL); }

    void expect_said(const std::string& line) {
        EXPECT_TRUE(gateway_->process().wait_for_error("perfleet-gateway: " + line).has_value())
            << gateway_->process().error_output();
    }

    // Until it has printed these words so often.
    void wait_until_said(const std::string& words, std::size_t times) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (times_said(words) < times) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << gateway_->process().error_output();
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }

    [[nodiscard]] std::size_t times_said(const std::string& words) const {
        const std::string text = gateway_->process().error_output();
        std::size_t count = 0;
        for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) {
            ++count;
        }
        return count;
    }

    TemporaryFolder folder_;
    std::string data_ = folder_ / "data";
    std::string plan_ = folder_ / "plan";
    HeldAddress address_;
    std::unique_ptr<GatewayProgram> gateway_;
};

TEST_F(FaultyDiskUnder, ASyncThatFailsIsNoAcknowledgement) {
    start();
    const std::string& listen = address_.endpoint();
    SamplePeer peer{listen};
    peer.greet(sample_session(kTarget, kSession));
    peer.send(batch_frame(1));
    peer.wait_for_prefix(1);
    set_plan("sync=always lose=all");
    peer.send(batch_frame(2));
    expect_said("can't store");
    peer.send(batch_frame(2));  // a repeat of what is in memory, and on no disk
    for (int replies = 0; replies < 2; ++replies) {
        EXPECT_EQ(peer.wait_for(sample::ReplyType::kAck).prefix, 1U);
    }
    crash();
    set_plan("lose=all");
    start();
    EXPECT_EQ(peer.greet(sample_session(kTarget, kSession)).prefix, 1U) << "and nothing of it is remembered";
    peer.send(batch_frame(2));
    peer.wait_for_prefix(2);
    EXPECT_EQ(gateway_->end(SIGTERM).status, 0);
}

TEST_F(FaultyDiskUnder, GoesOnByItselfAndSaysSoOnce) {
    start();
    SamplePeer peer{gateway_->listen()};
    peer.greet(sample_session(kTarget, kSession));
    set_plan("sync=once files=log");
    peer.send(batch_frame(1));
    peer.wait_for_prefix(1);
    set_plan("room=0");
    peer.send(batch_frame(2));
    wait_until_said("can't store", 2);
    for (int replies = 0; replies < 2; ++replies) {
        EXPECT_EQ(peer.wait_for(sample::ReplyType::kAck).prefix, 1U);
    }
    set_plan("room=100000000");
    peer.send(batch_frame(2));
    peer.wait_for_prefix(2);
    crash();
    EXPECT_EQ(times_said("can't store"), 2U) << gateway_->process().error_output();
    EXPECT_EQ(times_said("storing again"), 2U) << gateway_->process().error_output();
    EXPECT_EQ(times_said("No space left on device (fault plan)"), 1U) << gateway_->process().error_output();
    start();
    EXPECT_EQ(SamplePeer{gateway_->listen()}.greet(sample_session(kTarget, kSession)).prefix, 2U);
}

TEST_F(FaultyDiskUnder, AnswersQueriesWhileItIsFull) {
    start("tcp://127.0.0.1:*");
    SamplePeer peer{gateway_->listen()};
    peer.greet(sample_session(kTarget, kSession));
    peer.send(batch_frame(1));
    peer.wait_for_prefix(1);
    set_plan("room=0");
    peer.send(batch_frame(2));
    expect_said("can't store");
    const Finished asked = run({program_path("perfleet"), "losses", "--gateway", gateway_->query(), "--format", "csv"});
    EXPECT_EQ(asked.ending.status, 0) << asked.error_output;
    EXPECT_NE(asked.output.find(sample_session(kTarget, kSession).target_name), std::string::npos) << asked.output;
    set_plan("");
    expect_said("storing again");
    peer.wait_for_prefix(2);
    EXPECT_EQ(gateway_->end(SIGTERM).status, 0) << gateway_->process().error_output();
}

// Started on a disk without any space, it drops partitions that are too old; storing waits for the space that it took
// for that.
TEST_F(FaultyDiskUnder, DropsWhatIsTooOldThoughItIsFull) {
    start("none", {"--memory", "128m", "--retain-bytes", "1t"});
    {
        SamplePeer peer{gateway_->listen()};
        peer.greet(sample_session(kTarget, kSession));
        peer.send(batch_frame(1));  // of an hour in 2015
        peer.wait_for_prefix(1);
    }
    EXPECT_EQ(gateway_->end(SIGTERM).status, 0);
    set_plan("room=0");
    start("none", {"--memory", "128m", "--retain", "2d"});
    expect_said("dropped what was stored of the hour from 2015-08-19T16:00Z on");
    SamplePeer peer{gateway_->listen()};
    peer.greet(sample_session(kTarget, kSession));
    peer.send(batch_frame(2));
    expect_said("can't store");
    EXPECT_EQ(times_said("are reserved for dropping expired data"), 1U) << gateway_->process().error_output();
    set_plan("");
    expect_said("storing again");
    peer.wait_for_prefix(2);
    EXPECT_EQ(gateway_->end(SIGTERM).status, 0);
    const auto store = open_store_reader(data_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ((*store)->expired(kTarget, kSession)->at(0).second, 4U) << "the late batch, too";
}

// A collector of real events; the disk runs full, gets space, and loses its power as well.
TEST_F(FaultyDiskUnder, ACollectorsLedgerStaysExact) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "tracepoints need root";
    }
    constexpr std::uint64_t kCalls = 1'000'000;
    start();
    set_plan("room=20000");  // less than the contents of the kernel's first ring, whatever is lost after it
    const std::string& listen = address_.endpoint();
    Process collector{{program_path("perfleet-collector"), "--gateway", listen, "-e", "syscalls:sys_enter_getppid",
                       "-c", "1", "--exit-wait", "60", "--", workload_path("getppid_workload"),
                       std::to_string(kCalls)}};
    expect_said("can't store");
    set_plan("room=100000000 lose=sectors");
    expect_said("storing again");
    crash();
    set_plan("lose=all");
    start();
    crash();  // and again, wherever it is
    set_plan("lose=cut");
    start();
    const auto ending = collector.wait();
    ASSERT_TRUE(ending.has_value()) << "still running";
    EXPECT_EQ(ending->status, 0) << collector.error_output();
    EXPECT_EQ(gateway_->end(SIGTERM).status, 0) << gateway_->process().error_output();
    const auto ledgers = ledgers_of(data_);
    ASSERT_EQ(ledgers.size(), 1U);
    ledgers.front().expect_exact();
    EXPECT_EQ(ledgers.front().series.at({Kind::kTracepoint, EventNumber{0}}).produced, kCalls);
}

}  // namespace
}  // namespace perfleet::end_to_end
