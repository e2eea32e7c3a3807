// The driver against libzmq's ROUTER, over a socket whose bytes go in pieces, and by a clock that only the tests move.
#include "target-collector/wire/zmtp_driver.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zmq.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/curve/curve_client.h"
#include "target-collector/wire/testing/socket_stream.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::chrono::seconds kTimeout{60};

class Folder {
public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "perfleet-zmtp-XXXXXX").string();
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        path_ = pattern;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string endpoint() const { return "ipc://" + (path_ / "gateway").string(); }

private:
    std::filesystem::path path_;
};

// libzmq's end.
class RouterSocket {
public:
    explicit RouterSocket(const std::string& endpoint, int heartbeat_ms = 0, const char* secret_key = nullptr)
        : context_{zmq_ctx_new()}, socket_{zmq_socket(context_, ZMQ_ROUTER)} {
        set(ZMQ_LINGER, 0);
        set(ZMQ_ROUTER_MANDATORY, 1);
        const std::int64_t size_max = 1 << 20;
        EXPECT_EQ(zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &size_max, sizeof size_max), 0);
        if (heartbeat_ms > 0) {
            set(ZMQ_HEARTBEAT_IVL, heartbeat_ms);
            set(ZMQ_HEARTBEAT_TIMEOUT, 60'000);
        }
        if (secret_key != nullptr) {
            set(ZMQ_CURVE_SERVER, 1);
            EXPECT_EQ(zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, secret_key, 41), 0);
        }
        EXPECT_EQ(zmq_bind(socket_, endpoint.c_str()), 0) << zmq_strerror(zmq_errno());
    }
    RouterSocket(const RouterSocket&) = delete;
    RouterSocket& operator=(const RouterSocket&) = delete;
    ~RouterSocket() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
    }

    std::optional<std::string> receive() {
        std::string id(256, 0);
        const int id_size = zmq_recv(socket_, id.data(), id.size(), ZMQ_DONTWAIT);
        if (id_size < 0) {
            return {};
        }
        id.resize(static_cast<std::size_t>(id_size));
        peer_ = id;
        std::string message(1 << 20, 0);
        const int size = zmq_recv(socket_, message.data(), message.size(), 0);
        message.resize(static_cast<std::size_t>(size));
        return message;
    }
    // To the peer that sent last.
    void say(const std::vector<std::string>& parts) {
        EXPECT_GE(zmq_send(socket_, peer_.data(), peer_.size(), ZMQ_SNDMORE), 0) << zmq_strerror(zmq_errno());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            zmq_send(socket_, parts[i].data(), parts[i].size(), i + 1 < parts.size() ? ZMQ_SNDMORE : 0);
        }
    }
    [[nodiscard]] const std::string& peer() const { return peer_; }

private:
    void set(int option, int value) { EXPECT_EQ(zmq_setsockopt(socket_, option, &value, sizeof value), 0); }

    void* context_;
    void* socket_;
    std::string peer_;
};

class ZmtpDriverTest : public testing::Test {
protected:
    // A frame that stays until the driver has let go of it.
    void send(ZmtpDriver& driver, const std::string& text) {
        run_until([&] { return driver.send(std::as_bytes(std::span{text})); });
        run_until([&] {
            driver.tick(now_ns_);
            return driver.borrowed().empty();
        });
    }
    std::string receive(ZmtpDriver& driver) {
        std::string text(8'192, 0);
        run_until([&] {
            driver.tick(now_ns_);
            const auto size = driver.receive(std::as_writable_bytes(std::span{text}));
            text.resize(size.ok() && *size > 0 ? *size : text.size());
            return size.ok() && *size > 0;
        });
        return text;
    }
    std::string receive(RouterSocket& router) {
        std::optional<std::string> message;
        run_until([&] { return (message = router.receive()).has_value(); });
        return *message;
    }
    void connect(ZmtpDriver& driver) {
        run_until([&] {
            driver.tick(now_ns_);
            return driver.reconnected();
        });
    }
    static void run_until(const std::function<bool()>& is_done) {
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        while (!is_done()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened for long";
            std::this_thread::sleep_for(std::chrono::microseconds{20});
        }
    }
    // A message each way, of either kind of size, after a handshake.
    void converse(ZmtpDriver& driver, RouterSocket& router) {
        const std::string large(300, 'l');
        connect(driver);
        send(driver, "short");
        send(driver, large);
        EXPECT_EQ(receive(router), "short");
        EXPECT_EQ(receive(router), large);
        router.say({"answer"});
        router.say({large});
        EXPECT_EQ(receive(driver), "answer");
        EXPECT_EQ(receive(driver), large);
    }

    Folder folder_;
    std::uint64_t now_ns_ = kSecond;
};

// libzmq's keys, and the driver's of them.
struct CurvePair {
    std::array<char, 41> public_text{};
    std::array<char, 41> secret_text{};
    curve::Key public_key{};
    curve::Key secret_key{};

