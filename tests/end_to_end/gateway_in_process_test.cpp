#include "gateway/gateway.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "gateway/admission/testing/sample_messages.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::gateway_in_process_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};

sample::Frame batch_frame(std::uint64_t seq) {
    return sample::batch(sample_batch(kTarget, kSession, Seq{seq}, kBucket));
}

// A gateway that serves on a thread.
class Serving {
public:
    explicit Serving(Store& store, const std::vector<std::string>& listen = {"tcp://127.0.0.1:*"}) {
        auto opened = Gateway::open({listen, {}}, store);
        EXPECT_TRUE(opened.ok()) << opened.error().message;
        gateway_ = std::move(*opened);
        stop_fd_ = eventfd(0, EFD_CLOEXEC);
        thread_ = std::thread{[this] { EXPECT_TRUE(gateway_->serve(stop_, stop_fd_).ok()); }};
    }

    ~Serving() { stop(); }

    void stop() {
        if (thread_.joinable()) {
            stop_ = true;
            const std::uint64_t one = 1;
            EXPECT_EQ(write(stop_fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
            thread_.join();
            close(stop_fd_);
        }
    }

    Gateway& gateway() { return *gateway_; }

private:
    std::unique_ptr<Gateway> gateway_;
    std::atomic<bool> stop_{false};
    int stop_fd_ = -1;
    std::thread thread_;
};

void deliver_two_batches(SamplePeer& peer) {
    EXPECT_EQ(peer.greet(sample_session(kTarget, kSession)).session, kSession);
    peer.send(batch_frame(1));
    peer.send(batch_frame(2));
    peer.wait_for_prefix(2);
}

TEST(Gateway, DeliversOverTcp) {
    const auto store = make_memory_store();
    Serving serving{*store};
    ASSERT_EQ(serving.gateway().endpoints().size(), 1U);
    const std::string endpoint = serving.gateway().endpoints().front();
    EXPECT_TRUE(endpoint.starts_with("tcp://127.0.0.1:")) << endpoint;
    EXPECT_NE(endpoint.back(), '*');
    SamplePeer peer{endpoint};
    deliver_two_batches(peer);
    EXPECT_EQ(serving.gateway().counts().batches_stored, 2U);
    EXPECT_EQ(store->watermark(kTarget, kSession).value(), Seq{2});
}

TEST(Gateway, DeliversOverSeveralEndpoints) {
    const auto store = make_memory_store();
    const std::string path = testing::TempDir() + "perfleet-gateway-" + std::to_string(getpid());
    Serving serving{*store, {"tcp://[::1]:*", "ipc://" + path}};
    for (const std::string& endpoint : serving.gateway().endpoints()) {
        SamplePeer peer{endpoint};
        deliver_two_batches(peer);
        peer.send(sample::probe());
        peer.wait_for(sample::ReplyType::kHelloAgain);  // so both were taken, also where they were acknowledged before
    }
    EXPECT_EQ(serving.gateway().counts().batches_stored, 2U);
    EXPECT_EQ(serving.gateway().counts().batches_duplicate, 2U);
    std::filesystem::remove(path);
}

TEST(Gateway, CommitsWhatItHasWhenItStops) {
    const auto store = make_memory_store();
    Serving serving{*store};
    SamplePeer peer{serving.gateway().endpoints().front()};
    peer.greet(sample_session(kTarget, kSession));
    peer.send(batch_frame(1));
    peer.send(sample::probe());
    peer.wait_for(sample::ReplyType::kHelloAgain);  // so the batch was taken
    serving.stop();
    EXPECT_EQ(store->watermark(kTarget, kSession).value(), Seq{1});
    peer.wait_for_prefix(1);
}

TEST(Gateway, SurvivesWhatIsNoMessage) {
    const auto store = make_memory_store();
    Serving serving{*store};
    SamplePeer hostile{serving.gateway().endpoints().front()};
    for (std::size_t size = 0; size < 200; ++size) {
        hostile.send(sample::Frame(size, static_cast<std::byte>(size * 37)));
    }
    SamplePeer peer{serving.gateway().endpoints().front()};
    deliver_two_batches(peer);
    hostile.greet(sample_session(kTarget, SessionId{~0ULL, 1}));  // so all before was taken
    EXPECT_GE(serving.gateway().counts().messages_malformed.total(), 170U);
    EXPECT_EQ(serving.gateway().counts().batches_stored, 2U);
}

TEST(Gateway, ListensOnlyWhereThisMachineComesIn) {
    const auto store = make_memory_store();
    for (const std::string endpoint :
         {"tcp://0.0.0.0:*", "tcp://*:7411", "tcp://[::]:*", "tcp://10.0.0.1:7411", "tcp://eth0:*", "tcp://128.0.0.1:*",
          "tcp://localhost:*", "tcp://127.0.0.1", "tcp://127.0.0.1:70000", "tcp://127.0.0.1:x", "udp://127.0.0.1:1",
          "ipc://", "inproc://", "nonsense", "", "tcp://127.0.0.1:1,tcp://127.0.0.1:2", "tcp://[::ffff:10.0.0.1]:*"}) {
        const auto opened = Gateway::open({{endpoint}, {}}, *store);
        ASSERT_FALSE(opened.ok()) << endpoint;
        EXPECT_EQ(opened.error().code, ErrorCode::kUsage) << endpoint;
        EXPECT_NE(opened.error().message.find(endpoint), std::string::npos) << opened.error().message;
    }
    EXPECT_TRUE(Gateway::open({{"tcp://127.9.8.7:*"}, {}}, *store).ok());
}

TEST(Gateway, SaysWhenTheAddressIsTaken) {
    const auto store = make_memory_store();
    const auto first = Gateway::open({{"tcp://127.0.0.1:*"}, {}}, *store);
    ASSERT_TRUE(first.ok());
    const std::string endpoint = (*first)->endpoints().front();
    const auto second = Gateway::open({{endpoint}, {}}, *store);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_NE(second.error().message.find(endpoint), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace perfleet::end_to_end::gateway_in_process_test
