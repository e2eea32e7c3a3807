// The client against servers that do as they like: a plain socket that says what the test tells it.
#include "schemas/zmtp/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/zmtp/listener.h"
#include "schemas/zmtp/new_key.h"

namespace perfleet::zmtp::client_test {
namespace {

constexpr int kTurnsMax = 20'000;

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string frame(std::string_view payload, std::uint8_t flags = 0) {
    std::string out;
    append_frame_header(out, flags, payload.size());
    return out + std::string{payload};
}

std::string greeting(Mechanism mechanism = Mechanism::kNull) {
    const auto bytes = greeting_of(mechanism);
    return text_of(bytes);
}

std::string ready(std::string_view type = "ROUTER") {
    std::string out;
    const std::string properties = properties_of(type);
    append_command(out, "READY", std::as_bytes(std::span{properties}));
    return out;
}

// Accepts one connection after the other; each is said the same.
class HostileServer {
public:
    explicit HostileServer(std::string says) : says_{std::move(says)} {
        auto listener = Listener::open("--listen", "tcp://127.0.0.1:*");
        EXPECT_TRUE(listener.ok());
        listener_.emplace(std::move(*listener));
    }
    ~HostileServer() { hang_up(); }
    HostileServer(const HostileServer&) = delete;
    HostileServer& operator=(const HostileServer&) = delete;