    CurvePair() {
        EXPECT_EQ(zmq_curve_keypair(public_text.data(), secret_text.data()), 0);
        zmq_z85_decode(reinterpret_cast<std::uint8_t*>(public_key.data()), public_text.data());
        zmq_z85_decode(reinterpret_cast<std::uint8_t*>(secret_key.data()), secret_text.data());
    }
};

TEST_F(ZmtpDriverTest, SpeaksCurveWithLibzmq) {
    const CurvePair gateway;
    const CurvePair own;
    RouterSocket router{folder_.endpoint(), 50, gateway.secret_text.data()};
    std::array<std::byte, 1'000> memory{};
    CurveClient curve{{gateway.public_key, own.secret_key}, CurvePair{}.secret_key, memory};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream, {.mechanism = &curve}};
    converse(driver, router);
    for (int round = 0; round < 4; ++round) {  // libzmq's PINGs, and ours, are sealed
        const std::uint64_t answered = driver.counts().pings_answered;
        run_until([&] {
            driver.tick(now_ns_);
            (void)router.receive();
            return driver.counts().pings_answered > answered;
        });
        now_ns_ += 6 * kSecond;
    }
    EXPECT_EQ(driver.counts().handshakes, 1U);
    EXPECT_EQ(driver.counts().connections_ended, 0U);
    EXPECT_TRUE(stream.end_connection());
    converse(driver, router);
    EXPECT_EQ(driver.counts().handshakes, 2U);
}

TEST_F(ZmtpDriverTest, DoesNotTrustAGatewayWithAnotherKey) {
    const CurvePair gateway;
    RouterSocket router{folder_.endpoint(), 0, gateway.secret_text.data()};
    std::array<std::byte, 1'000> memory{};
    CurveClient curve{{CurvePair{}.public_key, CurvePair{}.secret_key}, CurvePair{}.secret_key, memory};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream, {.mechanism = &curve}};
    run_until([&] {
        driver.tick(now_ns_ += kSecond);
        return driver.counts().connections_lost + driver.counts().connections_ended > 2;
    });
    EXPECT_EQ(driver.counts().handshakes, 0U);
}

TEST_F(ZmtpDriverTest, TalksToLibzmqAtEverySplitOfBothSequences) {
    RouterSocket router{folder_.endpoint()};
    std::size_t written = 0;
    std::size_t read = 0;
    {
        SocketStream stream{folder_.endpoint()};
        ZmtpDriver driver{stream};
        converse(driver, router);
        written = stream.written.size();
        read = stream.read_bytes.size();
    }
    ASSERT_GT(written, 64U + 300U);
    ASSERT_GT(read, 64U + 300U);
    for (std::size_t at = 0; at <= std::max(written, read) && !HasFatalFailure(); ++at) {
        SCOPED_TRACE("split at " + std::to_string(at));
        SocketStream stream{folder_.endpoint()};
        stream.split_written_at = at;
        stream.split_read_at = at;
        ZmtpDriver driver{stream};
        converse(driver, router);
        EXPECT_EQ(stream.written.size(), written);
        EXPECT_EQ(stream.read_bytes.size(), read);
        EXPECT_EQ(driver.counts().connections_ended, 0U);
        EXPECT_EQ(driver.counts().pings_answered, 0U) << "nobody pinged";
    }
}

TEST_F(ZmtpDriverTest, TalksToLibzmqByteByByte) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    stream.piece_bytes_max = 1;
    ZmtpDriver driver{stream};
    converse(driver, router);
}

