#include "gateway/gateway.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "gateway/ingest/sample_messages.h"
#include "schemas/vocabulary/limits.h"
#include "storage/store/sample_batches.h"
#include "target-collector/wire/zmq_driver.h"

namespace perfleet {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};
constexpr int kPatienceS = 60;

sample::Frame batch_frame(std::uint64_t seq) {
    SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {seq, seq + 1}}});
    return sample::batch(batch.build());
}

// A gateway that serves on a thread.
class Serving {
public:
    explicit Serving(Store& store, const std::vector<std::string>& listen = {"tcp://127.0.0.1:*"}) {
        auto opened = Gateway::open({listen, {}}, context_, store);
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
    TransportContext& context() { return context_; }

private:
    TransportContext context_;
    std::unique_ptr<Gateway> gateway_;
    std::atomic<bool> stop_{false};
    int stop_fd_ = -1;
    std::thread thread_;
};

// A peer over the collector's own driver.
class Peer {
public:
    explicit Peer(const std::string& endpoint, void* context = nullptr) {
        auto driver = ZmqDriver::connect(endpoint, context);
        EXPECT_TRUE(driver.ok());
        driver_ = std::move(*driver);
    }

    void send(const sample::Frame& frame) {
        while (!driver_->send(frame)) {
            driver_->wait(-1, 1'000'000);
        }
    }

    // The next reply of this sort; others are passed over.
    sample::Reply wait_for(sample::ReplySort sort) {
        std::vector<std::byte> buffer(limits::kReplySizeBytesMax);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kPatienceS};
        while (std::chrono::steady_clock::now() < end) {
            const auto size = driver_->receive(buffer);
            if (!size.ok() || *size == 0) {
                driver_->wait(-1, 100'000'000);
                continue;
            }
            sample::Reply reply = sample::read_reply(std::span{buffer}.first(*size));
            if (reply.sort == sort) {
                return reply;
            }
        }
        ADD_FAILURE() << "no reply of sort " << static_cast<int>(sort);
        return {};
    }

private:
    std::unique_ptr<ZmqDriver> driver_;
};

void deliver_two_batches(Peer& peer) {
    peer.send(sample::hello(sample_session(kTarget, kSession)));
    EXPECT_EQ(peer.wait_for(sample::ReplySort::kWelcome).session, kSession);
    peer.send(batch_frame(1));
    peer.send(batch_frame(2));
    std::uint64_t prefix = 0;
    while (prefix < 2 && !testing::Test::HasFailure()) {
        prefix = peer.wait_for(sample::ReplySort::kAck).prefix;
    }
}

TEST(Gateway, DeliversOverTcp) {
    const auto store = make_memory_store();
    Serving serving{*store};
    ASSERT_EQ(serving.gateway().endpoints().size(), 1U);
    const std::string endpoint = serving.gateway().endpoints().front();
    EXPECT_TRUE(endpoint.starts_with("tcp://127.0.0.1:")) << endpoint;
    EXPECT_NE(endpoint.back(), '*');
    Peer peer{endpoint};
    deliver_two_batches(peer);
    EXPECT_EQ(serving.gateway().counts().batches_stored, 2U);
    EXPECT_EQ(store->watermark(kTarget, kSession).value(), Seq{2});
}

TEST(Gateway, DeliversInItsOwnProcessAndOverSeveralEndpoints) {
    const auto store = make_memory_store();
    const std::string path = testing::TempDir() + "perfleet-gateway-" + std::to_string(getpid());
    Serving serving{*store, {"inproc://gateway", "tcp://[::1]:*", "ipc://" + path}};
    for (const std::string& endpoint : serving.gateway().endpoints()) {
        Peer peer{endpoint, serving.context().native_handle()};
        deliver_two_batches(peer);
    }
    EXPECT_EQ(serving.gateway().counts().batches_stored, 2U);
    EXPECT_EQ(serving.gateway().counts().batches_duplicate, 4U);
    std::filesystem::remove(path);
}

TEST(Gateway, CommitsWhatItHasWhenItStops) {
    const auto store = make_memory_store();
    Serving serving{*store};
    Peer peer{serving.gateway().endpoints().front()};
    peer.send(sample::hello(sample_session(kTarget, kSession)));
    peer.wait_for(sample::ReplySort::kWelcome);
    peer.send(batch_frame(1));
    peer.send(sample::clock_probe(1));
    peer.wait_for(sample::ReplySort::kClockReply);  // so the batch was taken
    serving.stop();
    EXPECT_EQ(store->watermark(kTarget, kSession).value(), Seq{1});
    EXPECT_EQ(peer.wait_for(sample::ReplySort::kAck).prefix, 1U);
}

TEST(Gateway, SurvivesWhatIsNoMessage) {
    const auto store = make_memory_store();
    Serving serving{*store};
    Peer hostile{serving.gateway().endpoints().front()};
    for (std::size_t size = 0; size < 200; ++size) {
        hostile.send(sample::Frame(size, static_cast<std::byte>(size * 37)));
    }
    Peer peer{serving.gateway().endpoints().front()};
    deliver_two_batches(peer);
    hostile.send(sample::clock_probe(1));
    hostile.wait_for(sample::ReplySort::kClockReply);
    EXPECT_GE(serving.gateway().counts().messages_malformed, 170U);
    EXPECT_EQ(serving.gateway().counts().batches_stored, 2U);
}

TEST(Gateway, ListensOnlyWhereThisMachineComesIn) {
    const auto store = make_memory_store();
    TransportContext context;
    for (const std::string endpoint :
         {"tcp://0.0.0.0:*", "tcp://*:7411", "tcp://[::]:*", "tcp://10.0.0.1:7411", "tcp://eth0:*", "tcp://128.0.0.1:*",
          "tcp://localhost:*", "tcp://127.0.0.1", "tcp://127.0.0.1:70000", "tcp://127.0.0.1:x", "udp://127.0.0.1:1",
          "ipc://", "inproc://", "nonsense", "", "tcp://127.0.0.1:1,tcp://127.0.0.1:2", "tcp://[::ffff:10.0.0.1]:*"}) {
        const auto opened = Gateway::open({{endpoint}, {}}, context, *store);
        ASSERT_FALSE(opened.ok()) << endpoint;
        EXPECT_EQ(opened.error().code, ErrorCode::kUsage) << endpoint;
        EXPECT_NE(opened.error().message.find(endpoint), std::string::npos) << opened.error().message;
    }
    EXPECT_TRUE(Gateway::open({{"tcp://127.9.8.7:*"}, {}}, context, *store).ok());
}

TEST(Gateway, SaysWhenTheAddressIsTaken) {
    const auto store = make_memory_store();
    TransportContext context;
    const auto first = Gateway::open({{"tcp://127.0.0.1:*"}, {}}, context, *store);
    ASSERT_TRUE(first.ok());
    const std::string endpoint = (*first)->endpoints().front();
    const auto second = Gateway::open({{endpoint}, {}}, context, *store);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_NE(second.error().message.find(endpoint), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace perfleet
