// What strangers may do to a gateway's socket before a session: each is refused, counted by reason, and a good peer is
// served all the while.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "gateway/admission/intake_limits.h"
#include "gateway/admission/testing/sample_messages.h"
#include "gateway/gateway.h"
#include "storage/store/memory_store.h"
#include "tests/end_to_end/key_folder.h"
#include "tests/end_to_end/raw_connection.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::hostile_transport_test {
namespace {

constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};

class HostileTransport : public testing::Test {
protected:
    enum class Keys : std::uint8_t { kNone, kAsked };

    void open(Keys keys, std::size_t connections_max = 0) {
        GatewayOptions options{{"tcp://127.0.0.1:*"}, {}};
        if (keys == Keys::kAsked) {
            keys_.enrol("a");
            options.keys = {keys_.secret("gateway"), keys_.folder()};
            good_keys_ = keys_.connect_keys("a");
        }
        options.connections_max = connections_max;
        auto opened = Gateway::open(options, *store_);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        gateway_ = std::move(*opened);
        stop_fd_ = eventfd(0, EFD_CLOEXEC);
        thread_ = std::thread{[this] { EXPECT_TRUE(gateway_->serve(stop_, stop_fd_).ok()); }};
        good_.emplace(endpoint(), good_keys_.has_value() ? &*good_keys_ : nullptr);
        expect_good_peer_is_served();
    }

    ~HostileTransport() override {
        if (thread_.joinable()) {
            expect_good_peer_is_served();
            stop_ = true;
            const std::uint64_t one = 1;
            EXPECT_EQ(write(stop_fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
            thread_.join();
            close(stop_fd_);
        }
    }

    [[nodiscard]] const std::string& endpoint() const { return gateway_->endpoints().front(); }

    // Over its one connection, which no other peer may take from it.
    void expect_good_peer_is_served() {
        SessionRecord record = sample_session(target_id_of("a"), kSession);
        record.target_name = "a";
        record.labels.clear();
        if (batches_ == 0) {
            good_->greet(record);
        }
        good_->send(sample::batch(sample_batch(target_id_of("a"), kSession, Seq{++batches_}, kBucket)));
        good_->wait_for_prefix(batches_);
    }

    void wait_for_counts(const std::function<bool(const TransportCounts&)>& are_there) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!are_there(gateway_->transport_counts())) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "not counted";
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
    }

    TestKeys keys_;
    std::optional<ConnectKeys> good_keys_;
    std::unique_ptr<Store> store_ = make_memory_store();
    std::unique_ptr<Gateway> gateway_;
    std::atomic<bool> stop_{false};
    int stop_fd_ = -1;
    std::thread thread_;
    std::optional<SamplePeer> good_;
    std::uint64_t batches_ = 0;
};

TEST_F(HostileTransport, WrongKeysAreRefusedByReason) {
    open(Keys::kAsked);
    keys_.make("stranger");
    keys_.make("other-gateway");
    const ConnectKeys unknown = keys_.connect_keys("stranger");
    SamplePeer stranger{endpoint(), &unknown};
    EXPECT_NE(stranger.wait_for_trouble(), "");
    wait_for_counts([](const TransportCounts& counts) { return counts.handshakes_unknown_key > 0; });
    const ConnectKeys misled = keys_.connect_keys("a", "other-gateway");
    SamplePeer elsewhere{endpoint(), &misled};
    EXPECT_NE(elsewhere.wait_for_trouble(), "");
    wait_for_counts([](const TransportCounts& counts) { return counts.handshakes_undecipherable > 0; });
    // Either side may be the first to see that the other uses another mechanism.
    const std::uint64_t unfinished = gateway_->transport_counts().handshakes_unfinished;
    SamplePeer without{endpoint()};
    EXPECT_NE(without.wait_for_trouble(), "");
    wait_for_counts([&](const TransportCounts& counts) {
        return counts.handshakes_no_key > 0 || counts.handshakes_unfinished > unfinished;
    });
    EXPECT_EQ(gateway_->transport_counts().keys_enrolled, 1U);
}