TEST_F(ZmtpDriverTest, NamesNoIdentitySoThatTheRouterChoosesOne) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    converse(driver, router);
    ASSERT_EQ(router.peer().size(), 5U);
    EXPECT_EQ(router.peer()[0], '\0');  // as libzmq makes them
}

TEST_F(ZmtpDriverTest, SaysReadyOnlyAfterThePeersGreeting) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    stream.read_bytes_max = 63;
    ZmtpDriver driver{stream};
    run_until([&] {
        driver.tick(now_ns_);
        return stream.written.size() == 64 && stream.read_bytes.size() == 63;
    });
    driver.tick(now_ns_);
    EXPECT_EQ(stream.written.size(), 64U);
    stream.go_on();
    connect(driver);
    EXPECT_GT(stream.written.size(), 64U);
}

TEST_F(ZmtpDriverTest, AnswersPings) {
    RouterSocket router{folder_.endpoint(), 1};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    connect(driver);
    run_until([&] {
        driver.tick(now_ns_);
        return driver.counts().pings_answered >= 20;
    });
    send(driver, "still here");
    EXPECT_EQ(receive(router), "still here");
    EXPECT_EQ(driver.counts().connections_lost + driver.counts().connections_ended, 0U);
}

TEST_F(ZmtpDriverTest, AnswersAPingBetweenTwoFramesAndNeverWithinOne) {
    RouterSocket router{folder_.endpoint(), 1};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    connect(driver);
    stream.piece_bytes_max = 7;
    stream.stutters = true;
    const std::string frame(1'000, 'f');
    for (int i = 0; i < 50; ++i) {
        send(driver, frame);
        EXPECT_EQ(receive(router), frame);
    }
    EXPECT_GT(driver.counts().pings_answered, 0U);
}

TEST_F(ZmtpDriverTest, PingsAndGivesAPeerUpThatStaysSilent) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    connect(driver);
    // libzmq answers: the connection stays, whatever the time.
    for (int i = 0; i < 20; ++i) {
        const std::size_t heard = stream.read_bytes.size();
        now_ns_ += 5 * kSecond;
        run_until([&] {
            driver.tick(now_ns_);
            return stream.read_bytes.size() > heard;
        });
    }
    EXPECT_EQ(driver.counts().connections_ended, 0U);
    const std::size_t written = stream.written.size();
    driver.tick(now_ns_ += 5 * kSecond);
    EXPECT_GT(stream.written.size(), written) << "a ping goes out when it is due";
    run_until([&] {
        const std::size_t heard = stream.read_bytes.size();
        driver.tick(now_ns_);
        return stream.read_bytes.size() > heard;
    });
    stream.stand_still();
    driver.tick(now_ns_ += 5 * kSecond);
    driver.tick(now_ns_ += 9 * kSecond);
    EXPECT_TRUE(driver.is_connected());
    driver.tick(now_ns_ += kSecond);
    EXPECT_FALSE(driver.is_connected());
    EXPECT_EQ(driver.counts().connections_ended, 1U);
    EXPECT_EQ(driver.counts().last_fault.code, ErrorCode::kUnavailable);
    stream.go_on();
    connect(driver);
    send(driver, "again");
    EXPECT_EQ(receive(router), "again");
}

TEST_F(ZmtpDriverTest, KeepsAConnectionWhoseOwnLoopStoodStill) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    connect(driver);
    driver.tick(now_ns_ += 1'000 * kSecond);
    EXPECT_TRUE(driver.is_connected());
}

TEST_F(ZmtpDriverTest, GivesUpAHandshakeThatDoesNotEnd) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    stream.stand_still();
    ZmtpDriver driver{stream};
    driver.tick(now_ns_);
    driver.tick(now_ns_ += 10 * kSecond);
    EXPECT_EQ(driver.counts().connections_ended, 1U);
    stream.go_on();
    converse(driver, router);
}