    [[nodiscard]] const std::string& endpoint() const { return listener_->endpoint(); }
    // Goes on as far as it can.
    void turn() {
        const int next = ::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (next >= 0) {
            hang_up();
            fd_ = next;
            ++accepted;
            write(says_);
        }
        char bytes[4'096];
        while (fd_ >= 0) {
            const ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (got <= 0) {
                break;
            }
            heard.append(bytes, static_cast<std::size_t>(got));
        }
    }
    // How much the kernel took.
    std::size_t write(std::string_view bytes) const {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    void hang_up() {
        if (fd_ >= 0) {
            ::close(std::exchange(fd_, -1));
        }
    }

    std::string heard;
    int accepted = 0;

private:
    std::string says_;
    std::optional<Listener> listener_;
    int fd_ = -1;
};

class ZmtpClient : public testing::Test {
protected:
    void connect(const std::string& endpoint, ClientOptions options = {}, const ConnectKeys* keys = nullptr) {
        options.reconnect_after_ns = 1'000'000;
        auto client = Client::connect(endpoint, keys, options);
        ASSERT_TRUE(client.ok()) << client.error().message;
        client_ = std::move(*client);
    }
    template <class Condition>
    void run_until(HostileServer& server, Condition is_met) {
        for (int i = 0; i < kTurnsMax; ++i) {
            server.turn();
            (void)client_->reconnected();
            if (is_met()) {
                return;
            }
            client_->wait(-1, 1'000'000);
        }
        FAIL() << "nothing happened; trouble: " << client_->trouble();
    }
    std::string next_message(HostileServer& server) {
        std::string message;
        run_until(server, [&] {
            const auto received = client_->receive();
            message = received.has_value() ? text_of(*received) : "";
            return received.has_value();
        });
        return message;
    }
    std::string trouble_with(std::string says) {
        HostileServer server{std::move(says)};
        connect(server.endpoint());
        run_until(server, [&] { return !client_->trouble().empty(); });
        return client_->trouble();
    }

    std::unique_ptr<Client> client_;
};

TEST_F(ZmtpClient, TakesMessagesThatCameBeforeTheServerHungUp) {
    HostileServer server{greeting() + ready() + frame("one") + frame("") + frame(std::string(100'000, 'x'))};
    connect(server.endpoint());
    EXPECT_EQ(next_message(server), "one");
    server.hang_up();
    EXPECT_EQ(next_message(server), "");
    EXPECT_EQ(next_message(server), std::string(100'000, 'x'));
}

TEST_F(ZmtpClient, SendsNothingOverAConnectionThatItHasNotToldOf) {
    HostileServer server{greeting() + ready()};
    connect(server.endpoint());
    const std::string message = "hello";
    const auto bytes = std::as_bytes(std::span{message});
    for (int i = 0; i < 100; ++i) {
        server.turn();
        EXPECT_FALSE(client_->send(bytes));
    }
    EXPECT_TRUE(client_->reconnected());
    EXPECT_FALSE(client_->reconnected());
    EXPECT_TRUE(client_->send(bytes));
    run_until(server, [&] { return server.heard.ends_with(frame("hello")); });
}

TEST_F(ZmtpClient, TakesNoMoreMessagesThanTheServerReads) {
    HostileServer server{greeting() + ready()};
    connect(server.endpoint());
    run_until(server, [&] { return client_->is_connected(); });
    const std::string message(1U << 20, 'm');
    int sent = 0;
    while (client_->send(std::as_bytes(std::span{message}))) {
        ASSERT_LT(++sent, 1'000);
    }
    // What was taken arrives whole, and then there is space again.
    const std::size_t size = static_cast<std::size_t>(sent + 1) * frame(message).size();
    run_until(server, [&] {
        (void)client_->send(std::as_bytes(std::span{message}));
        return server.heard.size() >= size;
    });
    EXPECT_TRUE(server.heard.substr(server.heard.find("mm") - 9, frame(message).size()) == frame(message));
}

TEST_F(ZmtpClient, AnswersPings) {
    HostileServer server{greeting() + ready() + std::string{"\4\x9\4PING\0\1ab", 11}};
    connect(server.endpoint());
    run_until(server, [&] {
        (void)client_->receive();
        return server.heard.ends_with(std::string{"\4\7\4PONGab", 9});
    });
}

TEST_F(ZmtpClient, ConnectsAgainWhenNothingIsHeard) {
    HostileServer server{greeting() + ready()};
    ClientOptions options;
    options.heartbeat_interval_ns = 1'000'000;
    options.heartbeat_timeout_ns = 1'000'000;
    connect(server.endpoint(), options);
    run_until(server, [&] { return server.accepted >= 3; });
    EXPECT_NE(server.heard.find("PING"), std::string::npos);
}

TEST_F(ZmtpClient, SaysWhyThereIsNoConnection) {
    EXPECT_NE(trouble_with("HTTP/1.1 400 Bad Request\r\n\r\n").find("doesn't speak ZeroMQ"), std::string::npos);
    EXPECT_NE(trouble_with(greeting(Mechanism::kCurve)).find("asks for a key"), std::string::npos);
    EXPECT_NE(trouble_with(greeting() + ready("PUB")).find("doesn't speak ZeroMQ"), std::string::npos);
    EXPECT_NE(trouble_with(greeting() + frame("no command")).find("doesn't speak ZeroMQ"), std::string::npos);
    EXPECT_NE(
        trouble_with(greeting() + ready() + std::string{"\2\xff\xff\xff\xff\xff\xff\xff\xff", 9}).find("no gateway"),
        std::string::npos);
}

// An empty part takes two bytes on the wire: none is kept.
TEST_F(ZmtpClient, EndsTheConnectionAtTheFirstOfSeveralParts) {
    HostileServer server{greeting() + ready() + frame("", kMore)};
    connect(server.endpoint());
    run_until(server, [&] { return client_->counts().nonsense_cut > 0; });
    EXPECT_FALSE(client_->receive().has_value());
    EXPECT_NE(client_->trouble().find("what no gateway sends"), std::string::npos);
}

TEST_F(ZmtpClient, EndsTheConnectionOfAServerThatFloods) {
    HostileServer server{greeting() + ready()};
    ClientOptions options;
    options.frames_burst = 100;
    options.frames_per_second = 1;
    connect(server.endpoint(), options);
    run_until(server, [&] { return client_->is_connected(); });
    std::string flood;
    for (int i = 0; i < 1'000; ++i) {
        flood += frame("ack");
    }
    server.write(flood);
    int taken = 0;
    run_until(server, [&] {
        while (client_->receive().has_value()) {
            ++taken;
        }
        return client_->counts().floods_cut == 1;
    });
    EXPECT_GE(taken, 100);
    EXPECT_LT(taken, 200);
    EXPECT_NE(client_->trouble().find("far more than it was asked for"), std::string::npos);
}

TEST_F(ZmtpClient, HasOneAnswerForEachMessageItSent) {
    HostileServer server{greeting() + ready()};
    ClientOptions options;
    options.frames_burst = 10;
    options.frames_per_second = 1;
    connect(server.endpoint(), options);
    run_until(server, [&] { return client_->is_connected(); });
    for (int i = 0; i < 1'000; ++i) {
        const std::string ask = "ask";
        run_until(server, [&] { return client_->send(std::as_bytes(std::span{ask})); });
        server.write(frame("answer"));
        ASSERT_EQ(next_message(server), "answer");
    }
    EXPECT_EQ(client_->counts().floods_cut, 0U);
}

TEST_F(ZmtpClient, ReachesNamesAndUnixSockets) {
    auto listener =
        Listener::open("--listen", "ipc://" + testing::TempDir() + "zmtp-client-" + std::to_string(getpid()));
    ASSERT_TRUE(listener.ok());
    connect(listener->endpoint());
    EXPECT_GE(::accept(listener->fd(), nullptr, nullptr), -1);
    HostileServer server{greeting() + ready() + frame("hello")};
    connect("tcp://localhost" + server.endpoint().substr(server.endpoint().rfind(':')));
    EXPECT_EQ(next_message(server), "hello");
    for (const char* endpoint : {"nonsense", "tcp://", "tcp://host:port", "inproc://alone"}) {
        const auto client = Client::connect(endpoint, nullptr, {});
        ASSERT_FALSE(client.ok());
        EXPECT_EQ(client.error().code, ErrorCode::kUsage);
        EXPECT_NE(client.error().message.find(endpoint), std::string::npos);
    }
}

TEST_F(ZmtpClient, RefusesAPairOfKeysThatIsNone) {
    auto key = make_secret_key("me");
    const auto other = make_secret_key("other");
    ASSERT_TRUE(key.ok() && other.ok());
    key->public_text = other->public_text;
    const ConnectKeys keys{*key, *decode_public_key(other->public_text)};
    const auto client = Client::connect("tcp://127.0.0.1:1", &keys, {});
    ASSERT_FALSE(client.ok());
    EXPECT_EQ(client.error().code, ErrorCode::kInvalid);
    EXPECT_NE(client.error().message.find("perfleet keygen"), std::string::npos);
}

}  // namespace
}  // namespace perfleet::zmtp::client_test