TEST_F(HostileTransport, OtherProtocolsAreRefused) {
    open(Keys::kAsked);
    std::mt19937_64 random{7};
    const std::uint64_t before = gateway_->transport_counts().connections_ended;
    constexpr int kConnections = 40;
    for (int i = 0; i < kConnections; ++i) {
        const RawConnection connection{endpoint()};
        std::string bytes = i % 2 == 0 ? zmtp_greeting("CURVE") : std::string{};
        for (std::uint64_t size = random() % 2'000; size > 0; --size) {
            bytes += static_cast<char>(random());
        }
        connection.write(bytes);
    }
    // A greeting, and a command with which no handshake begins.
    const RawConnection malformed{endpoint()};
    malformed.write(zmtp_greeting("CURVE") + std::string{"\x04\x06\x05HELLP", 8});
    EXPECT_TRUE(malformed.is_closed_by_peer());
    wait_for_counts([&](const TransportCounts& counts) {
        return counts.connections_ended - before > kConnections && counts.handshakes_malformed > 0 &&
               counts.connections_now == 1;
    });
}

TEST_F(HostileTransport, ConnectionsAreLimited) {
    constexpr std::size_t kMax = 8;
    open(Keys::kNone, kMax);
    std::vector<RawConnection> flood;
    for (std::size_t i = 0; i < 20 * kMax; ++i) {
        flood.emplace_back(endpoint());
        flood.back().write(zmtp_greeting("NULL"));
    }
    wait_for_counts([&](const TransportCounts& counts) {
        // On a slow machine some have disconnected by themselves.
        return counts.connections_accepted >= flood.size() && counts.connections_now <= kMax &&
               counts.refused_connection_limit + counts.refused_unheard_limit > 0;
    });
    expect_good_peer_is_served();
    flood.clear();
    wait_for_counts([](const TransportCounts& counts) { return counts.connections_now == 1; });
    SamplePeer other{endpoint()};
    other.send(sample::probe());
    other.wait_for(sample::ReplyType::kHelloAgain);
}

TEST_F(HostileTransport, AMessageWithoutEndIsCutOff) {
    open(Keys::kNone);
    const RawConnection endless{endpoint()};
    endless.shake_hands();
    constexpr std::size_t kPartSizeBytes = 1U << 16;
    const std::string part = std::string{"\x03\0\0\0\0\0\1\0\0", 9} + std::string(kPartSizeBytes, 'x');
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    std::size_t parts = 0;
    while (endless.write(part)) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "still open after " << parts << " parts";
        ++parts;
    }
    wait_for_counts([](const TransportCounts& counts) { return counts.refused_unfinished_message == 1; });
}

TEST_F(HostileTransport, AFrameThatClaimsToBeHugeEndsItsConnection) {
    open(Keys::kNone);
    const RawConnection huge{endpoint()};
    huge.shake_hands();
    huge.write(std::string{"\x02\0\0\0\1\0\0\0\0", 9});
    EXPECT_TRUE(huge.is_closed_by_peer());
}

TEST_F(HostileTransport, WhoHasSentTooMuchNonsenseIsCutOffThoughNothingMoreComes) {
    open(Keys::kNone);
    const std::uint64_t ended = gateway_->transport_counts().connections_ended;
    SamplePeer vandal{endpoint()};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    const auto send_and_wait = [&](std::uint64_t count) {
        const std::uint64_t with_these = gateway_->counts().messages + count;
        for (std::uint64_t i = 0; i < count; ++i) {
            vandal.send(sample::Frame(24, std::byte{0xff}));
        }
        while (gateway_->counts().messages < with_these && gateway_->counts().peers_cut.total() == 0) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "not taken";
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
    };
    // As many as are tolerated, then the one that is too many and the last of it; once more if some was forgiven
    // meanwhile.
    while (gateway_->counts().peers_cut.total() == 0 && !HasFatalFailure()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing is too much";
        send_and_wait(intake_limits::kStrikesMax);
        send_and_wait(1);
        expect_good_peer_is_served();  // so everything that followed the last one is done
    }
    wait_for_counts([&](const TransportCounts& counts) {
        return counts.refused_abuse_limit == 1 && counts.connections_ended > ended;
    });
}

}  // namespace
}  // namespace perfleet::end_to_end::hostile_transport_test