TEST_F(ZmtpDriverTest, PassesOverMessagesThatAreNoneOfOurs) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    converse(driver, router);
    router.say({"one", "two"});
    router.say({""});
    router.say({std::string(limits::kReplySizeBytesMax + 1, 'x')});
    router.say({std::string(limits::kReplySizeBytesMax, 'y')});
    int skipped = 0;
    std::string text(limits::kReplySizeBytesMax, 0);
    run_until([&] {
        driver.tick(now_ns_);
        const auto size = driver.receive(std::as_writable_bytes(std::span{text}));
        skipped += size.ok() ? 0 : 1;
        return size.ok() && *size > 0;
    });
    EXPECT_EQ(skipped, 3);
    EXPECT_EQ(driver.counts().messages_skipped, 3U);
    EXPECT_EQ(text, std::string(limits::kReplySizeBytesMax, 'y'));
}

TEST_F(ZmtpDriverTest, ReconnectsToARouterThatComesBackAndForgetsWhatWasUnderWay) {
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    const std::string frame(5'000, 'f');
    for (int i = 0; i < 20; ++i) {
        std::optional<RouterSocket> router{folder_.endpoint()};
        connect(driver);
        send(driver, "hello");
        EXPECT_EQ(receive(*router), "hello");
        // In the middle of a frame.
        stream.written_bytes_max = stream.written.size() + 100;
        ASSERT_TRUE(driver.send(std::as_bytes(std::span{frame})));
        EXPECT_EQ(driver.borrowed().data(), reinterpret_cast<const std::byte*>(frame.data()));
        EXPECT_FALSE(driver.send(std::as_bytes(std::span{frame}))) << "one at a time";
        router.reset();
        run_until([&] {
            driver.tick(now_ns_);
            return !driver.is_connected();
        });
        EXPECT_TRUE(driver.borrowed().empty());
        stream.go_on();
    }
    EXPECT_EQ(driver.counts().handshakes, 20U);
    EXPECT_EQ(driver.counts().connections_lost, 20U);
}

TEST_F(ZmtpDriverTest, SendsNothingOverAConnectionThatNobodyHasHeardOf) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    ZmtpDriver driver{stream};
    run_until([&] {
        driver.tick(now_ns_);
        return driver.is_connected();
    });
    const std::string text = "text";
    EXPECT_FALSE(driver.send(std::as_bytes(std::span{text})));
    EXPECT_TRUE(driver.reconnected());
    EXPECT_FALSE(driver.reconnected());
    EXPECT_TRUE(driver.send(std::as_bytes(std::span{text})));
}

// A serial port can't be closed from this end: libzmq has to do it.
TEST_F(ZmtpDriverTest, MakesThePeerEndAConnectionThatItCannotEndItself) {
    RouterSocket router{folder_.endpoint()};
    SocketStream stream{folder_.endpoint()};
    stream.can_end = false;
    ZmtpDriver driver{stream};
    // Whatever stands before it: nothing, a part of the greeting, of READY, or of a frame.
    for (const std::size_t size_bytes : {0U, 1U, 10U, 40U, 64U, 70U}) {
        stream.may_connect = true;
        stream.written_bytes_max = stream.written.size() + size_bytes;
        stream.read_bytes_max = stream.read_bytes.size() + (size_bytes > 64 ? 64 : 0);
        const std::size_t all = stream.written_bytes_max;
        run_until([&] {
            driver.tick(now_ns_);
            return stream.written.size() == all;
        });
        driver.tick(now_ns_ += 10 * kSecond);  // the handshake takes too long
        stream.may_connect = false;
        stream.go_on();
        run_until([&] {
            driver.tick(now_ns_);
            return stream.connection() == 0;
        });
    }
    stream.may_connect = true;
    connect(driver);
    const std::string frame(1'000, 'f');
    stream.stand_still();
    stream.written_bytes_max += 100;
    ASSERT_TRUE(driver.send(std::as_bytes(std::span{frame})));
    driver.tick(now_ns_ += 5 * kSecond);
    driver.tick(now_ns_ += 10 * kSecond);
    EXPECT_FALSE(driver.is_connected());
    EXPECT_FALSE(driver.borrowed().empty()) << "its frame is finished, or the peer would take other bytes for it";
    stream.go_on();
    connect(driver);
    EXPECT_EQ(receive(router), frame);
    send(driver, "again");
    EXPECT_EQ(receive(router), "again");
}

}  // namespace
}  // namespace perfleet
